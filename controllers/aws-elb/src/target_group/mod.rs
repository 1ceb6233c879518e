//! TargetGroup: the targets of the requests of load balancers.

mod api;
mod aws;
mod desired;
mod group;
mod health;
mod users;

pub(crate) use aws::Groups;
