//! Converts an error of the SDK to a [`Failure`]: its retry class, and AWS's message without parts that differ between
//! calls, so that a repeated error leads to the same status.

use std::error::Error;

use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use kraken_kind::{Failure, FailureClass};

use crate::codes::class_of;

/// The hint for missing credentials.
pub(crate) const CREDENTIALS_HINT: &str = "no usable AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY \
     (a Secret by envFrom), or give the pod a role (IRSA, EKS Pod Identity or an instance profile)";

/// The same of an Account.
pub(crate) const ACCOUNT_HINT: &str = "the credentials or the role of the Account cannot be used";

/// The hint for a missing region.
pub(crate) const REGION_HINT: &str = "no AWS region: start the controller with AWS_REGION or --aws-region, or with a region in its AWS profile";

/// The maximum length of a message, in characters. AWS's messages are short, except the one with up to a thousand
/// missing ids, which must be parsed completely.
const MAX_MESSAGE: usize = 32_768;

/// Classifies an error; `action` is the prefix of the message: "failed to launch instances".
pub fn classify<E>(action: &str, error: &SdkError<E>) -> Failure
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match error {
        // The SDK cannot read the response to a call that succeeded. It may have created something.
        SdkError::ServiceError(answer)
            if answer.raw().status().is_success() && answer.err().code().is_none() =>
        {
            let causes = causes(answer.err()).join(": ");
            let message = one_line(&format!("the call succeeded, and its response cannot be read: {causes}"));
            failure(FailureClass::Transient, action, "", message)
        }
        SdkError::ServiceError(answer) => {
            let (code, status) = (answer.err().code().unwrap_or_default(), answer.raw().status().as_u16());
            let text = answer.err().message().unwrap_or_default();
            let message = match one_line(text) {
                text if text.is_empty() => format!("AWS responded with HTTP status {status} and no message"),
                text => text,
            };
            failure(class_of(code, status, text), action, code, message)
        }
        _ => unanswered(action, &causes(error), matches!(error, SdkError::ConstructionFailure(_))),
    }
}

/// A failure before any call: the region is unknown.
pub(crate) fn no_region(action: &str) -> Failure {
    failure(FailureClass::NotConfigured, action, "", REGION_HINT.to_owned())
}

/// The failure of a call without a response, or with an invalid one.
fn unanswered(action: &str, causes: &[String], malformed: bool) -> Failure {
    let mentions = |words: &str| causes.iter().any(|cause| cause.to_lowercase().contains(words));
    if mentions("missing region") {
        return no_region(action);
    }
    // The SDK wraps the provider's error in several private types.
    if mentions("credential") || mentions("identity resolver") || mentions("failed to load identity") {
        let message = match causes.last() {
            Some(root) if !root.contains("provider was not enabled") => {
                format!("{CREDENTIALS_HINT}; error of the SDK: {root}")
            }
            _ => CREDENTIALS_HINT.to_owned(),
        };
        return failure(FailureClass::Credentials, action, "", message);
    }
    let class = if malformed { FailureClass::Terminal } else { FailureClass::Transient };
    failure(class, action, "", one_line(&causes.join(": ")))
}

fn failure(class: FailureClass, action: &str, code: &str, message: String) -> Failure {
    Failure { class, action: action.to_owned(), code: code.to_owned(), message }
}

/// The messages of an error and its causes, outermost first, without duplicates. A message with a request id is
/// omitted.
fn causes(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut texts: Vec<String> = vec![];
    let mut next = Some(error);
    while let Some(cause) = next {
        let text = cause.to_string();
        if !text.contains("request_id") && !texts.contains(&text) {
            texts.push(text);
        }
        next = cause.source();
    }
    texts
}

/// AWS's text on one line, without request ids and without the encoded text that only an administrator can decode.
fn one_line(message: &str) -> String {
    let lower = message.to_ascii_lowercase();
    let end = ["encoded authorization failure message", "request id:", "requestid:", "request-id:"]
        .iter()
        .filter_map(|marker| lower.find(marker))
        .min()
        .unwrap_or(message.len());
    let words: Vec<&str> = message[..end].split_whitespace().collect();
    let text = words.join(" ");
    let text = text.trim_end_matches(['(', '[', ',', ';', ' ']);
    if text.chars().count() <= MAX_MESSAGE {
        return text.to_owned();
    }
    text.chars().take(MAX_MESSAGE - 1).chain(['…']).collect()
}

/// A failure that requires an edit, without an error of AWS.
pub fn terminal(action: &str, message: impl Into<String>) -> Failure {
    failure(FailureClass::Terminal, action, "", message.into())
}

/// The failure of a call that follows a creation: no class of failure may say that nothing was created.
#[must_use]
pub fn undecided(failure: Failure) -> Failure {
    Failure { class: FailureClass::Transient, ..failure }
}

