//! Route tables.

mod api;
mod calls;
mod desired;
mod import;
mod observed;
mod route;
#[cfg(test)]
mod tests;

pub(crate) use calls::RouteTables;
