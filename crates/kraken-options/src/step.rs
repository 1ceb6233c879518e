//! One step of a path, in either syntax.

/// One step from a value to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A segment of a dotted path: an index of a list or a key of an object.
    Segment(String),
    /// A key of an object in a JSONPath.
    Key(String),
    /// An index of a list in a JSONPath, counted from the end if negative.
    Index(i64),
}

/// The index from the start that `index` denotes, which counts from the end if it is negative.
pub(crate) fn from_end(index: i64, length: usize) -> Option<usize> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { length.checked_sub(distance) } else { Some(distance) }
}
