//! Admission webhooks of Kraken's controllers.
//!
//! A controller declares its reviews as [`Hook`]s and mounts a [`Validator`] for each. The routes of the [server](serve) and
//! the ValidatingWebhookConfiguration ([`manifests`]) are generated from the same table, so that they always match. The
//! [rotator] issues and rotates the serving certificate without a restart or an interruption.

mod certificate;
pub mod connections;
mod hook;
pub mod manifests;
mod mounts;
mod review;
mod rotation;
pub mod rotator;
mod router;
pub mod serve;
mod served;

pub use hook::{Hook, Operation};
pub use mounts::{Mounts, ReviewResult, Subject, Validator};
pub use review::{AdmissionRequest, AdmissionResponse, AdmissionReview};
pub use rotation::Timing;
pub use rotator::{CertRotator, CertificateSource};
pub use router::router;
pub use served::{Certificates, Served};
