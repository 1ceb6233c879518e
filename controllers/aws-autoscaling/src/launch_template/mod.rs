//! LaunchTemplate: how an Auto Scaling group launches instances, in numbered versions.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::LaunchTemplates;
