//! The shortest sequence that still differs.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{difference::Difference, steps::Step};

/// How long it is worth trying.
const BUDGET: Duration = Duration::from_secs(15);

/// Removes all steps that are not necessary for the difference. `run` performs the steps on new servers.
///
/// # Errors
/// As `run`.
pub(super) async fn shortest(
    mut best: Difference,
    run: impl AsyncFn(&[Step]) -> Result<Option<Difference>>,
) -> Result<Difference> {
    let began = Instant::now();
    let mut size = best.steps.len() / 2;
    while size > 0 {
        let mut start = 0;
        // The last step is the one that differs.
        while start + 1 < best.steps.len() {
            if began.elapsed() > BUDGET {
                return Ok(best);
            }
            let end = (start + size).min(best.steps.len() - 1);
            let mut fewer = best.steps.clone();
            fewer.drain(start..end);
            let last = fewer.last().cloned();
            match run(&fewer).await? {
                Some(found) if found.steps.last() == last.as_ref() => best = found,
                _ => start = end,
            }
        }
        size /= 2;
    }
    Ok(best)
}
