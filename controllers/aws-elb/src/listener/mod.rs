//! Listener: a port of a load balancer, with its default action.

mod api;
mod aws;
mod observed;
mod plan;

pub(crate) use aws::{Listeners, of_balancer};
pub(crate) use observed::ObservedListener;
