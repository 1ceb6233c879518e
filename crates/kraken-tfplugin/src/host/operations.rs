//! The operations of a host: at most one per resource, each executed at most once, and its answer kept until it is acknowledged. No
//! processes, no time.
//!
//! A ticket is reserved, then used. Whoever recalls the operation of a resource withdraws its reserved ticket: a request that was sent
//! before and arrives afterwards begins nothing, so that "it was not used" is certain.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::messages::{KeptOperation, Ticket};
use crate::plugin::CallError;

/// The largest number of resources with a reserved ticket or a kept answer.
const MAX_KEPT: usize = 10_000;
/// The largest total size of kept answers, in bytes.
const MAX_BYTES: usize = 128 << 20;

/// What the plugin answered.
pub(super) type Answer = Result<Vec<u8>, CallError>;

#[derive(Debug)]
pub(super) struct Operations {
    /// The host's name.
    host: String,
    state: Mutex<State>,
    /// The number of operations that run or are kept.
    kept: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the ticket with the number of the index was used. One byte for each operation of the host's life.
    used: Vec<bool>,
    /// By the UID of the resource.
    slots: BTreeMap<String, Slot>,
    /// The size of the answers in them.
    bytes: usize,
    is_closed: bool,
}

#[derive(Debug)]
struct Slot {
    number: u64,
    /// `None` while the ticket is only reserved.
    begun: Option<Begun>,
}

#[derive(Clone, Debug)]
struct Begun {
    label: String,
    answer: watch::Receiver<Option<Arc<Answer>>>,
}

/// The answer of an operation, when it is there.
#[derive(Debug)]
pub(super) struct Awaited(watch::Receiver<Option<Arc<Answer>>>);

/// What the executing task completes. If it is dropped instead, the answer is that the task ended.
#[derive(Debug)]
pub(super) struct Execution {
    operations: Arc<Operations>,
    answer: watch::Sender<Option<Arc<Answer>>>,
}

fn not_begun(why: &str) -> CallError {
    CallError::NotBegun(why.to_owned())
}

