//! Kraken with controllers and programs of other projects: Argo CD, Flux, kro, cert-manager, Prometheus. A new machine compiles them for
//! a quarter of an hour, so `cargo xtask test --within` runs these tests last.

mod cert_manager;
mod gitops;
mod monitoring;
mod teams;
