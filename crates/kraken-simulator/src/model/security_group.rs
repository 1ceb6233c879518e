//! Security groups.

use super::permissions::{Permission, Rule};

pub(crate) const DEFAULT: &str = "default";

/// A security group.
#[derive(Debug, Clone)]
pub(crate) struct SecurityGroup {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) vpc: String,
    pub(crate) rules: Vec<Rule>,
}

impl SecurityGroup {
    pub(crate) fn is_default(&self) -> bool {
        self.name == DEFAULT
    }

    /// What `map` finds in the permissions of one direction.
    pub(crate) fn permissions<T>(&self, egress: bool, map: impl Fn(&Permission) -> Option<T>) -> Vec<T> {
        let permissions = self.rules.iter().map(|rule| &rule.permission);
        permissions.filter(|permission| permission.egress == egress).filter_map(map).collect()
    }
}
