//! The API type of an interval: `30s`, `5m`, `1h30m`, or `0` for "disabled".

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum interval: one year of 365 days.
pub const MAX_INTERVAL: Duration = Duration::from_hours(365 * 24);

/// An interval such as `5m`. `0` disables the periodic action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Interval(
    #[schemars(length(min = 1, max = 32), regex(pattern = r"^(0|([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+)$"))] String,
);

impl Interval {
    /// The duration, `None` if disabled.
    ///
    /// # Errors
    /// A message for the user if the text is not a duration, is negative, or exceeds a year.
    pub fn duration(&self) -> Result<Option<Duration>, String> {
        parse(&self.0)
    }
}

impl From<&str> for Interval {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Parses `5m`, `1h30m` or `0`; `None` means disabled.
///
/// # Errors
/// A message for the user if the text is not a duration, is negative, or exceeds a year.
pub fn parse(text: &str) -> Result<Option<Duration>, String> {
    let text = text.trim();
    if text == "0" {
        return Ok(None);
    }
    let duration = humantime::parse_duration(text)
        .map_err(|_| format!("\"{text}\" is not a duration; write it like 30s, 5m or 1h30m, or 0 for off"))?;
    if duration > MAX_INTERVAL {
        return Err(format!("\"{text}\" is longer than a year; write 0 to turn it off"));
    }
    Ok((!duration.is_zero()).then_some(duration))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;

    #[test]
    fn durations_and_zero_are_parsed() {
        assert_eq!(parse("5m"), Ok(Some(Duration::from_mins(5))));
        assert_eq!(parse("1h30m"), Ok(Some(Duration::from_mins(90))));
        assert_eq!(parse("0"), Ok(None));
        assert_eq!(parse("0s"), Ok(None));
    }

    #[test]
    fn an_invalid_duration_is_rejected_with_an_example() {
        for bad in ["-1s", "banana", "", "100y", "876000h"] {
            assert!(parse(bad).is_err_and(|message| message.contains('0')), "{bad}");
        }
    }
}
