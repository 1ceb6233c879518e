//! Look-ups of subnets.

mod api;
mod calls;
#[cfg(test)]
mod tests;

pub(crate) use calls::SubnetLookups;
