//! The resource types of OpenTofu providers as kinds: a [`TofuKind`] for each type, with a CRD from its schema, and a [`TofuExternal`] with
//! its calls. They are [added](kraken_spoke::controller::Kinds::add) to a running controller, and have what every kind has: references,
//! plans with approval, drift, replacement, adoption and ordered deletion.
//!
//! A provider has no tags to search by. What exists is known from a [journal], which is written before anything is created. A
//! creation whose process ended is found again by a [marker] that the creating call sent, for the types of which this was tested. Any other
//! one waits for a person: nothing is ever created twice.
//!
//! [journal]: journal::SECRET_TYPE
//! [marker]: TofuExternal::is_marked

mod crd;
mod external;
pub mod journal;
mod kind;
mod marker;
pub mod names;
mod observed;
mod options;
mod provider;

pub use external::TofuExternal;
pub use kind::TofuKind;
pub use provider::{Provider, ProviderError};
