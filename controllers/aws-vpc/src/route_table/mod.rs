//! Route tables.

mod api;
mod aws;
mod plan;
mod route;
mod table;

pub(crate) use aws::RouteTables;
