//! Security groups.

mod api;
mod aws;
mod plan;
mod rule;

pub(crate) use aws::SecurityGroups;
