//! Why a path has no value, in words without values.

use thiserror::Error;

use crate::bounds::Exceeded;
use crate::jsonpath::Exhausted;

/// The maximum number of values that a path may match.
pub(super) const MAX_MATCHES: usize = 1000;

/// Why a path has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("path {path}: {reason}")]
pub struct LookupError {
    /// The path as written in the spec.
    pub path: String,
    /// The reason.
    pub reason: LookupReason,
}

impl LookupError {
    /// True if the value may appear later; false if the path exceeds a bound.
    pub fn is_missing(&self) -> bool {
        use LookupReason as R;
        matches!(
            self.reason,
            R::NoItem { .. } | R::NoKey { .. } | R::NotAList { .. } | R::NotInside { .. } | R::Null { .. }
        )
    }
}

/// Why a path has no value. Contains names of keys and indexes, never values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LookupReason {
    /// A list is shorter than the path says.
    #[error("{at} has {length} items")]
    NoItem {
        /// Where the list is.
        at: String,
        /// How many items it has.
        length: usize,
    },
    /// An object has no such key.
    #[error("{key} not found in {at} ({has})")]
    NoKey {
        /// The key.
        key: String,
        /// Where the object is.
        at: String,
        /// The keys that it has.
        has: String,
    },
    /// A name is used as the index of a list.
    #[error("{key} is not an index, and {at} is a list of {length} items")]
    NotAList {
        /// The name.
        key: String,
        /// Where the list is.
        at: String,
        /// How many items it has.
        length: usize,
    },
    /// Nothing is inside a string, number or boolean, and no index is inside an object.
    #[error("{key} not found: {at} is {is}")]
    NotInside {
        /// The name or index.
        key: String,
        /// Where the path ended.
        at: String,
        /// What is there.
        is: &'static str,
    },
    /// The value is `null`.
    #[error("{at} is null")]
    Null {
        /// Where it is.
        at: String,
    },
    /// More than 1,000 values match.
    #[error("matches more than {MAX_MATCHES} values")]
    TooManyMatches,
    /// The query visits too much of the data, together with the other paths of the resource.
    #[error(
        "takes too many steps, together with the other paths of the resource; use a more specific path or fewer filters"
    )]
    TooManySteps,
    /// The value is nested deeper than 128 levels.
    #[error("the value is nested too deeply")]
    TooDeep,
    /// The value is larger than 1 MiB.
    #[error("the value exceeds 1 MiB")]
    TooLarge,
    /// The values of all paths of the resource are together larger than 4 MiB.
    #[error("the value exceeds 4 MiB, together with the other paths of the resource")]
    TooLargeTogether,
}

impl From<Exceeded> for LookupReason {
    fn from(exceeded: Exceeded) -> Self {
        match exceeded {
            Exceeded::Depth => Self::TooDeep,
            Exceeded::Bytes => Self::TooLarge,
        }
    }
}

impl From<Exhausted> for LookupReason {
    fn from(_: Exhausted) -> Self {
        Self::TooManySteps
    }
}
