//! Elastic IP addresses.

mod api;
mod aws;
mod desired;

pub(crate) use aws::ElasticIps;
