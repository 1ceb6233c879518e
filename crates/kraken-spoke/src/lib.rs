//! What a spoke needs to manage one family of infrastructure: the [`External`] trait that a kind implements, and the
//! one reconcile loop that every spoke uses.
//!
//! A spoke says what it wants (`desired`), what is there (`observe`), how the two differ (`compare`) and how to act
//! (`create`, `update`, `delete`). Everything else is here, the same for every kind: references, finalizer, exactly-once
//! creation, batched reads, retries, drift, status, events, isolation.

#![warn(missing_docs)]

pub mod account;
pub mod admission;
pub mod args;
mod batch;
mod breaker;
mod claims;
mod context;
pub mod controller;
pub mod coverage;
mod decide;
pub mod dynamic;
pub mod external;
pub mod failure;
mod fates;
mod fields;
mod hub;
mod hub_lease;
mod ignored;
mod in_place;
mod intent;
mod memory;
pub mod orphans;
mod outcome;
mod plan;
pub mod program;
mod reconcile;
mod secrecy;
mod secrets;
mod share;
mod status;
mod steps;
mod summary;
mod vanished;

pub use args::LoopArgs;
pub use external::{
    Candidate, Comparison, Difference, External, Identity, Launch, Look, OwnSecret, Remedy, SpokeKind,
};
pub use failure::{Failure, FailureClass};
pub use ignored::Ignored;
pub use kraken_api::{
    self as api, Adopt, Deletion, Disruption, Drift, FieldDiff, HasLifecycle, Lifecycle, Location,
    ResourceStatus,
};
pub use kraken_options::{self as options, Opt, OptionType, Resolved, Resolver, kind_key, option_object};
pub use kraken_runtime::{self as runtime, Shell};
pub use orphans::OrphanArgs;
pub use program::{FromContext, Registry, Spoke, SpokeArgs, SpokeProgram, main};
