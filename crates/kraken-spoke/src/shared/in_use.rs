//! The resources of a kind that wait for a value that another one has: after a rename in Git, the new resource is applied before the former one
//! is deleted.

use kraken_runtime::{
    hash::HashSet,
    queue::{Lane, Queue},
    watch::ObjectKey,
};
use parking_lot::Mutex;

/// The waiting resources of one kind.
#[derive(Debug, Default)]
pub(crate) struct InUse(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting: HashSet<ObjectKey>,
    /// How many resources of the kind were deleted or changed.
    released: u64,
}

impl InUse {
    /// How many resources of the kind were deleted or changed so far.
    pub(crate) fn released(&self) -> u64 {
        self.0.lock().released
    }

    /// Records that the value was in use in a reconcile that began after so many releases. If there was another one since, the resource is
    /// enqueued.
    pub(crate) fn wait(&self, key: &ObjectKey, released: u64, queue: &Queue<ObjectKey>) {
        let mut state = self.0.lock();
        if state.released == released {
            state.waiting.insert(key.clone());
        } else {
            queue.add(key.clone(), Lane::Edit);
        }
    }

    /// Records that a resource does not wait.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.0.lock().waiting.remove(key);
    }

    /// Enqueues all: a resource of the kind was deleted or changed. Which values it had is not known; whoever still waits is recorded again.
    pub(crate) fn release(&self, queue: &Queue<ObjectKey>) {
        let mut state = self.0.lock();
        state.released += 1;
        for key in state.waiting.drain() {
            queue.add(key, Lane::Edit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_enqueued_at_the_next_release() {
        let (in_use, queue) = (InUse::default(), Queue::new(8));
        let (new, other) = (ObjectKey::new("ns", "new"), ObjectKey::new("ns", "other"));
        in_use.wait(&new, in_use.released(), &queue);
        in_use.wait(&other, in_use.released(), &queue);
        in_use.forget(&other);
        assert_eq!(queue.depth(Lane::Edit), 0);
        in_use.release(&queue);
        in_use.release(&queue);
        assert_eq!(queue.depth(Lane::Edit), 1, "once, and not the one that does not wait");
    }

    #[test]
    fn a_release_during_the_reconcile_is_not_lost() {
        let (in_use, queue) = (InUse::default(), Queue::new(8));
        let began = in_use.released();
        in_use.release(&queue);
        in_use.wait(&ObjectKey::new("ns", "new"), began, &queue);
        assert_eq!(queue.depth(Lane::Edit), 1);
    }
}
