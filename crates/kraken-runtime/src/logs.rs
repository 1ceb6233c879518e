//! Log lines: to stderr, as text for people or JSON for machines.
//!
//! stdout belongs to what a subcommand prints (`crd`, `rbac`).

use std::io::{self, IsTerminal};

use tracing_subscriber::{
    EnvFilter,
    filter::ParseError,
    fmt,
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

use crate::args::{LogFormat, RunArgs};

/// What is logged when nobody says.
const DEFAULT: &str = "info";

/// kube's client logs each failed request a second time, and the whole body of an object that does not
/// decode, which may be a Secret. Whoever made the request logs what its failure means, without the body.
const KUBE_CLIENT_OFF: &str = "kube_client::client=off";

/// kube's watcher warns of each refused attempt. Our watches warn once per outage, with the kind.
const KUBE_WATCHER_ERRORS: &str = "kube_runtime::watcher=error";

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter of `KRAKEN_LOG` or `RUST_LOG` cannot be read.
    #[error("failed to read the log filter \"{text}\": {source}")]
    Filter {
        /// What was read.
        text: String,
        /// What is wrong with it.
        source: ParseError,
    },
    /// Something in this process logs already.
    #[error("failed to start logging: {0}")]
    Start(#[from] TryInitError),
}

/// Reads a filter such as `debug` or `info,kraken_runtime=trace`.
///
/// # Errors
/// When it cannot be read.
pub fn filter(text: &str) -> Result<EnvFilter, ParseError> {
    let text = if text.trim().is_empty() { DEFAULT } else { text };
    let filter = EnvFilter::builder().parse(text)?.add_directive(KUBE_CLIENT_OFF.parse()?);
    // Who asks for its lines by name gets them.
    if text.contains("kube_runtime") {
        Ok(filter)
    } else {
        Ok(filter.add_directive(KUBE_WATCHER_ERRORS.parse()?))
    }
}

/// Starts logging for the process, and logs panics as errors.
///
/// # Errors
/// When the filter cannot be read, or something logs already.
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

/// One line, where the standard hook prints several that no log collector keeps together. A message that was
/// put together at run time may hold a value, so only a literal one is logged.
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
    fn a_watch_that_is_retried_does_not_fill_the_log_unless_asked_to() {
        assert!(filter("").unwrap().to_string().contains("kube_runtime::watcher=error"));
        assert!(!filter("info,kube_runtime=trace").unwrap().to_string().contains("watcher=error"));
    }

    #[test]
    fn bodies_are_never_logged_whatever_the_filter() {
        for text in ["", "trace", "kube_client::client=trace"] {
            let filter = filter(text).unwrap().to_string();
            assert!(filter.contains("kube_client::client=off"), "{filter}");
            assert!(!filter.contains("kube_client::client=trace"), "{filter}");
        }
    }
}
