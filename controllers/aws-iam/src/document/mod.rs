//! Policy documents: as they are written in a spec, as they are sent, and in a form in which equivalent ones are equal.

mod api;
mod canonical;
mod desired;
mod import;
#[cfg(test)]
mod tests;

pub(crate) use api::{PolicyDocument, TrustPolicy};
pub(crate) use canonical::{Document, decoded};
pub(crate) use desired::{compared, resolved, resolved_trust};
pub(crate) use import::{imported, imported_trust};
