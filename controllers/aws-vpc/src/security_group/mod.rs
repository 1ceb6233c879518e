//! Security groups.

mod api;
mod aws;
mod calls;
mod permission;
mod plan;
mod rule;
mod rule_changes;

pub(crate) use aws::SecurityGroups;
