//! Internet gateways.

mod api;
mod aws;
mod desired;

pub(crate) use aws::InternetGateways;
