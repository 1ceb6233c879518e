//! Tests of the simulator's behavior: instances over HTTP, all other kinds by the dispatcher only.

mod account;
mod addresses;
mod faults;
mod gateways;
mod groups;
mod instances;
mod interfaces;
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
