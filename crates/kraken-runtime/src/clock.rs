//! The time, in one place. Time spans are measured by [`Instant`], which a paused runtime moves; [`now`] is the time of day.
//!
//! A simulation says with [`simulate`] when its runtime began: from then on the time of day on its thread follows the runtime's
//! clock, and two runs of one simulation see the same times.

use std::cell::Cell;

use jiff::Timestamp;
pub use tokio::time::Instant;

thread_local! {
    static BEGINNING: Cell<Option<(Timestamp, Instant)>> = const { Cell::new(None) };
}

/// The time of day.
pub fn now() -> Timestamp {
    match BEGINNING.get() {
        // A simulation would have to run for thousands of years to overflow it.
        Some((time, since)) => time.checked_add(since.elapsed()).unwrap_or(time),
        None => Timestamp::now(),
    }
}

/// Makes it `time` now on this thread; from here on the time of day follows the clock of the runtime in which this is called.
pub fn simulate(time: Timestamp) -> Simulated {
    Simulated { before: BEGINNING.replace(Some((time, Instant::now()))) }
}

/// Whether the time of this thread is a simulation's.
pub fn is_simulated() -> bool {
    BEGINNING.get().is_some()
}

/// On drop, the time is what it was before.
#[derive(Debug)]
#[must_use = "the simulated time ends with it"]
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
