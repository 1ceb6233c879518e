//! Policy documents, as IAM and the services with policies of resources have them: as they are written in a spec, as they are sent, and in a
//! form in which equivalent ones are equal.

pub mod api;
mod bounds;
mod canonical;
mod desired;
mod import;
#[cfg(test)]
mod tests;

pub use api::{PolicyDocument, ResourcePolicy, TrustPolicy};
pub use canonical::Document;
pub use desired::{compared, resolved, resolved_resource, resolved_trust};
pub use import::{imported, imported_resource, imported_trust};
