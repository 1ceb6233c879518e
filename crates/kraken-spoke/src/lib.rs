//! The library that a spoke is built with: the one reconcile loop, which every spoke uses, and the processes that run it.
//!
//! A kind implements the traits of `kraken-kind`, which this crate exports again: the desired state (`desired`), the observed state
//! (`observe`), the difference (`compare`) and the actions (`create`, `update`, `delete`). The loop implements everything else, in the same way
//! for every kind: references, finalizer, exactly-once creation, batched reads, retries, drift, status, events, isolation. What it decides is
//! in `kraken-model`, which is pure; this crate has the steps, which read and write.

mod actions;
pub mod admission;
pub mod args;
mod context;
pub mod controller;
mod guarantees;
mod imports;
mod orphans;
mod preview;
pub mod program;
mod reconcile;
mod shared;
mod steps;
#[cfg(test)]
mod tests;

pub use args::{LoopArgs, OrphanArgs};
pub use program::{SpokeArgs, SpokeProgram, main};
