//! DBParameterGroup: the parameters of database engines.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::ParameterGroups;
#[cfg(test)]
pub(crate) use desired::Change;
