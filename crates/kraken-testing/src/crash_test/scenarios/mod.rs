//! The scenarios, by the controller that is killed.

mod balancing;
pub(super) mod hub;
mod instances;
mod network;

use super::scenario::Scenario;

/// All variants.
pub fn scenarios() -> Vec<Scenario> {
    [instances::all(), network::all(), balancing::all(), hub::all()].concat()
}
