//! Internet gateways.

mod api;
mod calls;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::InternetGateways;
