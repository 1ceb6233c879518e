//! Elastic IP addresses.

mod api;
mod aws;
mod plan;

pub(crate) use aws::ElasticIps;
