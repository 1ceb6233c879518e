//! The only module that reads the clock. Durations are measured with [`Instant`], which follows a paused runtime;
//! [`now`] is the wall clock time.
//!
//! A simulation sets the start time of its runtime with [`simulate`]: from then on the wall clock time on its thread follows
//! the runtime's clock, so that repeated runs observe the same times.

use std::cell::Cell;

use jiff::Timestamp;
pub use tokio::time::Instant;

thread_local! {
    static BEGINNING: Cell<Option<(Timestamp, Instant)>> = const { Cell::new(None) };
}

/// The wall clock time.
pub fn now() -> Timestamp {
    match BEGINNING.get() {
        // Overflows only after thousands of years.
        Some((time, since)) => time.checked_add(since.elapsed()).unwrap_or(time),
        None => Timestamp::now(),
    }
}

/// Sets the wall clock of this thread to `time`; from then on it follows the clock of the runtime in which this is
/// called.
pub fn simulate(time: Timestamp) -> Simulated {
    Simulated { before: BEGINNING.replace(Some((time, Instant::now()))) }
}

/// Whether the clock of this thread is simulated.
pub fn is_simulated() -> bool {
    BEGINNING.get().is_some()
}

/// Restores the previous clock on drop.
#[derive(Debug)]
#[must_use = "dropping it ends the simulated time"]
pub struct Simulated {
    before: Option<(Timestamp, Instant)>,
}

impl Drop for Simulated {
    fn drop(&mut self) {
        BEGINNING.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn simulated_time_of_day_follows_the_paused_clock() {
        let beginning: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let simulated = simulate(beginning);
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(now().to_string(), "2026-01-01T01:00:00Z");
        drop(simulated);
        assert!(now() > beginning && !is_simulated());
    }
}
