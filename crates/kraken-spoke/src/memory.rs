//! What the controller keeps in memory of a resource between two reconciles. All of it can be lost at any time: it
//! saves calls and writes, and compensates for the lag of caches and of the provider's reads, but correctness does not
//! depend on it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use kraken_runtime::hash::HashMap;

use jiff::Timestamp;
use kraken_runtime::{
    mutants::{self, Mutant},
    watch::{self, ObjectKey},
};
use kube::Resource;
use parking_lot::Mutex;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use crate::{
    FailureClass,
    dynamic::Object,
    intent::{Clock, Intent},
    outcome::Outcome,
    steps::unchanged::Unchanged,
};

/// How long an object that was visible must be missing from responses before it is treated as deleted. An object that
/// the provider returns as deleted is treated so at once.
pub(crate) const CONFIRMED_AFTER: Duration = Duration::from_secs(10);

/// The in-memory record of one resource.
#[derive(Debug)]
pub(crate) struct Memory<K = Object> {
    /// The object from the API server's response to the last write of this controller; the watch may not have caught up
    /// with it.
    pub latest: Option<Arc<K>>,
    /// The version of the object that the watch returned last.
    pub watched: Option<u128>,
    /// The intent that this process read or wrote last: a client may remove the annotation.
    pub intent: Option<Intent>,
    /// The epoch that this process saw confirmed, and the ids that it created.
    pub created: Option<(i64, Vec<String>)>,
    /// The epoch under which nothing was created, according to the provider: this process persisted it, and every call
    /// since was rejected. One rejected call proves nothing about another one without a response.
    pub refused: Option<i64>,
    /// When the last create call was made, or else when this process first knew the resource.
    pub asked: Timestamp,
    /// The epoch whose token cannot be used again.
    pub spent: Option<i64>,
    /// The highest epoch of the objects whose deletion was requested. From then on new dependents do not block the
    /// deletion, and an empty response means that the objects are deleted.
    pub deleted: Option<i64>,
    /// The ids that a search by tag found when the deletion started. A search may list the whole account, so a deletion
    /// in progress searches again only before the finalizer is removed.
    pub found: Option<Vec<String>>,
    /// The last change, and how many times in a row it was made without effect.
    pub changed: Option<Changed>,
    /// Whether a change was made because of an edit that is not in place yet: reverting it is an edit too.
    pub edit_under_way: bool,
    /// The values of fields that are applied only at creation, as digests, of the objects created last.
    pub at_creation: Option<BTreeMap<String, String>>,
    /// How many times in a row the provider rejected an operation as not possible yet.
    pub refusals: u32,
    /// When the next deep resync of this resource is due.
    pub deep_due: Option<Instant>,
    /// The ids whose deletion this process requested: they are expected to be missing from responses.
    pub deleted_ids: Vec<String>,
    /// The ids that this process released: the resource does not own them any more.
    pub released_ids: Vec<String>,
    /// The recorded ids that are missing from responses although their deletion was not requested, and since when.
    pub missing: BTreeMap<String, Instant>,
    /// Whether the next observation searches by tag from the start, because the last one had to.
    pub searching: bool,
    /// The launch that the provider rejects because its token or its name is in use.
    pub token_used: Option<TokenUsed>,
    /// The ids that were retagged last, when, and how many times in a row.
    pub claimed: Option<Claimed>,
    /// The last reconcile, if it found everything in place and the resource refers to Secrets.
    pub unchanged: Option<Arc<Unchanged>>,
    /// Since when the resource has been in progress without a status write.
    pub in_progress: Option<Progress>,
    /// Every secret text that was resolved for the resource, the newest last: the provider may still quote an old one.
    pub secrets: Vec<SecretString>,
}

/// A launch that the provider rejects because its token or its name is in use: it was not made, so a search by tag
/// finds nothing new unless an earlier call of the same launch becomes visible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenUsed {
    pub epoch: i64,
    /// When it was last searched for since then, and how many times.
    searched: Option<(Instant, u32)>,
}

