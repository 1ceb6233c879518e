//! Changes in place.

use crate::mark::Mark;

/// A change in place of the instances with these ids; the values are those of the desired state. All are idempotent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// Scale down.
    Terminate(Vec<String>),
    /// One tag, so that an ignored tag is not written with others.
    SetTag {
        key: String,
        ids: Vec<String>,
    },
    RemoveTag {
        key: String,
        ids: Vec<String>,
    },
    SecurityGroups(Vec<String>),
    Monitoring(Vec<String>),
    MetadataOptions(Vec<String>),
    InstanceProfile(Vec<String>),
    InstanceType(Vec<String>),
    EbsOptimized(Vec<String>),
    UserData(Vec<String>),
    Start(Vec<String>),
    /// Stops an instance that is marked for that.
    Stop(String),
    /// Sets or removes the disruption mark of an instance.
    Mark {
        id: String,
        mark: Mark,
    },
}
