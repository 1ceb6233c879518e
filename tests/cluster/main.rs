//! Tests against a real kube-apiserver, with the controllers as their real binaries, and moto as AWS.
//! Run them by `cargo xtask test`, which builds the binaries first.

mod accounts;
mod admission;
mod alone;
mod attached;
mod bad_input;
mod balancing;
mod cert_manager;
mod compatibility;
mod components;
mod crash;
mod docs;
mod exports;
mod gadgets;
mod generated_inputs;
mod gitops;
mod install;
mod instance_changes;
mod instances;
mod keys;
mod kubectl;
mod leases;
mod monitoring;
mod namespaced;
mod network;
mod network_once;
mod once;
mod policies;
mod references;
mod replaced;
mod restored;
mod rights;
mod rotate;
mod secrecy;
mod tenancy;
mod web_tier;
