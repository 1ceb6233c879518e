//! ListenerRule: what a listener does with the requests that fit conditions.

mod api;
mod aws;
mod conditions;
mod plan;
mod rule;

pub(crate) use aws::{ListenerRules, of_listener};
