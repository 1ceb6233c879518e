//! A whole spoke in miniature: the kind `Gadget` in a cloud that is a map in memory.
//!
//! It shows what a newcomer writes (`api.rs`, `plan.rs`, `external.rs`; a real spoke adds a `main.rs`), and it lets
//! tests meet what a real cloud does seldom: answers that are lost, reads that lag, calls that panic.

mod api;
pub mod cloud;
mod external;
mod plan;

pub use api::{Gadget, GadgetSpec};
pub use cloud::{Cloud, Fault};
pub use external::Gadgets;
