//! Changes in place.

use crate::mark::Mark;

/// A change in place of some instances; the values are those of the desired state. All are idempotent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    SecurityGroups,
    Monitoring,
    MetadataOptions,
    InstanceProfile,
    InstanceType,
    EbsOptimized,
    UserData,
    Start,
    /// Stops instances that are marked for that.
    Stop,
    /// Sets or removes the disruption mark.
    Mark(Mark),
}
