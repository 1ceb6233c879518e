//! NAT gateways.

mod api;
mod aws;
mod plan;
mod readiness;

pub(crate) use aws::NatGateways;
