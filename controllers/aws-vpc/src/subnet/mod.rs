//! Subnets.

mod api;
mod calls;
pub(crate) mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Subnets;
