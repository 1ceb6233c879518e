//! The errors of writing a target, and which of them are conflicts.

use kraken_runtime::patch::ApiError;

use crate::resolve::names::words;

/// Why a target could not be reconciled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// It could not be read.
    #[error("failed to read {named}: {}", words(.source))]
    Read {
        /// The object.
        named: String,
        /// The error of the API server.
        source: ApiError,
    },
    /// It could not be created.
    #[error("failed to create {named}: {}", words(.source))]
    Create {
        /// The object.
        named: String,
        /// The error of the API server.
        source: ApiError,
    },
    /// It could not be changed.
    #[error("failed to update {named}: {}", words(.source))]
    Update {
        /// The object.
        named: String,
        /// The error of the API server.
        source: ApiError,
    },
    /// Its successor was refused: it is not deleted.
    #[error("failed to replace {named}, which is immutable or of another type and is left as it is: {}", words(.source))]
    Replace {
        /// The object.
        named: String,
        /// The error of the API server.
        source: ApiError,
    },
    /// It could not be deleted.
    #[error("failed to delete {named}: {}", words(.source))]
    Delete {
        /// The object.
        named: String,
        /// The error of the API server.
        source: ApiError,
    },
}

impl WriteError {
    /// The same request may succeed when it is repeated at once.
    pub(super) fn is_transient(&self) -> bool {
        let (Self::Read { source, .. }
        | Self::Create { source, .. }
        | Self::Update { source, .. }
        | Self::Replace { source, .. }
        | Self::Delete { source, .. }) = self;
        source.status().is_none_or(|code| code >= 500)
    }

    /// A conflict: the target is observed again. A permanent error occurs again then.
    pub(super) fn is_race(&self) -> bool {
        match self {
            Self::Read { .. } | Self::Replace { .. } => false,
            Self::Create { source, .. } => source.is_conflict() && !source.is_invalid(),
            Self::Update { source, .. } | Self::Delete { source, .. } => {
                source.is_conflict() || source.is_not_found()
            }
        }
    }
}
