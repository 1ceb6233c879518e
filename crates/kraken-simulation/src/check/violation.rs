//! What is violated, in a form by which two failures can be told to be the same.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A class of violations: what stays the same while a schedule is made shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// More remote objects of a UID live than spec and replacement explain.
    TooMany,
    /// A call changed, deleted or claimed what is not the resource's.
    NotOurs,
    /// A call deleted or replaced what is protected.
    Protected,
    /// A call deleted what is to be left behind.
    Retained,
    /// A call changed what is paused.
    Paused,
    /// A call changed what only drift explains, although drift is only reported.
    Reported,
    /// A call was made for a plan that nobody approved.
    Unapproved,
    /// A replacement began although nobody edited anything.
    DriftReplaced,
    /// Something was created without an intent on record.
    NoIntent,
    /// An intent was written without a precondition.
    NoPrecondition,
    /// Something was created for an object that is gone or going.
    CreatedForGone,
    /// Something was created in another place than the resource's other objects.
    Elsewhere,
    /// A finalizer went while something lived.
    FinalizerEarly,
    /// Something was deleted although others refer to it.
    OutOfOrder,
    /// An object of the cluster was written that is not the controller's.
    ForeignObject,
    /// A process wrote that does not hold the lease.
    NotLeader,
    /// A Secret's value is where everybody can read it.
    Secret,
    /// A value that somebody forged was acted on.
    Forged,
    /// A controller ended by itself or panicked.
    Panicked,
    /// After faults ended, a resource is neither ready nor says why.
    NotConverged,
    /// After faults ended, the cloud or an export is not what the specs say.
    Wrong,
    /// Something carries the tags of the cluster and belongs to nobody.
    Orphan,
    /// At rest, something was written.
    Restless,
    /// At rest, calls were made again and again.
    Busy,
    /// After everything was deleted, something was left.
    LeftBehind,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Its class.
    pub class: Class,
    /// What happened, in words.
    pub message: String,
    /// When, in virtual time since the start.
    pub at: Duration,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.3} s: {:?}: {}", self.at.as_secs_f64(), self.class, self.message)
    }
}