impl TokenUsed {
    /// Whether another search is due: after 10, 20, 40 s and so on, at most ten minutes. A search may list all objects
    /// of a kind in the account.
    pub(crate) fn is_search_due(&self) -> bool {
        const FIRST: Duration = Duration::from_secs(10);
        const LONGEST: Duration = Duration::from_mins(10);
        self.searched.is_none_or(|(at, times)| {
            at.elapsed() >= FIRST.saturating_mul(1 << times.saturating_sub(1).min(16)).min(LONGEST)
        })
    }
}

/// A change in place that the provider accepted.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// The field with its old and its new value.
    pub what: String,
    /// How many times in a row it was made.
    pub times: u32,
    /// When it was made last.
    pub at: Instant,
}

impl Changed {
    /// How long the provider may return the old value after the change before the change is repeated.
    pub(crate) fn delay(&self) -> Duration {
        Duration::from_secs(1 << self.times.saturating_sub(1).min(6))
    }
}

/// A claim of objects whose tags were missing. Tags may become visible with a delay.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    pub ids: Vec<String>,
    pub at: Instant,
    pub times: u32,
}

impl Claimed {
    /// Whether it is too early to claim these again: the delay doubles each time.
    pub(crate) fn is_recent(&self, ids: &[String]) -> bool {
        const LONGEST: u32 = 6;
        self.ids == ids && self.at.elapsed() < Duration::from_secs(1 << self.times.min(LONGEST))
    }
}

/// Progress that was not reported yet. Waiting for the hub is distinguished from other progress: after a long wait for
/// the hub, the operation may still complete quickly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    since: Instant,
    /// How long it need not be reported.
    grace: Duration,
    /// Whether the resource waits for the hub.
    for_hub: bool,
}

impl Progress {
    pub(crate) fn begin(grace: Duration, for_hub: bool) -> Self {
        Self { since: Instant::now(), grace, for_hub }
    }

    /// Whether it may complete before it needs to be reported.
    pub(crate) fn is_fresh(&self) -> bool {
        self.since.elapsed() < self.grace
    }
}

impl<K> Default for Memory<K> {
    fn default() -> Self {
        Self {
            latest: None,
            watched: None,
            intent: None,
            created: None,
            refused: None,
            asked: kraken_runtime::clock::now(),
            spent: None,
            deleted: None,
            found: None,
            deleted_ids: vec![],
            released_ids: vec![],
            missing: BTreeMap::new(),
            searching: false,
            token_used: None,
            claimed: None,
            changed: None,
            edit_under_way: false,
            at_creation: None,
            refusals: 0,
            deep_due: None,
            unchanged: None,
            in_progress: None,
            secrets: vec![],
        }
    }
}

impl<K> Memory<K> {
    /// Tracks the recorded ids that the last observation did not return, and returns whether one of them has been
    /// missing for less than [`CONFIRMED_AFTER`]: a single response may come from a replica that lags.
    pub(crate) fn is_vanishing(&mut self, ids: &[String]) -> bool {
        self.missing.retain(|id, _| ids.contains(id));
        for id in ids {
            self.missing.entry(id.clone()).or_insert_with(Instant::now);
        }
        self.missing.values().any(|since| since.elapsed() < CONFIRMED_AFTER)
            && !mutants::active(Mutant::VanishedBelieved)
    }

    /// Records the result of a create call under this epoch, `answer` containing the ids that it created.
    pub(crate) fn answered(&mut self, epoch: i64, answer: Result<Vec<String>, FailureClass>) {
        self.asked = kraken_runtime::clock::now();
        let in_use = self.token_used.take().filter(|in_use| in_use.epoch == epoch);
        if matches!(answer, Err(FailureClass::TokenUsed)) {
            self.token_used = Some(in_use.unwrap_or(TokenUsed { epoch, searched: None }));
        }
        match answer {
            Ok(ids) => {
                self.created = Some((epoch, ids));
                self.refused = None;
            }
            Err(FailureClass::TokenSpent) => self.spent = Some(epoch),
            // The provider states that this call created nothing.
            Err(
                FailureClass::Terminal
                | FailureClass::Throttled
                | FailureClass::Credentials
                | FailureClass::NotConfigured
                | FailureClass::NotYet
                | FailureClass::Protected,
            ) => {}
            Err(_) if mutants::active(Mutant::LostAnswerIsRefusal) => {}
            Err(FailureClass::Transient | FailureClass::TokenUsed) => {
                self.refused = None;
            }
        }
    }

