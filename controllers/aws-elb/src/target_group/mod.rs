//! TargetGroup: where load balancers send requests to.

mod api;
mod aws;
mod group;
mod health;
mod plan;
mod users;

pub(crate) use aws::Groups;
