//! Key pairs.

mod api;
mod aws;
mod desired;
mod generated;

pub(crate) use aws::KeyPairs;
