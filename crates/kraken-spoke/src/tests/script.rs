//! The expected calls to the API server and to the cloud, in one order, with their responses.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use kraken_kind::{Failure, FailureClass};
use kraken_runtime::queue::Requeue;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// The write of the finalizer.
pub(super) const HOLD: &str = "PATCH disks/a";
/// The write of the ledger.
pub(super) const LEDGER: &str = STATUS;
/// The write of the status.
pub(super) const STATUS: &str = "PATCH disks/a/status";
/// The publication of an event.
pub(super) const EVENT: &str = "POST events";
/// The write of the DependencyRequest.
pub(super) const REQUEST: &str = "PATCH dependencyrequests/disk.testing.a";
/// The write of the StateDeclaration.
pub(super) const STATE: &str = "PATCH statedeclarations/disk.testing.a";

/// How soon a reconcile is repeated that made a change.
pub(super) const AT_ONCE: Requeue = Requeue::Soon(Duration::from_millis(100));

/// An expected call, such as `PATCH disks/a` or `create epoch 1`.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    reply: Reply,
}

/// The response to a call.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// The call is accepted: the server stores what it was sent, the cloud returns nothing.
    Accepted,
    /// The call returns this value.
    Returned(Value),
    /// The API server rejects the request with this code.
    Rejected(u16),
    /// The API server rejects the request because the namespace is being deleted.
    Terminating,
    /// The cloud rejects the call with this failure.
    Failed(Failure),
    /// The implementation of the kind panics.
    Panicked,
}

/// A call that is accepted.
pub(super) fn call(name: &str) -> Call {
    Call { name: name.to_owned(), reply: Reply::Accepted }
}

/// The observation of `disk-1` by its id, with these objects.
pub(super) fn observe(objects: &[Value]) -> Call {
    call("observe disk-1").returns(json!(objects))
}

/// The same by its id and by tag.
pub(super) fn observe_by_tag(objects: &[Value]) -> Call {
    call("observe disk-1,by tag").returns(json!(objects))
}

impl Call {
    pub(super) fn returns(self, value: Value) -> Self {
        Self { reply: Reply::Returned(value), ..self }
    }

    pub(super) fn rejected(self, code: u16) -> Self {
        Self { reply: Reply::Rejected(code), ..self }
    }

    pub(super) fn rejected_in_terminating_namespace(self) -> Self {
        Self { reply: Reply::Terminating, ..self }
    }

    pub(super) fn fails(self, class: FailureClass) -> Self {
        self.fails_with(class, "no")
    }

    pub(super) fn fails_with(self, class: FailureClass, message: &str) -> Self {
        let (action, code) = ("failed to call".into(), "Code".into());
        Self { reply: Reply::Failed(Failure { class, action, code, message: message.into() }), ..self }
    }

    pub(super) fn panics(self) -> Self {
        Self { reply: Reply::Panicked, ..self }
    }
}

/// The script of one reconcile. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub(super) struct Script(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    expected: VecDeque<Call>,
    made: Vec<(String, Value)>,
    unexpected: Vec<String>,
}

impl Script {
    /// Starts a reconcile with these expected calls.
    pub(super) fn begin(&self, expected: impl IntoIterator<Item = Call>) {
        let expected = expected.into_iter().collect();
        *self.0.lock() = State { expected, ..State::default() };
    }

    /// The response to a call, which must be the next expected one.
    pub(super) fn reply(&self, name: &str, body: Value) -> Reply {
        let mut state = self.0.lock();
        state.made.push((name.to_owned(), body));
        if state.expected.front().is_some_and(|next| next.name == name) {
            return state.expected.pop_front().map_or(Reply::Accepted, |call| call.reply);
        }
        let next = state.expected.front().map(|next| next.name.clone());
        state.unexpected.push(format!("{name}, expected {next:?}"));
        Reply::Rejected(500)
    }

    /// Whether this call is expected next, for one that few tests are about.
    pub(super) fn expects(&self, name: &str) -> bool {
        self.0.lock().expected.front().is_some_and(|next| next.name == name)
    }

    /// Ends a reconcile: the calls that were made, with their bodies.
    ///
    /// # Panics
    /// If they differ from the expected ones.
    pub(super) fn end(&self) -> Vec<(String, Value)> {
        let state = std::mem::take(&mut *self.0.lock());
        let missing: Vec<String> = state.expected.into_iter().map(|call| call.name).collect();
        let made: Vec<&str> = state.made.iter().map(|(name, _)| name.as_str()).collect();
        assert!(
            missing.is_empty() && state.unexpected.is_empty(),
            "unexpected: {:?}; missing: {missing:?}; made: {made:?}",
            state.unexpected
        );
        state.made
    }
}
