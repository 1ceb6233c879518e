//! The scenarios, by the controller that is killed.

pub(super) mod balancing;
pub(super) mod hub;
pub(super) mod instances;
pub(super) mod network;
