//! Route tables.

mod api;
mod aws;
mod desired;
mod route;
mod table;

pub(crate) use aws::RouteTables;
