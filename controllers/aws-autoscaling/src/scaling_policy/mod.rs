//! ScalingPolicy: keeps a metric of an Auto Scaling group at a value.

mod api;
mod calls;
mod desired;
mod name;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::ScalingPolicies;
