//! The version of an object of Kubernetes.

/// One version of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    /// Its UID.
    pub(crate) uid: String,
    /// Its resourceVersion.
    pub(crate) resource_version: String,
}
