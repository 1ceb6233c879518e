//! Carries out operations.

mod set;

pub(crate) use set::set;
