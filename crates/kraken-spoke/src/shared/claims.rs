//! The resource that is about to adopt each remote object: if two resources adopt the same object, the second is
//! rejected while the owner tags may not be visible yet. One entry per candidate; no lock is held during a call.
//!
//! A claim ends with its resource: one that does not exist any more has released the object, or will never manage it.

use std::time::Duration;

use kraken_runtime::{hash::HashMap, watch::ObjectKey};
use parking_lot::Mutex;
use tokio::time::Instant;

/// The claims of one controller, by the candidate's id.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    of: Mutex<HashMap<String, Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// The resource that adopts the candidate.
    resource: Claimant,
    /// When the adoption ended; none while its call is in flight, however long that takes.
    ended: Option<Instant>,
}

/// A resource that adopts an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claimant {
    /// Its namespace and name.
    pub(crate) key: ObjectKey,
    /// Its UID.
    pub(crate) uid: String,
}

/// A claim of a candidate. The visibility window, in which no other resource can claim it, begins when this is dropped.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    claims: &'a Claims,
    id: String,
    resource: Claimant,
}

impl Claims {
    /// Claims a candidate for a resource, unless another one is adopting it, or did so less than `window` ago and still `exists`.
    pub(crate) fn take(
        &self,
        id: &str,
        resource: Claimant,
        window: Duration,
        exists: impl Fn(&Claimant) -> bool,
    ) -> Option<Claim<'_>> {
        let mut of = self.of.lock();
        of.retain(|_, entry| entry.ended.is_none_or(|ended| ended.elapsed() < window));
        let is_held = |entry: &Entry| {
            entry.resource.uid != resource.uid && (entry.ended.is_none() || exists(&entry.resource))
        };
        if of.get(id).is_some_and(is_held) {
            return None;
        }
        of.insert(id.to_owned(), Entry { resource: resource.clone(), ended: None });
        Some(Claim { claims: self, id: id.to_owned(), resource })
    }
}

impl Claim<'_> {
    /// Releases the claim at once: the candidate was not adopted.
    pub(crate) fn release(self) {
        self.claims.of.lock().retain(|id, entry| *id != self.id || entry.resource != self.resource);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut of = self.claims.of.lock();
        if let Some(entry) = of.get_mut(&self.id).filter(|entry| entry.resource == self.resource) {
            entry.ended = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(90);

    fn resource(uid: &str) -> Claimant {
        Claimant { key: ObjectKey::new("ns", uid), uid: uid.to_owned() }
    }

    fn take<'a>(claims: &'a Claims, id: &str, uid: &str) -> Option<Claim<'a>> {
        claims.take(id, resource(uid), WINDOW, |_| true)
    }

    fn takes(claims: &Claims, id: &str, uid: &str) -> bool {
        take(claims, id, uid).is_some()
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
        take(&claims, "i-1", "a").expect("no other claim").release();
        assert!(takes(&claims, "i-1", "b"));
        assert!(!takes(&claims, "i-1", "a"));
        tokio::time::advance(WINDOW).await;
        assert!(takes(&claims, "i-1", "a"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_visibility_window_begins_when_the_call_ends() {
        let claims = Claims::default();
        let call = take(&claims, "i-1", "a").expect("no other claim");
        tokio::time::advance(WINDOW * 2).await;
        assert!(!takes(&claims, "i-1", "b"), "the call is in flight");
        drop(call);
        tokio::time::advance(WINDOW / 2).await;
        assert!(!takes(&claims, "i-1", "b"), "the tags may not be visible yet");
        tokio::time::advance(WINDOW / 2).await;
        assert!(takes(&claims, "i-1", "b"));
    }

    #[tokio::test(start_paused = true)]
    async fn claim_ends_with_its_resource_unless_its_call_is_in_flight() {
        let claims = Claims::default();
        let call = take(&claims, "i-1", "a").expect("no other claim");
        let by_b = || claims.take("i-1", resource("b"), WINDOW, |other| *other != resource("a")).is_some();
        assert!(!by_b(), "its tags may still be set");
        drop(call);
        assert!(!takes(&claims, "i-1", "b"), "a exists");
        assert!(by_b());
    }
}
