//! Listener: a port of a load balancer, with its default action.

mod api;
mod aws;
mod desired;
mod observed;

pub(crate) use aws::{Listeners, of_balancer};
pub(crate) use observed::ObservedListener;
