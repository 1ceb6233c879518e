//! Failed provider calls, and how they are retried.

use strum::{IntoStaticStr, VariantNames};

/// How an error of the provider is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum FailureClass {
    /// The request is invalid: an edit is most likely needed. Retried with exponential backoff, because a permission or
    /// a limit may also be corrected elsewhere.
    Terminal,
    /// A value that must be unique belongs to the object of another resource of the cluster, and the message names it. Retried when a
    /// resource of the kind is deleted or changed, and with exponential backoff.
    InUse,
    /// Throttled by the provider: retried with backoff.
    Throttled,
    /// The provider or the network failed: retried with backoff. Whether a change took effect is unknown.
    Transient,
    /// Another operation of the provider must finish first: observed again soon.
    NotYet,
    /// No credentials, or rejected ones.
    Credentials,
    /// A setting that only the operator of the controller can set is missing, such as the region.
    NotConfigured,
    /// The launch's token was used with other parameters: the launch was made, and its result is not visible yet.
    TokenUsed,
    /// The objects that the launch's token created are deleted: only a new token creates new ones.
    TokenSpent,
    /// A deletion was rejected because the provider's own deletion protection is on. See
    /// [`crate::Kind::unprotected_by`].
    Protected,
}

impl FailureClass {
    /// The value of the metric label.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A provider call that failed, or may have failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action}: {message}{}", if .code.is_empty() { String::new() } else { format!(" ({})", .code) })]
pub struct Failure {
    /// How it is retried.
    pub class: FailureClass,
    /// The attempted action: "failed to launch instances".
    pub action: String,
    /// The provider's error code, or empty.
    pub code: String,
    /// The provider's error message, without request ids.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_failure_is_counted_under_the_class_of_the_other_controllers() {
        assert_eq!(FailureClass::Transient.as_str(), kraken_runtime::metrics::TRANSIENT);
        assert_eq!(FailureClass::NotConfigured.as_str(), "not_configured");
    }

    #[test]
    fn failure_is_displayed_as_a_sentence() {
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
