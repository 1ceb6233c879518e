//! What the reconciles of one kind, or of one process, share: batches, caches and counts. It is kept in memory and can be
//! lost at any time.

pub(crate) mod batch;
pub(crate) mod blockers;
pub(crate) mod claims;
pub(crate) mod connections;
pub(crate) mod dependents;
pub(crate) mod disruptions;
pub(crate) mod former;
pub(crate) mod hub;
pub(crate) mod hub_lease;
pub(crate) mod in_use;
pub(crate) mod memories;
pub(crate) mod published;
pub(crate) mod releases;
pub(crate) mod secrets;
pub(crate) mod uses;
pub(crate) mod vanished;
