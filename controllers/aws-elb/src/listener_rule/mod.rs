//! ListenerRule: the action of a listener for requests that match conditions.

mod api;
mod calls;
mod conditions;
mod desired;
mod import;
mod observed;
mod sdk;
#[cfg(test)]
mod tests;

pub(crate) use calls::ListenerRules;
pub(crate) use observed::Rule;
