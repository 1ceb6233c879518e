//! NAT gateways.

mod api;
mod calls;
mod desired;
mod observed;
mod read;
mod readiness;
#[cfg(test)]
mod tests;

pub(crate) use calls::NatGateways;
pub(crate) use read::read;
