//! Calls that did not succeed, and how they are retried.

/// How an error of the cloud is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The request itself is wrong: most likely an edit is needed. Tried again ever more seldom, because a permission or a
    /// limit may be mended outside too.
    Terminal,
    /// Too many calls: back off.
    Throttled,
    /// The cloud or the network failed: back off. Whether a change took effect is unknown.
    Transient,
    /// Something else must happen first in the cloud: look again soon.
    NotYet,
    /// No credentials, or refused ones.
    Credentials,
    /// The controller lacks a setting that only whoever runs it can give, such as the region.
    NotConfigured,
    /// The launch's token was used with other parameters: the launch took place, its result is not visible yet.
    TokenUsed,
    /// What the launch's token created is gone again: only a new token creates anew.
    TokenSpent,
    /// A deletion was refused because the provider's own protection against deletion is on. See
    /// [`crate::External::unprotected_by`].
    Protected,
}

impl FailureClass {
    /// As a metric's label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Throttled => "throttled",
            Self::Transient => "transient",
            Self::NotYet => "not_yet",
            Self::Credentials => "credentials",
            Self::NotConfigured => "not_configured",
            Self::TokenUsed => "token_used",
            Self::TokenSpent => "token_spent",
            Self::Protected => "protected",
        }
    }
}

/// A call that the cloud did not carry out, or perhaps did not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {message}{}", if .code.is_empty() { String::new() } else { format!(" ({})", .code) })]
pub struct Failure {
    /// How it is retried.
    pub class: FailureClass,
    /// What was attempted: "failed to launch instances".
    pub action: String,
    /// The cloud's error code, or empty.
    pub code: String,
    /// The cloud's own words, without request ids.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reads_as_a_sentence() {
        let failure = Failure {
            class: FailureClass::Terminal,
            action: "failed to launch instances".into(),
            code: "InvalidAMIID.NotFound".into(),
            message: "The image id '[ami-1]' does not exist".into(),
        };
        assert_eq!(
            failure.to_string(),
            "failed to launch instances: The image id '[ami-1]' does not exist (InvalidAMIID.NotFound)"
        );
    }
}
