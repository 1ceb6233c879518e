//! The rules of the fields of a log group. Pure.

use kraken_aws::rules::{ValidationResult, ensure};

/// What AWS accepts, besides 0 for ever.
const DAYS: [i32; 22] = [
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1_096, 1_827, 2_192, 2_557, 2_922, 3_288,
    3_653,
];

/// The rule of `retentionDays`.
pub(super) fn retention(days: &i32) -> ValidationResult {
    ensure(*days == 0 || DAYS.contains(days), || {
        let listed: Vec<String> = DAYS.iter().map(ToString::to_string).collect();
        format!("must be 0 for ever, or one of {}", listed.join(", "))
    })
}
