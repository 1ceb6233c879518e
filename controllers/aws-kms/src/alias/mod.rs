//! Alias: another name of a key of KMS. It has no tags; a tag of its key has its owner.

mod api;
mod calls;
mod observed;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use calls::Aliases;
