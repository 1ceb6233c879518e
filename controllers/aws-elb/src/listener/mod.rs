//! Listener: what a load balancer does with what comes in at a port.

mod api;
mod aws;
mod gate;
mod plan;

pub(crate) use aws::{Listeners, of_balancer};
pub(crate) use gate::Gate;
