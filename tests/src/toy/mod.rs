//! A small but complete spoke: the kind `Gadget` in a cloud that is a map in memory.
//!
//! It is an example of a kind (`api.rs`, `desired.rs`, `kind.rs`, `calls.rs`; a real spoke adds a `main.rs`), and simulates rare
//! behavior of a real cloud in tests: lost responses, delayed reads, panics.

mod api;
mod calls;
pub mod cloud;
mod desired;
mod kind;

pub use api::{Gadget, GadgetSpec};
pub use calls::Gadgets;
pub use cloud::{Cloud, Fault};
pub use kind::GadgetKind;

#[cfg(test)]
mod tests;