/// The failure of a creation whose object a following call does not show; `object`: "the new topic a".
pub fn invisible(action: &str, object: &str) -> Failure {
    failure(FailureClass::Transient, action, "", format!("{object} is not visible yet"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_ec2::{error::ConnectorError, operation::run_instances::RunInstancesError};
    use aws_smithy_runtime_api::http::{Response, StatusCode};
    use aws_smithy_types::{body::SdkBody, error::ErrorMetadata};

    fn answered(code: &str, status: u16, message: &str) -> Failure {
        let error = RunInstancesError::generic(ErrorMetadata::builder().code(code).message(message).build());
        let raw = Response::new(StatusCode::try_from(status).unwrap(), SdkBody::empty());
        classify("failed to launch instances", &SdkError::service_error(error, raw))
    }

    fn dispatch(error: ConnectorError) -> Failure {
        classify::<RunInstancesError>("failed to launch instances", &SdkError::dispatch_failure(error))
    }

    #[test]
    fn an_error_response_keeps_its_code_and_message() {
        let failure = answered("InvalidAMIID.NotFound", 400, "The image id '[ami-1]' does not exist");
        assert_eq!(failure.class, FailureClass::Terminal);
        assert_eq!(
            failure.to_string(),
            "failed to launch instances: The image id '[ami-1]' does not exist (InvalidAMIID.NotFound)"
        );
    }

    #[test]
    fn a_missing_permission_is_named_without_the_encoded_text() {
        let failure = answered(
            "UnauthorizedOperation",
            403,
            "You are not authorized to perform: ec2:RunInstances.\n Encoded authorization failure message: q1w2e3",
        );
        assert_eq!(failure.message, "You are not authorized to perform: ec2:RunInstances.");
        assert_eq!(failure.class, FailureClass::Terminal);
    }

    #[test]
    fn request_ids_are_removed() {
        for message in ["Broken (Request ID: 1-2-3)", "Broken; RequestId: 1-2-3", "Broken [request-id: 1]"] {
            assert_eq!(answered("X", 400, message).message, "Broken", "{message}");
        }
    }

    #[test]
    fn a_long_message_is_truncated_at_a_character_boundary() {
        let message = answered("X", 400, &"ü".repeat(40_000)).message;
        assert_eq!(message.chars().count(), MAX_MESSAGE);
        assert!(message.ends_with('…'));
    }

    #[test]
    fn a_response_without_a_message_is_reported_with_its_status() {
        let failure = answered("", 502, " ");
        assert_eq!(failure.message, "AWS responded with HTTP status 502 and no message");
        assert_eq!(failure.class, FailureClass::Transient);
    }

    #[test]
    fn a_network_error_is_retried() {
        let refused = dispatch(ConnectorError::io("connection refused".into()));
        assert_eq!(refused.class, FailureClass::Transient);
        assert!(refused.message.contains("connection refused"), "{}", refused.message);
        let slow = SdkError::timeout_error("no response within 15 s");
        assert_eq!(classify::<RunInstancesError>("a", &slow).class, FailureClass::Transient);
    }

    #[test]
    fn a_success_that_cannot_be_read_does_not_say_that_nothing_was_created() {
        let raw = Response::new(StatusCode::try_from(200).unwrap(), SdkBody::empty());
        let error = SdkError::service_error(RunInstancesError::unhandled("unexpected end of XML"), raw);
        let failure = classify("failed to launch instances", &error);
        assert_eq!(failure.class, FailureClass::Transient);
        assert!(failure.message.contains("unexpected end of XML"), "{}", failure.message);
    }

    #[test]
    fn an_invalid_response_is_retried() {
        let raw = Response::new(StatusCode::try_from(200).unwrap(), SdkBody::empty());
        let error = SdkError::response_error("unexpected end of XML", raw);
        assert_eq!(classify::<RunInstancesError>("a", &error).class, FailureClass::Transient);
    }

    #[test]
    fn missing_credentials_are_reported_with_the_settings() {
        let error = dispatch(ConnectorError::other("the credential provider was not enabled".into(), None));
        assert_eq!(error.class, FailureClass::Credentials);
        assert_eq!(error.message, CREDENTIALS_HINT);
    }

    #[test]
    fn a_provider_that_failed_is_quoted() {
        let error = dispatch(ConnectorError::other("failed to load credentials from a file".into(), None));
        assert_eq!(error.class, FailureClass::Credentials);
        assert!(
            error.message.ends_with("error of the SDK: failed to load credentials from a file"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_region_is_reported_with_the_settings() {
        let error = SdkError::construction_failure("Invalid Configuration: Missing Region");
        let failure = classify::<RunInstancesError>("a", &error);
        assert_eq!((failure.class, failure.message.as_str()), (FailureClass::NotConfigured, REGION_HINT));
    }

    #[test]
    fn a_request_that_cannot_be_built_requires_an_edit() {
        let error = SdkError::construction_failure("a field is missing");
        assert_eq!(classify::<RunInstancesError>("a", &error).class, FailureClass::Terminal);
    }
}
