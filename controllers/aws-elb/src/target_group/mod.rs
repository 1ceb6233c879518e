//! TargetGroup: the targets of the requests of load balancers.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use calls::Groups;
