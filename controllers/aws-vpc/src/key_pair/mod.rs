//! Key pairs.

mod api;
mod aws;
mod generated;
mod plan;

pub(crate) use aws::KeyPairs;
