//! The types and decisions of the loop. Pure: no client is required, and no module depends on a step.

pub mod coverage;
pub(crate) mod decide;
pub(crate) mod delay;
pub(crate) mod effects;
pub(crate) mod fields;
pub(crate) mod followed;
pub(crate) mod graph;
pub(crate) mod hand_over;
pub(crate) mod ids;
pub(crate) mod in_place;
pub(crate) mod launch_plan;
pub(crate) mod ledger;
pub(crate) mod lookup;
pub(crate) mod memory;
pub(crate) mod observation;
pub(crate) mod outcome;
pub(crate) mod recorded;
pub(crate) mod request;
pub(crate) mod secrecy;
pub(crate) mod share;
pub mod state;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod unchanged;
pub(crate) mod unrecorded;
