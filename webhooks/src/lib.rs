//! Admission webhooks of Kraken's controllers.
//!
//! A controller names what it reviews by a [`Hook`] and mounts a [`Validator`] for it. The same table makes the routes of the
//! [server](serve) and the ValidatingWebhookConfiguration ([`manifests`]), so that neither can name what the other lacks.
//! The [keeper] makes and rotates the serving certificate, without a restart and without a gap.

#![warn(missing_docs)]

mod certificate;
mod hook;
pub mod keeper;
pub mod manifests;
mod mounts;
mod review;
mod rotation;
mod router;
pub mod serve;
mod served;

pub use hook::{Hook, Operation};
pub use keeper::{Keeper, Place};
pub use mounts::{Mounts, Subject, Validator, Verdict};
pub use review::{AdmissionRequest, AdmissionResponse, AdmissionReview};
pub use rotation::Timing;
pub use router::router;
pub use served::Served;
