//! NAT gateways.

mod api;
mod aws;
mod desired;
mod readiness;

pub(crate) use aws::NatGateways;
