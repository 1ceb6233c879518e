//! ListenerRule: the action of a listener for requests that match conditions.

mod api;
mod aws;
mod conditions;
mod desired;
mod rule;

pub(crate) use aws::{ListenerRules, of_listener};
