//! The scripted failure of a call, as its caller sees it.

use std::time::Duration;

/// Whether the failure occurs before or after the call reaches the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePoint {
    /// Before the call: it has no effect in the cloud.
    Before,
    /// After the call: it takes effect, and its response is lost.
    After,
}

/// The result for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureMode {
    /// An error in AWS's XML, such as 503 `RequestLimitExceeded`.
    Error {
        /// The status code.
        status: u16,
        /// AWS's code.
        code: String,
        /// AWS's text.
        message: String,
    },
    /// The connection is closed without a response.
    Drop,
    /// The call ([`FailurePoint::Before`]) or its response ([`FailurePoint::After`]) is delayed by this time.
    Delay(Duration),
}

impl FailureMode {
    /// An error of AWS.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        Self::Error { status, code: code.to_owned(), message: message.to_owned() }
    }

    /// The throttling error of AWS APIs.
    pub fn throttled() -> Self {
        Self::error(503, "RequestLimitExceeded", "Request limit exceeded.")
    }
}
