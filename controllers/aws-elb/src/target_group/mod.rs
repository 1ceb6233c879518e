//! TargetGroup: where load balancers send requests to.

mod api;
mod aws;
mod plan;

pub(crate) use aws::Groups;
