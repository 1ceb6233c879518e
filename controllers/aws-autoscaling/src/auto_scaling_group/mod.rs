//! AutoScalingGroup: a number of instances of a launch template, in several subnets.

mod api;
mod calls;
mod desired;
mod observed;
mod refresh;
#[cfg(test)]
mod tests;

pub(crate) use calls::AutoScalingGroups;
