//! The time since the user entered the command, with the compilation of this program in it.
//!
//! `cargo run` does not start the program that it has built but becomes it (`exec`), and the kernel keeps the time at which the
//! process started.

use std::fs;
use std::time::{Duration, Instant};

/// Clock ticks per second in files of `/proc`: the same on all architectures that Kraken's tools run on.
const TICKS: u64 = 100;
/// The fields of `/proc/self/stat` from the state of the process to the one before its start.
const FIELDS_BEFORE_START: usize = 19;

/// When the command was entered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandStart {
    /// Before this program began.
    compiling: Duration,
    began: Instant,
}

impl CommandStart {
    /// To be called first. Without `/proc`, the command was entered when this program began.
    pub(crate) fn read() -> Self {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        let age = age(&text("/proc/self/stat"), &text("/proc/uptime"));
        Self { compiling: age.unwrap_or_default(), began: Instant::now() }
    }

    /// The time since then, as text: `1.9 s` or `6 min 12 s`.
    pub(crate) fn ago(self) -> String {
        text(self.compiling + self.began.elapsed())
    }
}

/// The age of a process, from its `stat` and the machine's `uptime`.
fn age(stat: &str, uptime: &str) -> Option<Duration> {
    // The second field is the name in parentheses, which can contain spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let start: u64 = fields.split_whitespace().nth(FIELDS_BEFORE_START)?.parse().ok()?;
    let start = Duration::from_millis(start.checked_mul(1000)? / TICKS);
    let uptime = uptime.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(uptime).ok()?.checked_sub(start)
}

fn text(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "42 (a ) b) R 1 42 42 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 5000 1000 200";

    #[test]
    fn age_is_the_uptime_minus_the_start() {
        assert_eq!(age(STAT, "60.50 100.00\n"), Some(Duration::from_millis(10_500)));
    }

    #[test]
    fn age_is_unknown_if_the_files_are_absent_or_of_different_clocks() {
        assert_eq!(age("", ""), None);
        assert_eq!(age(STAT, "10.00 1.00"), None, "the uptime of a container");
    }

    #[test]
    fn minutes_are_separate() {
        assert_eq!(text(Duration::from_millis(1_940)), "1.9 s");
        assert_eq!(text(Duration::from_secs(372)), "6 min 12 s");
    }
}
