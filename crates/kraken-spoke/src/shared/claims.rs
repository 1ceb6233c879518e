//! The resource that is about to adopt each remote object: if two resources adopt the same object, the second is
//! rejected while the owner tags may not be visible yet. One entry per candidate; no lock is held during a call.

use std::time::Duration;

use kraken_runtime::hash::HashMap;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The claims of one controller, by the candidate's id.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    of: Mutex<HashMap<String, Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// The UID of the resource that adopts the candidate.
    uid: String,
    /// When the adoption ended; none while its call is in flight, however long that takes.
    ended: Option<Instant>,
}

/// A claim of a candidate. The visibility window, in which no other resource can claim it, begins when this is dropped.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    claims: &'a Claims,
    id: String,
    uid: String,
}

impl Claims {
    /// Claims a candidate for a resource, unless another one is adopting it or did so less than `window` ago.
    pub(crate) fn take(&self, id: &str, uid: &str, window: Duration) -> Option<Claim<'_>> {
        let mut of = self.of.lock();
        of.retain(|_, entry| entry.ended.is_none_or(|ended| ended.elapsed() < window));
        if of.get(id).is_some_and(|entry| entry.uid != uid) {
            return None;
        }
        of.insert(id.to_owned(), Entry { uid: uid.to_owned(), ended: None });
        Some(Claim { claims: self, id: id.to_owned(), uid: uid.to_owned() })
    }
}

impl Claim<'_> {
    /// Releases the claim at once: the candidate was not adopted.
    pub(crate) fn release(self) {
        self.claims.of.lock().retain(|id, entry| *id != self.id || entry.uid != self.uid);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.claims.of.lock().get_mut(&self.id).filter(|entry| entry.uid == self.uid) {
            entry.ended = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(90);

    fn takes(claims: &Claims, id: &str, uid: &str) -> bool {
        claims.take(id, uid, WINDOW).is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn only_one_of_two_resources_can_claim_an_object() {
        let claims = Claims::default();
        assert!(takes(&claims, "i-1", "a"));
        assert!(takes(&claims, "i-1", "a"));
        assert!(!takes(&claims, "i-1", "b"));
        assert!(takes(&claims, "i-2", "b"));
    }

    #[tokio::test(start_paused = true)]
    async fn claim_ends_when_released_or_after_the_visibility_window() {
        let claims = Claims::default();
        claims.take("i-1", "a", WINDOW).expect("no other claim").release();
        assert!(takes(&claims, "i-1", "b"));
        assert!(!takes(&claims, "i-1", "a"));
        tokio::time::advance(WINDOW).await;
        assert!(takes(&claims, "i-1", "a"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_visibility_window_begins_when_the_call_ends() {
        let claims = Claims::default();
        let call = claims.take("i-1", "a", WINDOW).expect("no other claim");
        tokio::time::advance(WINDOW * 2).await;
        assert!(!takes(&claims, "i-1", "b"), "the call is in flight");
        drop(call);
        tokio::time::advance(WINDOW / 2).await;
        assert!(!takes(&claims, "i-1", "b"), "the tags may not be visible yet");
        tokio::time::advance(WINDOW / 2).await;
        assert!(takes(&claims, "i-1", "b"));
    }
}
