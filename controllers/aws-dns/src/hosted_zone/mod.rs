//! HostedZone: a public zone of Route 53.

mod api;
mod calls;
mod desired;
mod observed;
mod reference;
#[cfg(test)]
mod tests;

pub(crate) use calls::{HostedZones, described, with_tags};
pub(crate) use observed::Zone;
