//! Subnets.

mod api;
mod calls;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Subnets;
