//! The value of one dependency, or the cause why it has none, and when a missing value is reported. Pure; shared by
//! requests, exports and admission.

pub(crate) mod debounce;
pub(crate) mod find;
pub(crate) mod names;
