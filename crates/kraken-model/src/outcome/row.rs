//! The columns of the row of an outcome. Pure.

use std::time::Duration;

use kraken_api::reasons::Reason;

/// How soon a started operation is observed again.
pub(super) const SOON: Duration = Duration::from_secs(1);
/// How soon a reconcile that met a conflicting write, or that made a change, is repeated.
pub(super) const AT_ONCE: Duration = Duration::from_millis(100);

/// What an outcome means.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The reason of its conditions and of its event. The resource is ready only if it is `Available`.
    pub reason: Reason,
    /// Who acts next.
    pub activity: Activity,
    /// What it states about the remote objects.
    pub observed: Observed,
    /// What it states about the references.
    pub references: References,
    /// When the resource is reconciled again.
    pub again: Again,
}

/// Who acts next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nobody: nothing is wrong.
    Fine,
    /// A person, or another object.
    Waiting,
    /// The controller or the provider: an operation is in progress, and may complete before it needs to be reported.
    Progress,
    /// The same, but the provider rejects the operation as not possible yet.
    NotYet,
    /// The same, but the provider cannot be reached: the last reported state still holds.
    Unavailable,
    /// The controller, at once.
    Continuing,
    /// The controller, with backoff: something fails that may end by itself.
    Retrying,
    /// A person: an edit is required. kstatus, Flux and Argo CD report a failure at once.
    Stalled,
    /// The same; a due launch was not made.
    LaunchWithheld,
}

/// What an outcome states about the remote objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// They were compared with the desired state, and match it.
    Matches,
    /// They were compared, and differ.
    Differs,
    /// They could not be compared, or reached.
    Unreached,
    /// Nothing.
    Unsaid,
}

/// What an outcome states about the references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// Each of them has a value.
    Resolved,
    /// One has no value; the message of the outcome names it.
    Unmet,
    /// The hub has not answered.
    Asked,
    /// Nothing.
    Unsaid,
}

/// When a resource is reconciled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Only on an event: the watch on what it waits for triggers a reconcile.
    Event,
    /// At the resync: the remote objects were compared, and nothing is to be done.
    AtRest,
    /// At the resync, although something is to be done: a person must act, which triggers a reconcile or restarts the controller.
    Resync,
    /// With exponential backoff.
    Backoff,
    /// After 1, 2, 4 seconds and so on.
    Growing,
    /// At any time until then.
    Soon(Duration),
    /// After this time.
    After(Duration),
}
