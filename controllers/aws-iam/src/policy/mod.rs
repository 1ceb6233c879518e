//! Policy: a customer managed policy, with its versions.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;
mod versions;

pub(crate) use calls::Policies;
