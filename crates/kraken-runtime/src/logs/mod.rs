//! Logging to stderr, as text or JSON.
//!
//! stdout is reserved for the output of subcommands (`crd`, `rbac`).

mod filter;

use std::io::{self, IsTerminal};

use tracing_subscriber::{
    filter::ParseError,
    fmt,
    layer::SubscriberExt,
    util::{SubscriberInitExt, TryInitError},
};

use crate::args::{LogFormat, RunArgs};

pub use filter::filter;

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