impl Operations {
    pub(super) fn new(host: String) -> Arc<Self> {
        Arc::new(Self { host, state: Mutex::default(), kept: watch::Sender::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A ticket for the next operation of a resource.
    pub(super) fn reserve(&self, uid: &str) -> Result<Ticket, CallError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(CallError::Stopping);
        }
        match state.slots.get(uid).map(|slot| slot.begun.as_ref().map(Begun::answer)) {
            Some(Some(None)) => return Err(not_begun("an operation of this resource is in progress")),
            Some(Some(Some(_))) => {
                return Err(not_begun("the answer of this resource's last operation is not recorded yet"));
            }
            Some(None) => {}
            None if state.slots.len() >= MAX_KEPT || state.bytes >= MAX_BYTES => {
                return Err(not_begun(
                    "the host of providers keeps too many answers that nobody acknowledged: restart its container if this continues",
                ));
            }
            None => {}
        }
        let number = state.used.len() as u64;
        state.used.push(false);
        state.slots.insert(uid.to_owned(), Slot { number, begun: None });
        Ok(Ticket { host: self.host.clone(), uid: uid.to_owned(), number })
    }

    /// Uses a ticket. Only the first one who does has to execute the operation; all get its answer.
    pub(super) fn begin(
        self: &Arc<Self>,
        ticket: &Ticket,
        label: String,
    ) -> Result<(Awaited, Option<Execution>), CallError> {
        let mut state = self.state();
        let state = &mut *state;
        let slot = state.slots.get_mut(&ticket.uid);
        let slot = slot.filter(|slot| ticket.host == self.host && slot.number == ticket.number);
        let Some(slot) = slot else { return Err(not_begun("its ticket was withdrawn")) };
        if let Some(begun) = &slot.begun {
            return Ok((Awaited(begun.answer.clone()), None));
        }
        if state.is_closed {
            return Err(CallError::Stopping);
        }
        let (sender, answer) = watch::channel(None);
        slot.begun = Some(Begun { label, answer: answer.clone() });
        if let Some(used) = usize::try_from(ticket.number).ok().and_then(|number| state.used.get_mut(number))
        {
            *used = true;
        }
        self.kept.send_modify(|kept| *kept += 1);
        Ok((Awaited(answer), Some(Execution { operations: self.clone(), answer: sender })))
    }

    /// The operation of a resource that runs or whose answer is kept, and whether a ticket was never used. A ticket that is only reserved
    /// is withdrawn.
    pub(super) fn recall(&self, uid: &str, ticket: Option<&Ticket>) -> (Option<KeptOperation>, bool) {
        let mut state = self.state();
        if state.slots.get(uid).is_some_and(|slot| slot.begun.is_none()) {
            state.slots.remove(uid);
        }
        let is_unused = ticket.filter(|ticket| ticket.host == self.host).is_some_and(|ticket| {
            usize::try_from(ticket.number).ok().and_then(|number| state.used.get(number)) == Some(&false)
        });
        let kept = state.slots.get(uid).and_then(|slot| {
            let begun = slot.begun.as_ref()?;
            let ticket = Ticket { host: self.host.clone(), uid: uid.to_owned(), number: slot.number };
            let mut kept = KeptOperation {
                ticket: Some(ticket),
                label: begun.label.clone(),
                ..KeptOperation::default()
            };
            match begun.answer().as_deref() {
                None => kept.is_running = true,
                Some(Ok(body)) => kept.body.clone_from(body),
                Some(Err(error)) => kept.failure = Some(error.clone().into()),
            }
            Some(kept)
        });
        (kept, is_unused)
    }

    /// The answer of this operation is recorded elsewhere: it is dropped.
    pub(super) fn acknowledge(&self, ticket: &Ticket) {
        let mut state = self.state();
        let Some(slot) = state.slots.get(&ticket.uid) else { return };
        let answer = slot.begun.as_ref().and_then(Begun::answer);
        if let Some(answer) = answer.filter(|_| ticket.host == self.host && slot.number == ticket.number) {
            state.slots.remove(&ticket.uid);
            state.bytes = state.bytes.saturating_sub(size(&answer));
            self.kept.send_modify(|kept| *kept -= 1);
        }
    }

    /// Lets no more operations begin.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
    }

    /// Waits until all answers are acknowledged.
    pub(super) async fn acknowledged(&self) {
        // The sender is here, so that it does not fail.
        let _ = self.kept.subscribe().wait_for(|kept| *kept == 0).await;
    }
}

fn size(answer: &Answer) -> usize {
    answer.as_ref().map_or(0, Vec::len)
}

impl Begun {
    /// `None` while it runs.
    fn answer(&self) -> Option<Arc<Answer>> {
        let answer = self.answer.borrow().clone();
        answer.or_else(|| self.answer.has_changed().is_err().then(aborted))
    }
}

fn aborted() -> Arc<Answer> {
    Arc::new(Err(CallError::Ended("the task of the operation ended".to_owned())))
}

impl Awaited {
    pub(super) async fn answer(mut self) -> Answer {
        let answer = self.0.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone());
        answer.unwrap_or_else(aborted).as_ref().clone()
    }
}

