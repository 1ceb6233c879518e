//! Look-ups of hosted zones.

mod api;
mod calls;
#[cfg(test)]
mod tests;

pub(crate) use calls::HostedZoneLookups;
