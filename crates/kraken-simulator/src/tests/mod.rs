//! Tests of the behavior: of instances over HTTP, and of all other kinds with the dispatcher only.

mod account;
mod addresses;
mod faults;
mod gateways;
mod groups;
mod instances;
mod key_pairs;
mod launches;
mod listener_rules;
mod listeners;
mod load_balancers;
mod nat_gateways;
mod others;
mod reads;
mod routes;
mod served;
mod subnets;
mod tampering;
mod target_groups;
mod volumes;
mod vpcs;
