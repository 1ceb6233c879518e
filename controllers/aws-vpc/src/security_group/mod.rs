//! Security groups.

mod api;
mod calls;
mod compare;
mod desired;
mod observed;
mod rule;
mod rule_calls;
mod sdk;
#[cfg(test)]
mod tests;

pub(crate) use calls::SecurityGroups;
