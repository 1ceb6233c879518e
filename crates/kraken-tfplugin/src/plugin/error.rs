//! Why a call has no result.

use crate::diagnostic::{Diagnostic, Errors};
use crate::value::ConvertError;

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The provider has no resource or data source of this type.
    #[error("the provider has no type {0}")]
    UnknownType(String),
    /// A configuration or a state does not have the type of the schema.
    #[error("{what}: {error}")]
    Value {
        /// What it is.
        what: &'static str,
        /// The first difference.
        error: ConvertError,
    },
    /// A stored state is of a version of the type that this provider does not know yet.
    #[error(
        "the state has version {stored}, and this version of the provider knows {known}; use a newer one"
    )]
    NewerState {
        /// The version that it was stored with.
        stored: i64,
        /// The version of the schema.
        known: i64,
    },
    /// The provider reported errors, or the schema does not permit the configuration. Their text may contain values of the configuration.
    #[error("{}", Errors(.0))]
    Provider(Vec<Diagnostic>),
    /// The provider's response does not have the type of the schema: a defect of the provider.
    #[error("invalid response of the provider: {0}")]
    Response(String),
    /// The call failed.
    #[error("call failed: {message} ({code})")]
    Rpc {
        /// The gRPC status code.
        code: String,
        /// The text of the status.
        message: String,
    },
    /// The plugin ended. What a change did until then is unknown.
    #[error("the plugin ended ({0})")]
    Ended(String),
    /// The plugin, or its host, is being stopped and starts no operation any more.
    #[error("the provider is being stopped")]
    Stopping,
    /// The program was not started.
    #[error("{0}")]
    NotStarted(String),
    /// Nothing was sent to the provider.
    #[error("{0}")]
    NotBegun(String),
    /// The connection to the host ended before its reply.
    #[error("the host of providers ended, or its connection: {0}")]
    Host(String),
}

impl CallError {
    /// Whether an operation that failed with it may have changed something: there is no valid answer. All other errors are of calls
    /// that were not sent, or that the provider answered.
    pub fn may_have_changed(&self) -> bool {
        matches!(self, Self::Response(_) | Self::Rpc { .. } | Self::Ended(_) | Self::Host(_))
    }

    /// Whether the same call may succeed later.
    pub fn is_temporary(&self) -> bool {
        self.may_have_changed() || matches!(self, Self::NotBegun(_) | Self::NotStarted(_) | Self::Stopping)
    }
}
