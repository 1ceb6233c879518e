//! The objects that a call accessed, with their state before it.

use std::collections::BTreeMap;

use super::registry::ObjectRef;
use super::tags::Tags;

/// The state of an object before the first access of a call.
#[derive(Debug)]
pub(super) struct Before {
    /// `None`: it did not exist.
    pub(super) text: Option<String>,
    pub(super) tags: Tags,
    pub(super) was_live: bool,
    pub(super) used: bool,
}

/// The objects that the current call accessed.
#[derive(Debug, Default)]
pub(super) struct Touched(pub(super) BTreeMap<ObjectRef, Before>);
