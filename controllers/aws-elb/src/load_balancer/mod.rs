//! LoadBalancer: where clients come in.

mod api;
mod aws;
mod plan;

pub(crate) use aws::Balancers;
