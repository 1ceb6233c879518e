//! Subscription: what a topic of SNS sends its messages to.

mod api;
mod calls;
mod desired;
mod marker;
mod observed;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use calls::Subscriptions;
