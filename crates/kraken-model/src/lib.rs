//! The pure half of the reconcile loop: its types, and the decisions of its steps as functions of their parameters. `kraken-spoke` is the other
//! half, with the steps, which read and write.
//!
//! A test of a decision needs no API server and no provider. What may hold a change that is due is in [`policy`]; [`outcome`] has the ends of
//! a reconcile, with one row for each in its table.

#![allow(clippy::missing_errors_doc)] // what holds a change is the outcome that ends the reconcile, and no failure

pub mod coverage;
pub mod decide;
pub mod delay;
pub mod effects;
pub mod followed;
pub mod graph;
pub mod hand_over;
pub mod ids;
pub mod imports;
pub mod in_place;
pub mod launch_plan;
pub mod ledger;
pub mod lookup;
pub mod memory;
pub mod observation;
pub mod outcome;
pub mod policy;
pub mod recorded;
pub mod request;
pub mod secrecy;
pub mod share;
pub mod spec;
pub mod status;
pub mod summary;
pub mod trigger;
pub mod unchanged;
pub mod unrecorded;
