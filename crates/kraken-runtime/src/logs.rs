//! Logging to stderr, as text or JSON.
//!
//! stdout is reserved for the output of subcommands (`crd`, `rbac`).

use std::io::{self, IsTerminal};

use tracing_subscriber::{
    EnvFilter,
    filter::ParseError,
    fmt,
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

use crate::args::{LogFormat, RunArgs};

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

/// Why logging could not be initialized.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter in `KRAKEN_LOG` or `RUST_LOG` cannot be parsed.
    #[error("failed to parse the log filter \"{text}\": {source}")]
    Filter {
        /// The text of the filter.
        text: String,
        /// The cause.
        source: ParseError,
    },
    /// Logging is initialized already.
    #[error("failed to start logging: {0}")]
    Start(#[from] TryInitError),
}

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

/// Starts logging for the process, and logs panics as errors.
///
/// # Errors
/// If the filter cannot be parsed, or logging is initialized already.
pub fn start(args: &RunArgs) -> Result<(), LogError> {
    let text = args.log_level.clone().or_else(|| std::env::var("RUST_LOG").ok()).unwrap_or_default();
    let filter = filter(&text).map_err(|source| LogError::Filter { text, source })?;
    let registry = tracing_subscriber::registry().with(filter);
    match args.log_format {
        LogFormat::Text => {
            let colours = io::stderr().is_terminal();
            registry.with(fmt::layer().with_writer(io::stderr).with_ansi(colours)).try_init()?;
        }
        LogFormat::Json => {
            registry.with(fmt::layer().json().flatten_event(true).with_writer(io::stderr)).try_init()?;
        }
    }
    log_panics();
    Ok(())
}

/// One line, because log collectors cannot join the lines of the standard hook. A message that was formatted at run
/// time may contain a value, so only literal messages are logged.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload().downcast_ref::<&'static str>().unwrap_or(&"");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        tracing::error!(place, text, thread = thread.name().unwrap_or("unnamed"), "panicked");
    }));
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
