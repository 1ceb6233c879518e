//! An error and its causes in one line for a log or a condition, without repetition.

use std::error::Error;

/// The error and its causes, joined by colons. A cause that the error already contains is not repeated. For an error
/// response of the API server, only its message is used: kube prints the whole response.
pub fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let refusal = refusal(error);
        let sentence = refusal.map_or_else(|| error.to_string(), str::to_owned);
        if text.is_empty() {
            text = sentence;
        } else if !text.contains(&sentence) {
            text = format!("{text}: {sentence}");
        }
        next = if refusal.is_some() { None } else { error.source() };
    }
    text
}

/// The message of an error response of the API server.
fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a str> {
    // A boxed error as a cause has the type of the box.
    let boxed = || error.downcast_ref::<Box<kube::Error>>().map(AsRef::as_ref);
    match error.downcast_ref().or_else(boxed)? {
        kube::Error::Api(status) if !status.message.is_empty() => Some(&status.message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use kube::core::Status;

    use super::one_line;

    #[test]
    fn an_api_error_is_reduced_to_its_message() {
        let status = Status::failure("leases \"x\" is forbidden", "Forbidden").with_code(403);
        assert_eq!(one_line(&kube::Error::Api(Box::new(status))), "leases \"x\" is forbidden");
    }

    #[test]
    fn an_api_error_is_recognised_as_a_cause() {
        #[derive(Debug, thiserror::Error)]
        #[error("failed to apply")]
        struct Failed(#[source] Box<kube::Error>);
        let status = Status::failure("no", "Forbidden").with_code(403);
        let error = Failed(Box::new(kube::Error::Api(Box::new(status))));
        assert_eq!(one_line(&error), "failed to apply: no");
    }

    #[test]
    fn a_failed_connection_includes_its_cause() {
        let refused = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "connection refused");
        let text = one_line(&kube::Error::Service(refused.into()));
        assert!(text.ends_with("connection refused"), "{text}");
    }

    #[test]
    fn causes_are_appended_without_repetition() {
        let error =
            anyhow!("no credentials").context("failed to list VPCs: no credentials").context("starting");
        assert_eq!(one_line(error.as_ref()), "starting: failed to list VPCs: no credentials");
    }
}
