//! Route tables.

mod api;
mod aws;
mod plan;
mod route;

pub(crate) use aws::RouteTables;
