//! What a kind of infrastructure implements: [`Kind`], its pure functions, and [`Calls`], its calls to the provider. This crate defines them
//! with everything that a kind and the reconcile loop exchange, and contains no step of the loop.
//!
//! A kind implements the desired state (`desired`), the observed state (`observe`), the difference (`compare`) and the
//! actions (`create`, `update`, `delete`).

pub mod account;
pub mod dynamic;
mod exchange;
mod failure;
mod ignored;
pub mod import;
mod spoke;
pub mod state;

pub use dynamic::{Calls, Kind, KindInfo};
pub use exchange::{
    Candidate, Comparison, Difference, Edit, Fate, Features, Finding, Identity, Launch, MISSING,
    ObserveRequest, OwnSecret, Remedy, SpokeKind, Unanswered,
};
pub use failure::{Failure, FailureClass};
pub use ignored::Ignored;
pub use kraken_api::{
    self as api, Adopt, Deletion, Disruption, Drift, FieldDiff, HasLifecycle, Lifecycle, Location,
    ResourceStatus,
};
pub use kraken_options::{self as options, Opt, OptionType, Resolved, Resolver, kind_key, option_object};
pub use kraken_runtime::{self as runtime, Manager};
pub use spoke::{FromContext, Registry, Spoke, SpokeContext, crd};
