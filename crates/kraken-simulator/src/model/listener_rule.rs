//! Rules of listeners.

use super::action::Action;
use super::condition::Condition;

/// A rule of a listener.
#[derive(Debug, Clone)]
pub(crate) struct ListenerRule {
    pub(crate) arn: String,
    pub(crate) listener: String,
    pub(crate) priority: usize,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) actions: Vec<Action>,
}

impl ListenerRule {
    /// Whether it sends requests to this target group.
    pub(crate) fn forwards_to(&self, group: &str) -> bool {
        self.actions.iter().flat_map(Action::groups).any(|(arn, _)| arn == group)
    }
}
