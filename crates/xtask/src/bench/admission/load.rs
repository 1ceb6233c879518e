//! An open load: each review has a time at which it is sent, and its latency is measured from that time. A webhook that is slow
//! for a moment therefore delays the following reviews too, as it would delay users.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use hyper::body::Bytes;
use tokio::time::Instant;

use super::connection::Endpoint;
use super::reviews;

/// A rate for some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) rate: u32,
    pub(super) seconds: u32,
    pub(super) connections: u16,
}

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// In ascending order.
    latencies: Vec<Duration>,
    /// The reviews that were rejected, as they should be.
    pub(super) rejected: u64,
    /// The reviews without a valid answer or with the wrong one. They have no latency.
    pub(super) failed: u64,
}

impl Load {
    /// Sends all reviews.
    pub(super) async fn run(self, endpoint: &Endpoint) -> Result<Outcome> {
        let total = self.rate.checked_mul(self.seconds).context("too many reviews")?;
        let next = AtomicU32::new(0);
        let start = Instant::now() + Duration::from_millis(500);
        let workers = (0..self.connections).map(|_| self.worker(endpoint, &next, start, total));
        let mut outcome = Outcome::default();
        for part in try_join_all(workers).await? {
            outcome.latencies.extend(part.latencies);
            outcome.rejected += part.rejected;
            outcome.failed += part.failed;
        }
        outcome.latencies.sort();
        ensure!(!outcome.latencies.is_empty(), "{}: every review failed", endpoint.path);
        Ok(outcome)
    }

    /// One connection: it takes the next review, waits for its time, and sends it.
    async fn worker(
        self,
        endpoint: &Endpoint,
        next: &AtomicU32,
        start: Instant,
        total: u32,
    ) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let mut connection = endpoint.connect().await?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= total {
                return Ok(outcome);
            }
            let review = reviews::number(number);
            let body = Bytes::from(review.body.to_string());
            let scheduled = start + Duration::from_secs(1) * number / self.rate;
            tokio::time::sleep_until(scheduled).await;
            let answer = connection.allows(body).await;
            match answer {
                Ok(allowed) if allowed == review.is_valid => {
                    outcome.latencies.push(scheduled.elapsed());
                    outcome.rejected += u64::from(!allowed);
                }
                Ok(_) => outcome.failed += 1,
                Err(_) => {
                    outcome.failed += 1;
                    connection = endpoint.connect().await?;
                }
            }
        }
    }
}

impl Outcome {
    /// The number of reviews, with and without an answer.
    pub(super) fn sent(&self) -> u64 {
        self.latencies.len() as u64 + self.failed
    }

    /// The latency that this percentage of the answers did not exceed, in milliseconds.
    pub(super) fn milliseconds(&self, percent: usize) -> f64 {
        let rank = (self.latencies.len() * percent).div_ceil(100).max(1);
        let latency = self.latencies.get(rank - 1).or(self.latencies.last());
        latency.map_or(0.0, |latency| latency.as_secs_f64() * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_is_the_latency_that_so_many_do_not_exceed() {
        let latencies = (1..=200).map(Duration::from_millis).collect();
        let outcome = Outcome { latencies, rejected: 0, failed: 1 };
        let at = |percent| outcome.milliseconds(percent).round();
        assert_eq!((at(50), at(99), at(100)), (100.0, 198.0, 200.0));
        assert_eq!(outcome.sent(), 201);
        let one = Outcome { latencies: vec![Duration::from_millis(7)], rejected: 0, failed: 0 };
        assert_eq!(format!("{:.1}", one.milliseconds(50)), "7.0");
    }
}
