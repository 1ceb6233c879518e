//! VPCs.

pub(crate) mod api;
mod calls;
mod desired;
pub(crate) mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Vpcs;
