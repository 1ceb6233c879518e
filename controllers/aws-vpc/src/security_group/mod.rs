//! Security groups.

pub(crate) mod api;
mod calls;
mod compare;
pub(crate) mod desired;
pub(crate) mod import;
pub(crate) mod observed;
pub(crate) mod rule;
mod rule_calls;
#[cfg(test)]
mod tests;

pub(crate) use calls::SecurityGroups;
