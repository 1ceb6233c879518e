//! The journal of calls, and the hook for calls.

use tokio::time::Instant;

use super::changes::Change;
use super::form::Form;
use super::service::Service;

/// One call, or one [out-of-band change](super::Simulator::out_of_band).
#[derive(Debug, Clone)]
pub struct Call {
    /// Counts from 1 in the order of arrival. The journal itself is in the order of effects.
    pub number: u64,
    /// When it arrived.
    pub at: Instant,
    /// Its API.
    pub service: Service,
    /// `RunInstances`, ...
    pub action: String,
    /// Whether the test made it, instead of an API client.
    pub out_of_band: bool,
    /// The parameters, long values cut and user data left out.
    pub parameters: String,
    /// The ids that it changed or, for a Describe call, returned. Empty before the effect.
    pub ids: Vec<String>,
    /// The changes, in no particular order.
    pub changes: Vec<Change>,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether the caller did not get the cloud's response: a closed connection, or an error instead.
    pub lost: bool,
}

/// The result in the cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No effect yet: the call has arrived. Never in the journal.
    Arrived,
    /// The request.
    Done,
    /// No effect: the call was rejected with this code.
    Refused(String),
    /// No effect: the connection was closed before.
    NotReached,
}

/// When a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The call has arrived and has had no effect.
    Before,
    /// The call has had its effect, and the response has not been sent.
    AfterEffect,
}

/// The decision of a hook about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallDecision {
    /// The call continues normally.
    Continue,
    /// The connection is closed, without an effect if there was none yet.
    Drop,
}

impl Call {
    pub(super) fn arrived(number: u64, action: &str, form: &Form, out_of_band: bool) -> Self {
        Self {
            number,
            at: Instant::now(),
            service: Service::of(form.get("Version")),
            action: action.to_owned(),
            out_of_band,
            parameters: form.in_short(),
            ids: vec![],
            changes: vec![],
            outcome: Outcome::Arrived,
            lost: false,
        }
    }
}