impl Execution {
    pub(super) fn complete(self, answer: Answer) {
        self.operations.state().bytes += size(&answer);
        self.answer.send_replace(Some(Arc::new(answer)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations() -> Arc<Operations> {
        Operations::new("a".to_owned())
    }

    fn begin(all: &Arc<Operations>, ticket: &Ticket) -> Option<Execution> {
        all.begin(ticket, "create".to_owned()).unwrap().1
    }

    #[tokio::test]
    async fn an_operation_is_executed_once_and_its_answer_is_kept_until_it_is_acknowledged() {
        let all = operations();
        let ticket = all.reserve("u").unwrap();
        let (first, execution) = all.begin(&ticket, "create".to_owned()).unwrap();
        let (second, other) = all.begin(&ticket, "create".to_owned()).unwrap();
        assert!(other.is_none());
        assert!(all.recall("u", None).0.unwrap().is_running);
        assert!(matches!(all.reserve("u"), Err(CallError::NotBegun(why)) if why.contains("in progress")));
        // Nothing to acknowledge yet.
        all.acknowledge(&ticket);
        execution.unwrap().complete(Ok(b"id".to_vec()));
        assert_eq!((first.answer().await, second.answer().await), (Ok(b"id".to_vec()), Ok(b"id".to_vec())));
        for _ in 0..2 {
            let kept = all.recall("u", Some(&ticket)).0.unwrap();
            assert_eq!(
                (kept.label.as_str(), kept.body.as_slice(), kept.ticket),
                ("create", b"id".as_slice(), Some(ticket.clone()))
            );
        }
        assert!(matches!(all.reserve("u"), Err(CallError::NotBegun(why)) if why.contains("not recorded")));
        all.acknowledge(&Ticket { number: 7, ..ticket.clone() });
        assert!(all.recall("u", None).0.is_some());
        all.acknowledge(&ticket);
        all.acknowledged().await;
        // It was used, although nothing is known of it any more.
        assert_eq!(all.recall("u", Some(&ticket)), (None, false));
        assert_eq!(all.reserve("u").unwrap().number, 1);
        assert_eq!(all.state().bytes, 0);
    }

    #[test]
    fn a_ticket_that_was_not_used_is_withdrawn_by_whoever_recalls_it() {
        let all = operations();
        let ticket = all.reserve("u").unwrap();
        assert_eq!(all.recall("u", Some(&ticket)), (None, true));
        // A request that was on its way.
        let late = all.begin(&ticket, String::new());
        assert!(matches!(late, Err(CallError::NotBegun(why)) if why.contains("withdrawn")));
        assert_eq!(all.recall("u", Some(&ticket)), (None, true));
        // One that is reserved anew makes the former one invalid, too.
        let (former, next) = (all.reserve("u").unwrap(), all.reserve("u").unwrap());
        assert!(all.begin(&former, String::new()).is_err() && begin(&all, &next).is_some());
    }

    #[test]
    fn a_host_knows_nothing_of_the_tickets_of_others() {
        let (all, former) = (operations(), Operations::new("b".to_owned()));
        let ticket = former.reserve("u").unwrap();
        all.reserve("u").unwrap();
        assert!(all.begin(&ticket, String::new()).is_err());
        assert_eq!(all.recall("u", Some(&ticket)), (None, false));
        let issued_by_nobody = Ticket { host: "a".to_owned(), uid: "u".to_owned(), number: 9 };
        assert_eq!(all.recall("u", Some(&issued_by_nobody)), (None, false));
    }

    #[tokio::test]
    async fn an_execution_that_is_dropped_has_an_answer() {
        let all = operations();
        let ticket = all.reserve("u").unwrap();
        let (awaited, execution) = all.begin(&ticket, String::new()).unwrap();
        drop(execution);
        assert!(matches!(awaited.answer().await, Err(CallError::Ended(_))));
        let kept = all.recall("u", None).0.unwrap();
        assert!(!kept.is_running && kept.failure.is_some());
        all.acknowledge(&ticket);
        all.acknowledged().await;
    }

    #[test]
    fn a_closed_host_begins_nothing_and_still_tells_answers() {
        let all = operations();
        let (kept, reserved) = (all.reserve("kept").unwrap(), all.reserve("reserved").unwrap());
        begin(&all, &kept).unwrap().complete(Ok(vec![]));
        all.close();
        assert_eq!(all.reserve("new"), Err(CallError::Stopping));
        assert_eq!(all.begin(&reserved, String::new()).unwrap_err(), CallError::Stopping);
        assert!(all.recall("kept", None).0.is_some());
    }

    #[test]
    fn too_many_answers_are_not_kept() {
        let all = operations();
        for number in 0..MAX_KEPT {
            all.reserve(&number.to_string()).unwrap();
        }
        assert!(matches!(all.reserve("one more"), Err(CallError::NotBegun(why)) if why.contains("too many")));
        all.recall("0", None);
        let ticket = all.reserve("one more").unwrap();
        begin(&all, &ticket).unwrap().complete(Ok(vec![0; MAX_BYTES]));
        all.recall("1", None);
        assert!(all.reserve("two more").is_err());
        all.acknowledge(&ticket);
        assert!(all.reserve("two more").is_ok());
    }
}