    /// Whether the launch of this epoch was recently rejected as in use, and a search found no object.
    pub(crate) fn is_known_in_use(&self, epoch: Option<i64>) -> bool {
        self.token_used.is_some_and(|in_use| Some(in_use.epoch) == epoch && !in_use.is_search_due())
    }

    /// Records that a search by tag was made.
    pub(crate) fn searched(&mut self) {
        if let Some(in_use) = &mut self.token_used {
            let times = in_use.searched.map_or(0, |(_, times)| times);
            in_use.searched = Some((Instant::now(), times.saturating_add(1)));
        }
    }

    /// Whether an operation is in progress that the next reconcile must continue.
    pub(crate) fn is_busy(&self) -> bool {
        self.edit_under_way
            || self.changed.is_some()
            || self.searching
            || self.token_used.is_some()
            || self.in_progress.is_some()
    }

    /// Adds the resolved secrets to the known ones, without duplicates.
    pub(crate) fn learn_secrets(&mut self, secrets: Vec<SecretString>) {
        const KEPT: usize = 256;
        for secret in secrets {
            self.secrets.retain(|known| known.expose_secret() != secret.expose_secret());
            self.secrets.push(secret);
        }
        let surplus = self.secrets.len().saturating_sub(KEPT);
        self.secrets.drain(..surplus);
    }

    /// Records that the deletion of these was requested.
    pub(crate) fn deleting(&mut self, ids: &[String]) {
        self.deleted_ids
            .extend(ids.iter().filter(|id| !self.deleted_ids.contains(id)).cloned().collect::<Vec<_>>());
    }

    /// Records that the resource does not own these any more.
    pub(crate) fn released(&mut self, ids: &[String]) {
        self.released_ids.extend(ids.iter().cloned());
        if let Some((_, created)) = &mut self.created {
            created.retain(|id| !ids.contains(id));
        }
    }

    /// Forgets ids that were created and do not exist any more according to an observation by id and by tag.
    pub(crate) fn forget_ids(&mut self, gone: &[String]) {
        if let Some((_, created)) = &mut self.created {
            created.retain(|id| !gone.contains(id));
        }
        self.deleted_ids.retain(|id| !gone.contains(id));
    }

    /// The reference for the age of a launch.
    pub(crate) fn clock(&self, window: Duration) -> Clock {
        Clock { now: kraken_runtime::clock::now(), asked: self.asked, window }
    }

    /// Continues or starts progress with this grace period. `for_hub`: the resource waits for the hub.
    pub(crate) fn progress(&mut self, grace: Duration, for_hub: bool) -> Progress {
        let is_same = |progress: &Progress| progress.grace == grace && progress.for_hub == for_hub;
        let going_on = self.in_progress.filter(is_same);
        *self.in_progress.insert(going_on.unwrap_or_else(|| Progress::begin(grace, for_hub)))
    }

    /// Whether a deep resync of this resource is due. The time of the first one after a restart depends on the UID, so
    /// that the deep resyncs of many resources are spread over the interval.
    pub(crate) fn is_deep_due(&mut self, interval: Duration, uid: &str) -> bool {
        if interval.is_zero() {
            return false;
        }
        let share =
            uid.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 1000;
        let first = || Instant::now() + interval.saturating_mul(share) / 1000;
        *self.deep_due.get_or_insert_with(first) <= Instant::now()
    }

    /// Records a deep resync.
    pub(crate) fn observed_deeply(&mut self, interval: Duration) {
        self.deep_due = Some(Instant::now() + interval);
    }

    /// How many times in a row the provider rejected an operation as not possible yet, including this outcome.
    pub(crate) fn count_refusals(&mut self, outcome: &Outcome) -> u32 {
        self.refusals = if outcome.is_not_yet() { self.refusals.saturating_add(1) } else { 0 };
        self.refusals
    }
}

