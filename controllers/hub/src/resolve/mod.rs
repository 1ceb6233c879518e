//! The value of one dependency, or the cause why it has none, and when a missing value is reported. Pure; shared by
//! requests, exports and admission.

pub mod debounce;
pub mod find;
pub mod names;
