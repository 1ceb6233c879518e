//! Security groups.

pub(crate) mod api;
mod calls;
mod compare;
mod desired;
pub(crate) mod observed;
mod rule;
mod rule_calls;
#[cfg(test)]
mod tests;

pub(crate) use calls::SecurityGroups;
