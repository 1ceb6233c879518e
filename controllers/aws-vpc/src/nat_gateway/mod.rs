//! NAT gateways.

mod api;
mod aws;
mod plan;

pub(crate) use aws::NatGateways;
