//! Network ACLs.

mod api;
mod calls;
mod desired;
mod entry;
mod import;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::NetworkAcls;
