//! VPCs.

mod api;
mod aws;
mod plan;

pub(crate) use aws::Vpcs;
