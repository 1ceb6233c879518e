//! The watches: the stores that they maintain, and the reconciles that their events trigger.

pub(crate) mod cluster_state;
pub(crate) mod event_router;
pub(crate) mod kept;
pub(crate) mod owned;
pub(crate) mod undecodable;
pub(crate) mod written;
