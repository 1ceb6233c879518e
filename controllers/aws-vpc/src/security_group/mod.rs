//! Security groups.

pub(crate) mod api;
mod calls;
mod compare;
mod desired;
mod import;
pub(crate) mod observed;
mod rule;
mod rule_calls;
#[cfg(test)]
mod tests;

pub(crate) use calls::SecurityGroups;
