//! TargetGroup: the targets of the requests of load balancers.

mod api;
mod calls;
mod desired;
mod import;
mod observed;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use calls::Groups;
pub(crate) use observed::Group;
