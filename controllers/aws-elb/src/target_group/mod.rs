//! TargetGroup: the targets of the requests of load balancers.

mod api;
mod aws;
mod group;
mod health;
mod plan;
mod users;

pub(crate) use aws::Groups;
