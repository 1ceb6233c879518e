//! What tests of a process use one after the other. A control plane takes about 20 seconds of processor time to start and to install all CRDs
//! on it, and 8 to start with the content of another one; to make one as it was takes none.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use parking_lot::Mutex;

use crate::shared::INTERVAL;

/// After how many looks without a user one is dropped. An idle API server takes a fortieth of a core and 600 MB.
const LOOKS: u32 = 120;

/// Values of which each has at most one user at a time. One that nobody used for some seconds is dropped.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    values: Mutex<Vec<Arc<T>>>,
}

impl<T> Pool<T> {
    /// An empty one.
    pub(crate) const fn new() -> Self {
        Self { values: Mutex::new(Vec::new()) }
    }

    /// One that nobody uses, as its last user left it.
    fn take(&self) -> Option<Arc<T>> {
        // The pool has one reference to each. Nobody else can get a second one while it is locked.
        self.values.lock().iter().find(|value| Arc::strong_count(value) == 1).cloned()
    }

    /// Gives this one up: it cannot be made as it was.
    fn discard(&self, value: &Arc<T>) {
        self.values.lock().retain(|other| !Arc::ptr_eq(other, value));
    }
}

impl<T: Send + Sync + 'static> Pool<T> {
    /// One that nobody uses and that `reset` made as it was; else one that is started.
    ///
    /// # Errors
    /// If it does not start.
    pub(crate) async fn get(
        &'static self,
        reset: impl AsyncFn(&T) -> Result<()>,
        start: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        while let Some(value) = self.take() {
            match reset(&value).await {
                Ok(()) => return Ok(value),
                Err(error) => {
                    eprintln!("started again, because it cannot be made as it was: {error:#}");
                    self.discard(&value);
                }
            }
        }
        Ok(self.add(start().await?))
    }

    /// Adds one, for its user now and for others later.
    fn add(&'static self, value: T) -> Arc<T> {
        let value = Arc::new(value);
        self.values.lock().push(value.clone());
        let added = Arc::downgrade(&value);
        // A thread, because each test has a runtime of its own.
        thread::spawn(move || self.drop_unused(&added, INTERVAL));
        value
    }

    fn drop_unused(&self, value: &Weak<T>, interval: Duration) {
        let mut looks = 0;
        let unused = loop {
            thread::sleep(interval);
            let mut values = self.values.lock();
            let Some(index) = values.iter().position(|other| Arc::as_ptr(other) == value.as_ptr()) else {
                return; // it was discarded
            };
            looks = if Arc::strong_count(&values[index]) > 1 { 0 } else { looks + 1 };
            if looks >= LOOKS {
                break values.swap_remove(index);
            }
        };
        drop(unused); // it takes seconds, in which others are used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_one_user_at_a_time() {
        static POOL: Pool<&str> = Pool::new();
        let first = POOL.add("first");
        assert_eq!(POOL.take(), None, "it is in use");
        drop(first);
        let first = POOL.take().expect("nobody uses it");
        assert_eq!(POOL.take(), None);
        let second = POOL.add("second");
        drop(second);
        assert_eq!(POOL.take().as_deref(), Some(&"second"));
        POOL.discard(&first);
        drop(first);
        assert_eq!(POOL.take().as_deref(), Some(&"second"), "the first one was given up");
    }

    #[test]
    fn what_nobody_uses_is_dropped() {
        static POOL: Pool<&str> = Pool::new();
        let used = Arc::new("used");
        POOL.values.lock().push(used.clone());
        let watching = thread::spawn({
            let value = Arc::downgrade(&used);
            move || POOL.drop_unused(&value, Duration::from_millis(1))
        });
        thread::sleep(Duration::from_millis(100));
        assert!(!watching.is_finished());
        drop(used);
        watching.join().expect("the thread ends");
        assert_eq!(POOL.take(), None);
    }
}
