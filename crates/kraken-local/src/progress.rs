//! Progress lines on stderr for work that can take minutes.

use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(10);

/// Runs `work`, reporting on stderr its start, its progress every 10 seconds, and its result.
///
/// # Errors
/// Whatever `work` returns.
pub async fn step<T>(what: &str, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let started = Instant::now();
    eprintln!("{what} ...");
    let result = while_running(what, work).await;
    let outcome = if result.is_ok() { "done" } else { "FAILED" };
    eprintln!("{what}: {outcome} after {:.1} s", started.elapsed().as_secs_f64());
    result
}

/// Runs `work`, reporting only its progress, every 10 seconds: nothing if it is shorter.
///
/// # Errors
/// Whatever `work` returns.
pub async fn while_running<T>(
    what: &str,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let started = Instant::now();
    let mut work = std::pin::pin!(work);
    let mut tick = tokio::time::interval(EVERY);
    tick.tick().await; // the first tick is immediate
    loop {
        tokio::select! {
            result = &mut work => return result,
            _ = tick.tick() => eprintln!("{what}: {} s so far", started.elapsed().as_secs()),
        }
    }
}
