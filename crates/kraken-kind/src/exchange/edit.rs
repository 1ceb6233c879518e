//! What an edit of a field does to an object that exists: for the warnings at admission, before anything is observed.

/// What an edit of a field does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edit {
    /// It is changed in place.
    #[default]
    InPlace,
    /// It is changed while the object is stopped ([`crate::Remedy::Disruptive`]).
    Stops,
    /// The provider cannot change it: the object is replaced, if the lifecycle allows that.
    Replaces,
    /// Objects are created, or the newest ones deleted: the field is the number of objects.
    Scales,
    /// Only the provider knows, when it compares the spec with what exists.
    Decided,
    /// It is applied when the object is stopped for another reason.
    Waits,
    /// The provider keeps the present value, which is not managed any more: the field was removed from the spec.
    Keeps,
    /// Nothing: the field is for Kraken, or for later launches only.
    Nothing,
}
