//! DBParameterGroup: the parameters of database engines.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use api::Change;
pub(crate) use calls::ParameterGroups;
