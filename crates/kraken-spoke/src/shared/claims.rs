//! The resource that is about to adopt each remote object: if two resources adopt the same object, the second is
//! rejected while the owner tags may not be visible yet. One entry per candidate; no lock is held during a call.

use std::time::Duration;

use kraken_runtime::hash::HashMap;

use kraken_runtime::mutants::{self, Mutant};
use parking_lot::Mutex;
use tokio::time::Instant;

/// The claims of one controller.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// By the candidate's id: the UID of the resource that adopts it, and the time of the claim.
    of: Mutex<HashMap<String, (String, Instant)>>,
}

impl Claims {
    /// Claims a candidate for a resource, unless another one claimed it less than `window` ago.
    pub(crate) fn take(&self, id: &str, uid: &str, window: Duration) -> bool {
        if mutants::active(Mutant::ClaimIgnored) {
            return true;
        }
        let mut of = self.of.lock();
        of.retain(|_, (_, since)| since.elapsed() < window);
        let (holder, _) = of.entry(id.to_owned()).or_insert_with(|| (uid.to_owned(), Instant::now()));
        holder == uid
    }

    /// Releases a claim: the candidate was not adopted.
    pub(crate) fn release(&self, id: &str, uid: &str) {
        let mut of = self.of.lock();
        if of.get(id).is_some_and(|(holder, _)| holder == uid) {
            of.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(90);

    #[tokio::test(start_paused = true)]
    async fn only_one_of_two_resources_can_claim_an_object() {
        let claims = Claims::default();
        assert!(claims.take("i-1", "a", WINDOW));
        assert!(claims.take("i-1", "a", WINDOW));
        assert!(!claims.take("i-1", "b", WINDOW));
        assert!(claims.take("i-2", "b", WINDOW));
    }

    #[tokio::test(start_paused = true)]
    async fn claim_ends_when_released_or_after_the_visibility_window() {
        let claims = Claims::default();
        assert!(claims.take("i-1", "a", WINDOW));
        claims.release("i-1", "b");
        assert!(!claims.take("i-1", "b", WINDOW));
        claims.release("i-1", "a");
        assert!(claims.take("i-1", "b", WINDOW));
        tokio::time::advance(WINDOW).await;
        assert!(claims.take("i-1", "a", WINDOW));
    }
}
