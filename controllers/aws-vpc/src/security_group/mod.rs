//! Security groups.

mod api;
mod calls;
mod compare;
mod desired;
mod observed;
mod rule;
mod rule_calls;
#[cfg(test)]
mod tests;

pub(crate) use calls::SecurityGroups;
