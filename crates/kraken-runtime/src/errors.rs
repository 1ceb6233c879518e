//! An error and its causes in one line for a log or a condition, each said once.

use std::error::Error;

/// The error and its causes, joined by colons. What an error prints of its cause itself is not repeated, and
/// of a refusal by the API server only the sentence is kept: kube prints its whole answer.
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

/// The sentence of a refusal by the API server.
fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a str> {
    // As a cause, an error in a box is the box.
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
    fn of_a_refusal_only_the_sentence_is_kept() {
        let status = Status::failure("leases \"x\" is forbidden", "Forbidden").with_code(403);
        assert_eq!(one_line(&kube::Error::Api(Box::new(status))), "leases \"x\" is forbidden");
    }

    #[test]
    fn a_refusal_is_recognised_as_a_cause() {
        #[derive(Debug, thiserror::Error)]
        #[error("failed to apply")]
        struct Failed(#[source] Box<kube::Error>);
        let status = Status::failure("no", "Forbidden").with_code(403);
        let error = Failed(Box::new(kube::Error::Api(Box::new(status))));
        assert_eq!(one_line(&error), "failed to apply: no");
    }

    #[test]
    fn a_failed_connection_says_why() {
        let refused = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "connection refused");
        let text = one_line(&kube::Error::Service(refused.into()));
        assert!(text.ends_with("connection refused"), "{text}");
    }

    #[test]
    fn causes_follow_and_nothing_is_said_twice() {
        let error = anyhow!("no credentials").context("failed to ask: no credentials").context("starting");
        assert_eq!(one_line(error.as_ref()), "starting: failed to ask: no credentials");
    }
}
