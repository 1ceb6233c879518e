//! The representation of an instance in tests.

use std::collections::BTreeMap;

/// The fields of an EC2 instance for tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// `i-...`.
    pub id: String,
    /// `pending`, `running`, `shutting-down`, `terminated`, `stopping` or `stopped`.
    pub state: String,
    /// For example `t3.micro`.
    pub instance_type: String,
    /// `ami-...`.
    pub image_id: String,
    /// Its subnet.
    pub subnet_id: String,
    /// All its tags.
    pub tags: BTreeMap<String, String>,
}

impl Instance {
    /// Whether it is neither terminated nor shutting down.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state.as_str(), "shutting-down" | "terminated")
    }
}

/// An existing or former instance with its actual state, not that of delayed Describe calls.
#[derive(Debug, Clone)]
pub struct InstanceRecord {
    /// Its description.
    pub instance: Instance,
    /// The client token of its launch.
    pub token: Option<String>,
    /// The number of the call that launched it.
    pub launched_by: u64,
    /// The number of the call that terminated it.
    pub ended_by: Option<u64>,
    /// Whether termination is rejected.
    pub protected: bool,
    /// Whether it was terminated so long ago that it is no longer described.
    pub vanished: bool,
}
