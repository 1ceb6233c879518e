//! What the dependents refer to and provide, of which the watches make the index of references.

pub(crate) mod export;
pub(crate) mod request;
