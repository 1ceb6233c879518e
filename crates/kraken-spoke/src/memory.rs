//! What the controller remembers of a resource between two runs. All of it can be lost at any moment: it saves calls
//! and writes, and bridges what caches and the cloud's reads lag behind, but nothing correct depends on it.

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

/// For how long something that was visible must not be shown before it is taken for gone. What the provider shows as deleted is
/// gone at once.
pub(crate) const CONFIRMED_AFTER: Duration = Duration::from_secs(10);

/// What is remembered of one resource.
#[derive(Debug)]
pub(crate) struct Memory<K = Object> {
    /// The object as the API server answered our last write; the watch may not have caught up with it.
    pub latest: Option<Arc<K>>,
    /// The version of the object that the watch showed last.
    pub watched: Option<u128>,
    /// The intent as this process read or wrote it last: somebody may wipe the annotation.
    pub intent: Option<Intent>,
    /// The epoch this process saw confirmed, and the ids it created.
    pub created: Option<(i64, Vec<String>)>,
    /// The epoch under which nothing was created, by the cloud's own word: this process persisted it, and every call since
    /// was refused. That one call was refused says nothing of another one that had no answer.
    pub refused: Option<i64>,
    /// When the cloud was last asked to create something, or else when this process began to know the resource.
    pub asked: Timestamp,
    /// The epoch whose token is used up.
    pub spent: Option<i64>,
    /// The highest epoch of what was seen and asked to be deleted. From then on who refers to it comes too late, and an
    /// empty answer says that it is gone.
    pub deleted: Option<i64>,
    /// The ids that a search by tag found when the deletion began. A search may list the whole account, so a deletion that
    /// waits searches again only before the finalizer goes.
    pub found: Option<Vec<String>>,
    /// The change that was made last, and how many times in a row without effect.
    pub changed: Option<Changed>,
    /// Whether something was changed because of an edit that is not in place yet: to take it back is an edit too.
    pub edit_under_way: bool,
    /// The values of fields that are applied at creation only, as digests, of what was created last.
    pub at_creation: Option<BTreeMap<String, String>>,
    /// How many times in a row the cloud refused for now.
    pub refusals: u32,
    /// When it is this resource's turn to have everything read, also what costs a call of its own.
    pub deep_due: Option<Instant>,
    /// The ids that this process asked to be deleted: not to be shown is what becomes of them.
    pub deleted_ids: Vec<String>,
    /// The ids that this process let go of: they are not this resource's any more.
    pub released_ids: Vec<String>,
    /// The ids on record that are not shown although nobody asked for their deletion, and since when.
    pub missing: BTreeMap<String, Instant>,
    /// Whether the next observation searches by tag from the start, because the last one had to.
    pub searching: bool,
    /// The launch that the cloud refuses because its token or its name is in use.
    pub token_used: Option<TokenUsed>,
    /// The ids that were tagged again last, when, and how many times in a row.
    pub claimed: Option<Claimed>,
    /// The last run, if it found everything in place and the resource refers to Secrets.
    pub unchanged: Option<Arc<Unchanged>>,
    /// Since when the resource has been in progress without a report.
    pub in_progress: Option<Progress>,
    /// Every secret text that the resource was resolved with, the newest last: the cloud may still quote an old one.
    pub secrets: Vec<SecretString>,
}

/// A launch that the cloud refuses because its token or its name is in use: it did not take place, so that a search by tag finds
/// nothing new unless an earlier call of the same launch becomes visible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenUsed {
    pub epoch: i64,
    /// When it was last searched for since, and how many times.
    searched: Option<(Instant, u32)>,
}

impl TokenUsed {
    /// Whether it is to be searched for again: after 10, 20, 40 s and so on, at most ten minutes. A search may list everything
    /// that the account has of a kind.
    pub(crate) fn is_search_due(&self) -> bool {
        const FIRST: Duration = Duration::from_secs(10);
        const LONGEST: Duration = Duration::from_mins(10);
        self.searched.is_none_or(|(at, times)| {
            at.elapsed() >= FIRST.saturating_mul(1 << times.saturating_sub(1).min(16)).min(LONGEST)
        })
    }
}

