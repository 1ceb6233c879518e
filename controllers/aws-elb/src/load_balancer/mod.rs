//! LoadBalancer: an application or network load balancer.

mod api;
mod calls;
mod desired;
mod import;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Balancers;
pub(crate) use observed::Balancer;
