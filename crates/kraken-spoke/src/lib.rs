//! The library that a spoke is built with: the traits [`Kind`] and [`Calls`], which a kind implements, and the one reconcile loop,
//! which every spoke uses.
//!
//! A kind implements the desired state (`desired`), the observed state (`observe`), the difference (`compare`) and the
//! actions (`create`, `update`, `delete`). This crate implements everything else, in the same way for every kind:
//! references, finalizer, exactly-once creation, batched reads, retries, drift, status, events, isolation.

pub mod account;
mod actions;
pub mod admission;
pub mod args;
mod context;
pub mod controller;
pub mod dynamic;
mod exchange;
pub mod failure;
mod guarantees;
mod ignored;
pub mod import;
mod model;
mod orphans;
mod policy;
mod preview;
pub mod program;
mod reconcile;
mod shared;
mod steps;
#[cfg(test)]
mod tests;

pub use args::{LoopArgs, OrphanArgs};
pub use dynamic::{Calls, Kind, KindInfo};
pub use exchange::{
    Candidate, Comparison, Difference, Edit, Fate, Features, Finding, Identity, Launch, ObserveRequest,
    OwnSecret, Remedy, SpokeKind, Unanswered,
};
pub use failure::{Failure, FailureClass};
pub use ignored::Ignored;
pub use kraken_api::{
    self as api, Adopt, Deletion, Disruption, Drift, FieldDiff, HasLifecycle, Lifecycle, Location,
    ResourceStatus,
};
pub use kraken_options::{self as options, Opt, OptionType, Resolved, Resolver, kind_key, option_object};
pub use kraken_runtime::{self as runtime, Manager};
pub use model::{coverage, state};
pub use program::{FromContext, Registry, Spoke, SpokeArgs, SpokeContext, SpokeProgram, main};