/// A change in place that the cloud accepted.
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
    /// How long after it was made the cloud may show the old value before it is made again.
    pub(crate) fn delay(&self) -> Duration {
        Duration::from_secs(1 << self.times.saturating_sub(1).min(6))
    }
}

/// A claim of objects whose tags were missing. A cloud may take a while to show tags.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    pub ids: Vec<String>,
    pub at: Instant,
    pub times: u32,
}

impl Claimed {
    /// Whether it is too early to claim these again: the wait doubles with each time.
    pub(crate) fn is_recent(&self, ids: &[String]) -> bool {
        const LONGEST: u32 = 6;
        self.ids == ids && self.at.elapsed() < Duration::from_secs(1 << self.times.min(LONGEST))
    }
}

/// Progress that nobody was told of yet. To wait for the hub is one thing, to be at work another: who waited long may still
/// be done in a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    since: Instant,
    /// How long nobody needs to be told.
    grace: Duration,
    /// Whether the hub is waited for.
    for_hub: bool,
}

impl Progress {
    pub(crate) fn begin(grace: Duration, for_hub: bool) -> Self {
        Self { since: Instant::now(), grace, for_hub }
    }

    /// Whether it may be over before anybody needs to be told.
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
    /// Takes note of the ids on record that the last observation does not show, and tells whether one of them has been missing
    /// for less than [`CONFIRMED_AFTER`]: a single answer may come from a replica that lags.
    pub(crate) fn is_vanishing(&mut self, ids: &[String]) -> bool {
        self.missing.retain(|id, _| ids.contains(id));
        for id in ids {
            self.missing.entry(id.clone()).or_insert_with(Instant::now);
        }
        self.missing.values().any(|since| since.elapsed() < CONFIRMED_AFTER)
            && !mutants::active(Mutant::VanishedBelieved)
    }

    /// Notes what a call under this epoch came to, `ids` being what it created.
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
            // The cloud's word that this call created nothing.
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

    /// Whether the launch of this epoch was refused lately as in use, and nothing was found when it was searched for.
    pub(crate) fn is_known_in_use(&self, epoch: Option<i64>) -> bool {
        self.token_used.is_some_and(|in_use| Some(in_use.epoch) == epoch && !in_use.is_search_due())
    }

    /// Notes that a search by tag was made.
    pub(crate) fn searched(&mut self) {
        if let Some(in_use) = &mut self.token_used {
            let times = in_use.searched.map_or(0, |(_, times)| times);
            in_use.searched = Some((Instant::now(), times.saturating_add(1)));
        }
    }

    /// Whether something is under way that the next run has to go on with.
    pub(crate) fn is_busy(&self) -> bool {
        self.edit_under_way
            || self.changed.is_some()
            || self.searching
            || self.token_used.is_some()
            || self.in_progress.is_some()
    }

    /// Adds the secrets that were resolved now to those that are known, without repetitions.
    pub(crate) fn learn_secrets(&mut self, secrets: Vec<SecretString>) {
        const KEPT: usize = 256;
        for secret in secrets {
            self.secrets.retain(|known| known.expose_secret() != secret.expose_secret());
            self.secrets.push(secret);
        }
        let surplus = self.secrets.len().saturating_sub(KEPT);
        self.secrets.drain(..surplus);
    }

    /// Notes that these were asked to be deleted.
    pub(crate) fn deleting(&mut self, ids: &[String]) {
        self.deleted_ids
            .extend(ids.iter().filter(|id| !self.deleted_ids.contains(id)).cloned().collect::<Vec<_>>());
    }

    /// Notes that these are not the resource's any more.
    pub(crate) fn released(&mut self, ids: &[String]) {
        self.released_ids.extend(ids.iter().cloned());
        if let Some((_, created)) = &mut self.created {
            created.retain(|id| !ids.contains(id));
        }
    }

