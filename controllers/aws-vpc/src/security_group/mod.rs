//! Security groups.

mod api;
mod aws;
mod calls;
mod desired;
mod permission;
mod rule;
mod rule_changes;

pub(crate) use aws::SecurityGroups;
