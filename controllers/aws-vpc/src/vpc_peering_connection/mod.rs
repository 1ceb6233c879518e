//! VPC peering connections.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::VpcPeeringConnections;
