//! Listener: a port of a load balancer, with its default action.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Listeners;
pub(crate) use observed::ObservedListener;
