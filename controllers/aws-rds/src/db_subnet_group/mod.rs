//! DBSubnetGroup: the subnets of a database.

mod api;
mod calls;
mod observed;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use api::Change;
pub(crate) use calls::SubnetGroups;
