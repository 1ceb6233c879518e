//! Violations, in a form that allows comparing two failures.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A class of violations, which must not change during shrinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// More remote objects of a UID live than spec and replacement explain.
    TooMany,
    /// A call changed, deleted or claimed an object of another owner.
    NotOurs,
    /// A call deleted or replaced a protected object.
    Protected,
    /// A call deleted a retained object.
    Retained,
    /// A call released an object that was created for a resource and is not retained.
    Released,
    /// Two launches have the same idempotency token.
    SameToken,
    /// A call changed an object of a paused resource.
    Paused,
    /// A call changed what only drift explains, although drift is only reported.
    Reported,
    /// A call was made for an unapproved plan.
    Unapproved,
    /// Many objects that disappeared at once were recreated without a confirmation.
    Unconfirmed,
    /// A status was written about values of references before the hub had answered.
    Unanswered,
    /// The hub answered with a value of another namespace, which does not permit it.
    NotPermitted,
    /// A replacement began without an edit.
    DriftReplaced,
    /// Something was created without a ledger on record.
    NoLedger,
    /// A ledger was written without a precondition.
    NoPrecondition,
    /// An object was created for a resource that is deleted or being deleted.
    CreatedForGone,
    /// An object was created in another location than the resource's other objects.
    Elsewhere,
    /// A finalizer went while something lived.
    FinalizerEarly,
    /// An object was deleted although others refer to it.
    OutOfOrder,
    /// A replaced object was deleted before its successor was published and given to the dependents.
    NotHandedOver,
    /// An object was stopped for a change while one of another resource of its disruption group was.
    TwoStopped,
    /// An object of the cluster was written that is not the controller's.
    ForeignObject,
    /// A process wrote that does not hold the lease.
    NotLeader,
    /// A Secret's value is publicly readable.
    Secret,
    /// A forged value was used.
    Forged,
    /// A controller ended unexpectedly or panicked.
    Panicked,
    /// After faults ended, a resource is neither Ready nor reports why.
    NotConverged,
    /// After faults ended, the cloud or an export does not match the specs.
    Wrong,
    /// A resource was reported to be in place, and a controller that starts without a memory changes it.
    NotInPlace,
    /// A message for people does not name the field, or is not one line.
    Unreadable,
    /// An object has the tags of the cluster and no owner.
    Orphan,
    /// An object was written in steady state.
    Restless,
    /// Calls were repeated in steady state.
    Busy,
    /// After everything was deleted, something was left.
    LeftBehind,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its class.
    pub class: Class,
    /// What happened, in words.
    pub message: String,
    /// The virtual time since the start.
    pub at: Duration,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.3} s: {:?}: {}", self.at.as_secs_f64(), self.class, self.message)
    }
}
