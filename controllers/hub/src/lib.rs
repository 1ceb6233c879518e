//! The hub: resolves references between resources, and exports values to ConfigMaps and Secrets.
//!
//! Watches maintain the index of references and trigger reconciles (`watch`). A reconcile reads the bodies of
//! referenced objects once per version (`store`). Pure code resolves each reference (`resolve`). The results are the
//! status of a DependencyRequest (`requests`), and a ConfigMap or Secret (`exports`). The same code reviews objects
//! at admission (`admission`).

mod admission;
pub mod exports;
#[cfg(test)]
mod fuzz;
mod kept;
mod program;
pub mod requests;
mod resolve;
mod store;
mod watch;

pub use program::{Hub, HubArgs};
