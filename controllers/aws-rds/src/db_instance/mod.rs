//! DBInstance: a database of RDS.

mod api;
mod bounds;
mod calls;
mod desired;
mod observed;
mod password;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use api::Change;
pub(crate) use calls::Instances;