impl<K: Resource> Memory<K> {
    /// Drops this controller's copy when the watch has caught up with it, to save memory.
    pub(crate) fn caught_up(&mut self, watched: &Arc<K>) {
        let shown = version(&**watched);
        if shown < self.watched {
            // A backup was restored: what was written after the backup does not exist any more.
            self.latest = None;
        }
        self.watched = shown;
        if self.latest.as_ref().is_some_and(|ours| version(&**ours) <= version(&**watched))
            && !mutants::active(Mutant::StaleCopy)
        {
            self.latest = None;
        }
    }

    /// The latest known copy of an object: from the watch, or from the response to a later write of this controller.
    pub(crate) fn newest(&self, watched: Arc<K>) -> Arc<K> {
        match &self.latest {
            Some(ours)
                if ours.meta().uid == watched.meta().uid
                    && (version(&**ours) > version(&*watched) || mutants::active(Mutant::StaleCopy)) =>
            {
                ours.clone()
            }
            _ => watched,
        }
    }
}

fn version(object: &impl Resource) -> Option<u128> {
    watch::version(object.meta())
}

/// The in-memory records of all resources of one kind.
#[derive(Debug)]
pub(crate) struct Memories<K = Object> {
    of: Mutex<HashMap<ObjectKey, (String, Memory<K>)>>,
}

impl<K> Default for Memories<K> {
    fn default() -> Self {
        Self { of: Mutex::new(HashMap::default()) }
    }
}

impl<K> Memories<K> {
    /// Takes the record of this resource. If a reconcile does not put it back, it is lost, which is safe. The record of
    /// an earlier object of the same name (another UID) is dropped.
    pub(crate) fn take(&self, key: &ObjectKey, uid: &str) -> Memory<K> {
        match self.of.lock().remove(key) {
            Some((of, memory)) if of == uid => memory,
            _ => Memory::default(),
        }
    }

    /// Keeps it for the next reconcile.
    pub(crate) fn put(&self, key: ObjectKey, uid: String, memory: Memory<K>) {
        self.of.lock().insert(key, (uid, memory));
    }

    /// Forgets a deleted resource.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.of.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::ObjectMeta;

    use super::*;
    use crate::outcome::{GRACE, HUB_GRACE};

