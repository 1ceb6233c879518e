//! The watches: the stores that they maintain, and the reconciles that their events trigger.

pub mod cluster_state;
pub mod event_router;
pub mod owned;
pub mod undecodable;
pub mod written;
