//! Look-ups of parameters.

mod api;
mod calls;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::ParameterLookups;