    /// Forgets the ids that were created once and do not exist any more, as an observation by id and by tag told.
    pub(crate) fn forget_ids(&mut self, gone: &[String]) {
        if let Some((_, created)) = &mut self.created {
            created.retain(|id| !gone.contains(id));
        }
        self.deleted_ids.retain(|id| !gone.contains(id));
    }

    /// What the age of a launch is measured by.
    pub(crate) fn clock(&self, window: Duration) -> Clock {
        Clock { now: kraken_runtime::clock::now(), asked: self.asked, window }
    }

    /// The progress of this grace that goes on, or begins. `for_hub`: it is waited for the hub.
    pub(crate) fn progress(&mut self, grace: Duration, for_hub: bool) -> Progress {
        let is_same = |progress: &Progress| progress.grace == grace && progress.for_hub == for_hub;
        let going_on = self.in_progress.filter(is_same);
        *self.in_progress.insert(going_on.unwrap_or_else(|| Progress::begin(grace, for_hub)))
    }

    /// Whether it is this resource's turn to have everything read. The first turn after a restart depends on the UID, so that
    /// the turns of many resources are spread over the interval.
    pub(crate) fn is_deep_due(&mut self, interval: Duration, uid: &str) -> bool {
        if interval.is_zero() {
            return false;
        }
        let share =
            uid.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 1000;
        let first = || Instant::now() + interval.saturating_mul(share) / 1000;
        *self.deep_due.get_or_insert_with(first) <= Instant::now()
    }

    /// Notes that everything was read.
    pub(crate) fn looked_deep(&mut self, interval: Duration) {
        self.deep_due = Some(Instant::now() + interval);
    }

    /// How many times in a row the cloud refused for now, this outcome included.
    pub(crate) fn count_refusals(&mut self, outcome: &Outcome) -> u32 {
        self.refusals = if outcome.is_not_yet() { self.refusals.saturating_add(1) } else { 0 };
        self.refusals
    }
}

impl<K: Resource> Memory<K> {
    /// Lets go of our own copy once the watch has it too: a thousand resources at rest need no second one.
    pub(crate) fn caught_up(&mut self, watched: &Arc<K>) {
        let shown = version(&**watched);
        if shown < self.watched {
            // A backup was restored: what we wrote since it was taken is no more.
            self.latest = None;
        }
        self.watched = shown;
        if self.latest.as_ref().is_some_and(|ours| version(&**ours) <= version(&**watched))
            && !mutants::active(Mutant::StaleCopy)
        {
            self.latest = None;
        }
    }

    /// The newest form of an object that this process knows: the watch's, or the answer to a later write of ours.
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

/// The memories of every resource of one kind.
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
    /// Takes out what is remembered of this resource. A run that never puts it back has forgotten it, which is safe.
    /// What belonged to an earlier object of the same name (another UID) is dropped.
    pub(crate) fn take(&self, key: &ObjectKey, uid: &str) -> Memory<K> {
        match self.of.lock().remove(key) {
            Some((of, memory)) if of == uid => memory,
            _ => Memory::default(),
        }
    }

    /// Keeps it for the next run.
    pub(crate) fn put(&self, key: ObjectKey, uid: String, memory: Memory<K>) {
        self.of.lock().insert(key, (uid, memory));
    }

    /// Forgets a resource that is gone.
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
    fn what_was_written_after_a_backup_is_forgotten_when_the_backup_is_restored() {
        let mut memory = Memory::<ConfigMap>::default();
        memory.caught_up(&object("u", "7"));
        memory.latest = Some(object("u", "9"));
        memory.caught_up(&object("u", "7"));
        assert_eq!(version(&*memory.newest(object("u", "7"))), Some(9), "the watch lags behind");
        memory.caught_up(&object("u", "5"));
        assert_eq!(version(&*memory.newest(object("u", "5"))), Some(5));
    }

