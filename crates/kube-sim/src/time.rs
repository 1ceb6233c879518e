//! Times as the API server writes them.

use jiff::Timestamp;

/// The clock of a server, for creation times and the like. Delays and timeouts are of tokio's clock.
pub type Clock = fn() -> Timestamp;

/// A time in whole seconds.
pub(super) fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
