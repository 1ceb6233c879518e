//! Role: its trust policy, its managed and inline policies, and its permissions boundary.

mod api;
mod calls;
mod deletion;
mod desired;
mod import;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Roles;
