//! Every log line of the controllers of one thread, searched for Secret values.

use std::fmt::{Debug, Write as _};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

use kraken_testing::canary::Canary;

/// The log lines that have a Secret's value in them.
pub(super) type Leaks = Arc<Mutex<Vec<String>>>;

/// Reads log lines at the level that the controllers log at by default.
struct Reader {
    canary: Canary,
    leaks: Leaks,
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{field}={value:?} "); // a String takes everything
    }
}

impl Reader {
    fn read(&self, text: String) {
        if self.canary.found(&text).is_some() {
            self.leaks.lock().push(text);
        }
    }
}

impl Subscriber for Reader {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut text = Text(String::new());
        span.record(&mut text);
        self.read(text.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut text = Text(String::new());
        values.record(&mut text);
        self.read(text.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.read(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Reads every log line of this thread from now on, until the guard is dropped.
pub(super) fn read() -> (Leaks, DefaultGuard) {
    let leaks = Leaks::default();
    let reader = Reader { canary: Canary::new(), leaks: leaks.clone() };
    (leaks, tracing::subscriber::set_default(reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_with_a_secret_value_is_detected() {
        let (leaks, guard) = read();
        tracing::info!(name = "web", "created");
        tracing::debug!("canary-password");
        assert!(leaks.lock().is_empty());
        tracing::warn!(message = "the provider refused canary-password");
        assert_eq!(leaks.lock().len(), 1);
        drop(guard);
        tracing::warn!("canary-password");
        assert_eq!(leaks.lock().len(), 1);
    }
}
