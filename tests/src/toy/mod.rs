//! A small but complete spoke: the kind `Gadget` in a cloud that is a map in memory.
//!
//! It is an example of a kind (`api.rs`, `desired.rs`, `external.rs`; a real spoke adds a `main.rs`), and simulates rare
//! behavior of a real cloud in tests: lost responses, delayed reads, panics.

mod api;
pub mod cloud;
mod desired;
mod external;

pub use api::{Gadget, GadgetSpec};
pub use cloud::{Cloud, Fault};
pub use external::Gadgets;

#[cfg(test)]
mod tests;
