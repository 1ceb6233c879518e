//! LoadBalancer: an application or network load balancer.

mod api;
mod aws;
mod balancer;
mod desired;

pub(crate) use aws::Balancers;
