//! A controller binary with a `main` of one line. This module implements everything from its arguments to its exit
//! code.

mod command_line;
mod description;
#[cfg(test)]
pub(crate) mod fixtures;

pub use command_line::{crd_yaml, main, main_of_shared};
pub use description::Program;