    fn object(uid: &str, version: &str) -> Arc<ConfigMap> {
        Arc::new(ConfigMap {
            metadata: ObjectMeta {
                uid: Some(uid.into()),
                resource_version: Some(version.into()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        })
    }

    #[test]
    fn copy_written_after_a_backup_is_dropped_when_the_backup_is_restored() {
        let mut memory = Memory::<ConfigMap>::default();
        memory.caught_up(&object("u", "7"));
        memory.latest = Some(object("u", "9"));
        memory.caught_up(&object("u", "7"));
        assert_eq!(version(&*memory.newest(object("u", "7"))), Some(9), "the watch lags behind");
        memory.caught_up(&object("u", "5"));
        assert_eq!(version(&*memory.newest(object("u", "5"))), Some(5));
    }

    #[test]
    fn rejected_call_does_not_settle_another_call_without_response() {
        let persisted = || Memory::<ConfigMap> { refused: Some(1), ..Memory::default() };
        let mut memory = persisted();
        memory.answered(1, Err(FailureClass::Throttled));
        memory.answered(1, Err(FailureClass::NotYet));
        assert_eq!(memory.refused, Some(1));
        memory.answered(1, Err(FailureClass::Transient));
        memory.answered(1, Err(FailureClass::Throttled));
        assert_eq!(memory.refused, None);
        let mut after_a_restart = Memory::<ConfigMap>::default();
        after_a_restart.answered(1, Err(FailureClass::Throttled));
        assert_eq!(after_a_restart.refused, None);
        let mut memory = persisted();
        memory.answered(1, Ok(vec!["i-1".into()]));
        assert_eq!((memory.refused, memory.created), (None, Some((1, vec!["i-1".into()]))));
    }

    #[tokio::test(start_paused = true)]
    async fn id_counts_as_deleted_only_after_it_was_missing_without_interruption() {
        let ids = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let mut memory = Memory::<ConfigMap>::default();
        assert!(memory.is_vanishing(&ids(&["vpc-1"])));
        tokio::time::advance(CONFIRMED_AFTER / 2).await;
        assert!(memory.is_vanishing(&ids(&["vpc-1", "vpc-2"])));
        tokio::time::advance(CONFIRMED_AFTER / 2).await;
        assert!(memory.is_vanishing(&ids(&["vpc-1", "vpc-2"])), "the second not yet");
        assert!(!memory.is_vanishing(&ids(&["vpc-1"])));
        assert!(!memory.is_vanishing(&[]));
        assert!(memory.is_vanishing(&ids(&["vpc-1"])), "it was visible in between");
    }

    #[tokio::test(start_paused = true)]
    async fn launch_in_use_is_searched_for_with_backoff() {
        let mut memory = Memory::<ConfigMap>::default();
        memory.answered(1, Err(FailureClass::TokenUsed));
        let mut searches = vec![];
        for second in 0..3600 {
            if !memory.is_known_in_use(Some(1)) {
                searches.push(second);
                memory.searched();
            }
            memory.answered(1, Err(FailureClass::TokenUsed));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(searches[..6], [0, 10, 30, 70, 150, 310]);
        assert_eq!(searches.len(), 11, "{searches:?}");
        assert!(!memory.is_known_in_use(Some(2)), "another launch");
        memory.answered(1, Err(FailureClass::Transient));
        assert!(!memory.is_known_in_use(Some(1)), "a call that may have taken place");
    }

    #[tokio::test(start_paused = true)]
    async fn grace_period_restarts_after_waiting_for_the_hub() {
        let mut memory = Memory::<ConfigMap>::default();
        assert!(memory.progress(HUB_GRACE, true).is_fresh());
        tokio::time::advance(HUB_GRACE / 2).await;
        assert!(memory.progress(HUB_GRACE, true).is_fresh());
        assert!(memory.progress(GRACE, false).is_fresh());
        tokio::time::advance(GRACE).await;
        assert!(!memory.progress(GRACE, false).is_fresh());
    }

    #[tokio::test(start_paused = true)]
    async fn deep_resyncs_are_spread_over_the_interval() {
        const HOUR: Duration = Duration::from_hours(1);
        let mut turns = std::collections::BTreeSet::new();
        let mut memories: Vec<Memory<ConfigMap>> = (0..100).map(|_| Memory::default()).collect();
        for minute in 0..60 {
            for (number, memory) in memories.iter_mut().enumerate() {
                if memory.is_deep_due(HOUR, &format!("uid-{number}")) {
                    assert!(turns.insert((number, minute)), "{number}");
                    memory.observed_deeply(HOUR);
                }
            }
            tokio::time::advance(Duration::from_mins(1)).await;
        }
        assert_eq!(turns.len(), 100, "each resource once");
        let at_most = (0..60).map(|minute| turns.iter().filter(|turn| turn.1 == minute).count()).max();
        assert!(at_most.is_some_and(|most| most < 30), "{at_most:?}");
        assert!(!Memory::<ConfigMap>::default().is_deep_due(Duration::ZERO, "u"));
    }

    #[test]
    fn later_write_takes_precedence_over_a_watch_that_lags() {
        let memory = Memory { latest: Some(object("u", "100")), ..Memory::default() };
        assert_eq!(memory.newest(object("u", "99")).metadata.resource_version.as_deref(), Some("100"));
        assert_eq!(memory.newest(object("u", "101")).metadata.resource_version.as_deref(), Some("101"));
    }

    #[test]
    fn copy_is_dropped_when_the_watch_has_caught_up() {
        let mut memory = Memory { latest: Some(object("u", "100")), ..Memory::default() };
        memory.caught_up(&object("u", "99"));
        assert!(memory.latest.is_some());
        memory.caught_up(&object("u", "100"));
        assert!(memory.latest.is_none());
    }

    #[test]
    fn new_object_of_the_same_name_starts_without_memory() {
        let memory = Memory { latest: Some(object("old", "100")), ..Memory::default() };
        assert_eq!(memory.newest(object("new", "1")).metadata.uid.as_deref(), Some("new"));
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        memories.put(key.clone(), "old".into(), memory);
        assert!(memories.take(&key, "new").latest.is_none());
    }
}
