//! Target groups and their targets.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::health::Health;

/// A target group.
#[derive(Debug, Clone)]
pub(crate) struct TargetGroup {
    pub(crate) arn: String,
    pub(crate) name: String,
    pub(crate) settings: Settings,
    pub(crate) health: Health,
    pub(crate) attributes: BTreeMap<String, String>,
    /// By id and port.
    pub(crate) targets: BTreeMap<(String, usize), Target>,
}

/// The immutable fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) protocol: String,
    pub(crate) version: Option<String>,
    pub(crate) port: usize,
    pub(crate) vpc: String,
    /// `instance` or `ip`.
    pub(crate) of: String,
    pub(crate) address_type: String,
}

impl Settings {
    pub(crate) fn is_http(&self) -> bool {
        self.protocol.starts_with("HTTP")
    }
}

/// A registered target.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) healthy_from: Instant,
    /// When a deregistered target disappears.
    pub(crate) gone_at: Option<Instant>,
}
