//! Listeners and their settings.

use super::action::Action;

/// A listener.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    pub(crate) arn: String,
    pub(crate) load_balancer: String,
    pub(crate) settings: Settings,
}

/// The parameters of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) port: usize,
    pub(crate) protocol: String,
    pub(crate) policy: Option<String>,
    pub(crate) certificates: Vec<String>,
    pub(crate) alpn: Option<String>,
    pub(crate) actions: Vec<Action>,
}

impl Listener {
    /// Whether it sends requests to this target group.
    pub(crate) fn forwards_to(&self, group: &str) -> bool {
        self.settings.actions.iter().flat_map(Action::groups).any(|(arn, _)| arn == group)
    }
}

impl Settings {
    pub(crate) fn is_encrypted(&self) -> bool {
        ["HTTPS", "TLS"].contains(&self.protocol.as_str())
    }
}
