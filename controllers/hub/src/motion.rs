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

/// A namespace is at rest when nothing has moved in it for so long: resources take their time to publish a first state, and
/// on a busy machine several seconds for each step of a chain.
const REST: Duration = Duration::from_secs(10);
/// The same where only ConfigMaps and Secrets are missing: they come at once, or somebody has to make them.
const SHORT_REST: Duration = Duration::from_secs(3);
/// How long an answer is held back at most, counted from the request's creation.
const PATIENCE: Duration = Duration::from_secs(30);

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

    /// How long the answer to this request is held back for now: nothing is wrong, some objects are not there yet, the
    /// request is young, and its namespace moves.
    pub fn hold(&self, request: &DependencyRequest, unmet: &[Unmet], now: Timestamp) -> Option<Duration> {
        let rest = unmet.iter().map(rest_for).try_fold(Duration::ZERO, |most, one| Some(most.max(one?)))?;
        self.until_rest(&request.metadata, rest, now)
    }

    /// The same for an export that waits for values.
    pub fn hold_export(&self, export: &ObjectMeta, now: Timestamp) -> Option<Duration> {
        self.until_rest(export, REST, now)
    }

    fn until_rest(&self, meta: &ObjectMeta, rest: Duration, now: Timestamp) -> Option<Duration> {
        let last = *self.last.lock().get(meta.namespace.as_deref().unwrap_or_default())?;
        let left = rest.checked_sub(last.elapsed()).filter(|left| !left.is_zero())?;
        is_young(meta, now).then_some(left)
    }
}

/// How long to wait for an object that is not there; `None` if something else is wrong.
fn rest_for(unmet: &Unmet) -> Option<Duration> {
    let is = |reason: Reason| reason.as_str() == unmet.reason;
    if is(Reason::StateNotFound) {
        return Some(REST);
    }
    (is(Reason::ConfigMapNotFound) || is(Reason::SecretNotFound)).then_some(SHORT_REST)
}

/// Whether an object was created so recently that what it waits for may be on its way.
fn is_young(meta: &ObjectMeta, now: Timestamp) -> bool {
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
        request.metadata.namespace = Some("ns".into());
        request.metadata.creation_timestamp = Some(Time(Timestamp::from_second(created).unwrap()));
        request
    }

    #[test]
    fn a_young_request_waits_for_what_does_not_exist_yet_and_for_nothing_else() {
        let (motion, now) = (Motion::default(), Timestamp::from_second(1000).unwrap());
        motion.note("ns");
        let held = |created, unmet: &[Unmet]| motion.hold(&request(created), unmet, now);
        let (state, map) = (|| unmet(Reason::StateNotFound), || unmet(Reason::ConfigMapNotFound));
        assert!(held(990, &[state(), map()]).is_some_and(|left| left > SHORT_REST));
        assert!(held(990, &[map()]).is_some_and(|left| left <= SHORT_REST));
        assert_eq!(held(990, &[state(), unmet(Reason::KeyNotFound)]), None);
        assert_eq!(held(960, &[state()]), None);
        assert_eq!(held(990, &[]), None);
    }

    #[test]
    fn where_nothing_moves_nothing_is_held_back() {
        let (motion, now) = (Motion::default(), Timestamp::from_second(1000).unwrap());
        motion.note("other");
        assert_eq!(motion.hold(&request(990), &[unmet(Reason::StateNotFound)], now), None);
        assert_eq!(motion.hold_export(&request(990).metadata, now), None);
    }
}
