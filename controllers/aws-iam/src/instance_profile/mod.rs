//! InstanceProfile: a role for instances.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::InstanceProfiles;
