//! Look-ups of VPCs.

mod api;
mod calls;
#[cfg(test)]
mod tests;

pub(crate) use calls::VpcLookups;
