//! Which lines are logged. Bodies, which may hold values of Secrets, never are.

use tracing_subscriber::{EnvFilter, filter::ParseError};

/// The default log level.
const DEFAULT: &str = "info";

/// The modules of dependencies that log whole bodies, which may hold a Secret's values. No filter turns them on.
///
/// kube's client logs each failed request a second time, with the body of an object that cannot be decoded. AWS's SDK
/// logs at trace level each request, with user data and key material in its body, and each response, with errors that
/// quote the request. The callers log failures without bodies.
const BODIES_OFF: [&str; 3] = [
    "kube_client::client=off",
    "aws_smithy_runtime::client::orchestrator=off",
    "aws_smithy_runtime::client::orchestrator::http=off",
];

/// kube's watcher logs each failed attempt. Our watches log once per outage, with the kind.
const KUBE_WATCHER_ERRORS: &str = "kube_runtime::watcher=error";

/// Parses a filter such as `debug` or `info,kraken_runtime=trace`.
///
/// # Errors
/// If it cannot be parsed.
pub fn filter(text: &str) -> Result<EnvFilter, ParseError> {
    let text = if text.trim().is_empty() { DEFAULT } else { text };
    let mut filter = EnvFilter::builder().parse(text)?;
    for directive in BODIES_OFF {
        filter = filter.add_directive(directive.parse()?);
    }
    // An explicit filter for kube's client overrides this.
    if text.contains("kube_runtime") {
        Ok(filter)
    } else {
        Ok(filter.add_directive(KUBE_WATCHER_ERRORS.parse()?))
    }
}

#[cfg(test)]
mod tests {
    use super::filter;

    #[test]
    fn an_empty_filter_is_the_default() {
        assert!(filter("").unwrap().to_string().contains("info"));
    }

    #[test]
    fn retries_of_a_watch_are_logged_only_with_an_explicit_filter() {
        assert!(filter("").unwrap().to_string().contains("kube_runtime::watcher=error"));
        assert!(!filter("info,kube_runtime=trace").unwrap().to_string().contains("watcher=error"));
    }

    #[test]
    fn bodies_are_not_logged_with_any_filter() {
        for module in [
            "kube_client::client",
            "aws_smithy_runtime::client::orchestrator",
            "aws_smithy_runtime::client::orchestrator::http",
        ] {
            for text in [String::new(), "trace".to_owned(), format!("{module}=trace")] {
                let filter = filter(&text).unwrap().to_string();
                assert!(filter.contains(&format!("{module}=off")), "{filter}");
                assert!(!filter.contains(&format!("{module}=trace")), "{filter}");
            }
        }
    }
}