    #[test]
    fn one_refused_call_says_nothing_of_another_that_had_no_answer() {
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
    async fn an_id_is_taken_for_gone_only_after_it_was_missing_for_a_while_without_a_break() {
        let ids = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let mut memory = Memory::<ConfigMap>::default();
        assert!(memory.is_vanishing(&ids(&["vpc-1"])));
        tokio::time::advance(CONFIRMED_AFTER / 2).await;
        assert!(memory.is_vanishing(&ids(&["vpc-1", "vpc-2"])));
        tokio::time::advance(CONFIRMED_AFTER / 2).await;
        assert!(memory.is_vanishing(&ids(&["vpc-1", "vpc-2"])), "the second not yet");
        assert!(!memory.is_vanishing(&ids(&["vpc-1"])));
        assert!(!memory.is_vanishing(&[]));
        assert!(memory.is_vanishing(&ids(&["vpc-1"])), "it was shown in between");
    }

    #[tokio::test(start_paused = true)]
    async fn a_launch_in_use_is_searched_for_at_once_and_then_ever_more_seldom() {
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
    async fn who_waited_for_the_hub_has_all_the_time_of_the_work_that_follows() {
        let mut memory = Memory::<ConfigMap>::default();
        assert!(memory.progress(HUB_GRACE, true).is_fresh());
        tokio::time::advance(HUB_GRACE / 2).await;
        assert!(memory.progress(HUB_GRACE, true).is_fresh());
        assert!(memory.progress(GRACE, false).is_fresh());
        tokio::time::advance(GRACE).await;
        assert!(!memory.progress(GRACE, false).is_fresh());
    }

    #[tokio::test(start_paused = true)]
    async fn everything_is_read_once_per_interval_at_another_time_for_each_resource() {
        const HOUR: Duration = Duration::from_hours(1);
        let mut turns = std::collections::BTreeSet::new();
        let mut memories: Vec<Memory<ConfigMap>> = (0..100).map(|_| Memory::default()).collect();
        for minute in 0..60 {
            for (number, memory) in memories.iter_mut().enumerate() {
                if memory.is_deep_due(HOUR, &format!("uid-{number}")) {
                    assert!(turns.insert((number, minute)), "{number}");
                    memory.looked_deep(HOUR);
                }
            }
            tokio::time::advance(Duration::from_mins(1)).await;
        }
        assert_eq!(turns.len(), 100, "each once");
        let at_most = (0..60).map(|minute| turns.iter().filter(|turn| turn.1 == minute).count()).max();
        assert!(at_most.is_some_and(|most| most < 30), "{at_most:?}");
        assert!(!Memory::<ConfigMap>::default().is_deep_due(Duration::ZERO, "u"));
    }

    #[test]
    fn our_own_later_write_wins_over_a_watch_that_lags() {
        let memory = Memory { latest: Some(object("u", "100")), ..Memory::default() };
        assert_eq!(memory.newest(object("u", "99")).metadata.resource_version.as_deref(), Some("100"));
        assert_eq!(memory.newest(object("u", "101")).metadata.resource_version.as_deref(), Some("101"));
    }

    #[test]
    fn a_watch_that_caught_up_is_enough() {
        let mut memory = Memory { latest: Some(object("u", "100")), ..Memory::default() };
        memory.caught_up(&object("u", "99"));
        assert!(memory.latest.is_some());
        memory.caught_up(&object("u", "100"));
        assert!(memory.latest.is_none());
    }

    #[test]
    fn an_object_of_the_same_name_inherits_nothing() {
        let memory = Memory { latest: Some(object("old", "100")), ..Memory::default() };
        assert_eq!(memory.newest(object("new", "1")).metadata.uid.as_deref(), Some("new"));
        let memories = Memories::default();
        let key = ObjectKey::new("ns", "a");
        memories.put(key.clone(), "old".into(), memory);
        assert!(memories.take(&key, "new").latest.is_none());
    }
}
