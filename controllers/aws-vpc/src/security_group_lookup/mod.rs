//! Look-ups of security groups.

mod api;
mod calls;
#[cfg(test)]
mod tests;

pub(crate) use calls::SecurityGroupLookups;
