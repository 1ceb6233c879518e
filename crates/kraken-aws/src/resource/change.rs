//! A change in place of objects of a resource.

use super::TagChange;

/// A change in place of the objects with these ids.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<C> {
    /// Changes a tag.
    Tag(TagChange, Vec<String>),
    /// A change of the kind.
    Own(C, Vec<String>),
    /// Deletes surplus objects.
    Surplus(Vec<String>),
}
