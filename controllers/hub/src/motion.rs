//! Whether a namespace is in motion: resources appear or publish their first state. What is missing then is most likely
//! on its way, and to say so of each step of a chain would cost more writes than the chain itself.
//!
//! Who waits only for objects that do not exist yet is therefore answered when they do, or when the namespace has come to
//! rest.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use kraken_api::{DependencyRequest, dependency_request::Unmet, reasons::DependencyReason as Reason};
use kube::api::ObjectMeta;
use parking_lot::Mutex;

/// A namespace is at rest when nothing has moved in it for so long.
const REST: Duration = Duration::from_secs(3);
/// How long an answer is held back at most, counted from the request's creation.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a request that is held back is looked at again.
pub const LOOK: Duration = Duration::from_secs(1);

/// When something last moved, by namespace.
#[derive(Debug, Default)]
pub struct Motion {
    last: Mutex<HashMap<String, Instant>>,
}

impl Motion {
    /// Something moved.
    pub fn note(&self, namespace: &str) {
        let mut last = self.last.lock();
        // Namespaces at rest need no entry.
        if !last.contains_key(namespace) {
            last.retain(|_, at| at.elapsed() < REST);
        }
        last.insert(namespace.to_owned(), Instant::now());
    }

    /// Whether it moves still.
    pub fn is_on(&self, namespace: &str) -> bool {
        self.last.lock().get(namespace).is_some_and(|at| at.elapsed() < REST)
    }
}

/// Whether an answer is worth holding back: nothing is wrong, some objects are not there yet, and the request is young.
pub fn may_wait(request: &DependencyRequest, unmet: &[Unmet], now: Timestamp) -> bool {
    const ABSENT: [Reason; 3] = [Reason::StateNotFound, Reason::ConfigMapNotFound, Reason::SecretNotFound];
    let is_absent = |unmet: &Unmet| ABSENT.iter().any(|reason| reason.as_str() == unmet.reason);
    is_young(&request.metadata, now) && !unmet.is_empty() && unmet.iter().all(is_absent)
}

/// Whether an object was created so recently that what it waits for may be on its way.
pub fn is_young(meta: &ObjectMeta, now: Timestamp) -> bool {
    meta.creation_timestamp.as_ref().is_some_and(|created| {
        let age = now.as_millisecond().saturating_sub(created.0.as_millisecond());
        // A clock that is behind only makes it younger.
        age < i64::try_from(PATIENCE.as_millis()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use kraken_api::DependencyRequestSpec;
    use kraken_options::{Dependency, KeyRef};

    use super::*;

    fn unmet(reason: Reason) -> Unmet {
        let dependency = Dependency::ConfigMap(KeyRef { name: "a".into(), key: "b".into() });
        Unmet::new(&dependency, reason, String::new())
    }

    fn request(created: i64) -> DependencyRequest {
        let mut request = DependencyRequest::new("a", DependencyRequestSpec::default());
        request.metadata.creation_timestamp = Some(Time(Timestamp::from_second(created).unwrap()));
        request
    }

    #[test]
    fn a_young_request_may_wait_for_what_does_not_exist_yet_and_for_nothing_else() {
        let now = Timestamp::from_second(1000).unwrap();
        let state = || unmet(Reason::StateNotFound);
        assert!(may_wait(&request(990), &[state(), unmet(Reason::ConfigMapNotFound)], now));
        assert!(!may_wait(&request(990), &[state(), unmet(Reason::KeyNotFound)], now));
        assert!(!may_wait(&request(960), &[state()], now));
        assert!(!may_wait(&request(990), &[], now));
    }

    #[test]
    fn a_namespace_where_nothing_moved_is_at_rest() {
        let motion = Motion::default();
        assert!(!motion.is_on("ns"));
        motion.note("ns");
        assert!(motion.is_on("ns"));
        assert!(!motion.is_on("other"));
    }
}
