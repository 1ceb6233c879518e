//! The in-memory record of a resource between two reconciles. All of it can be lost at any time: it
//! saves calls and writes, and compensates for the lag of caches and of the provider's reads, but correctness does not
//! depend on it.

mod absence;
mod copies;
mod deep;
mod deletions;
mod launch;
mod records;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use kraken_kind::{FailureClass, dynamic::Object};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use crate::{
    hand_over::HandOver,
    ids::union,
    ledger::{self, Clock, Ledger},
    outcome::{Created, FailureRow, InARow, Outcome},
    unchanged::Unchanged,
};

pub use absence::Absence;
pub use copies::Copies;
pub use deep::Deep;
pub use launch::LaunchSearch;
pub use records::{Changed, Claimed, Progress, Search, TokenUsed, Unseen};

/// The in-memory record of one resource.
#[derive(Debug, Default)]
pub struct Memory {
    /// What this process wrote, which its watch may not show yet.
    pub copies: Copies,
    /// The last launch.
    pub launch: LastLaunch,
    /// The objects that exist.
    pub owned: Owned,
    /// Recorded ids that were missing from responses.
    pub absent: Absent,
    /// The deletion in progress.
    pub deletion: Deletion,
    /// Changes in place that may not be visible yet.
    pub changes: Changes,
    /// The replacement in progress.
    pub replacement: Replacement,
    /// When objects are searched for by their tags.
    pub tag_search: TagSearch,
    /// Failures in a row, and what waits for its next attempt.
    pub retries: Retries,
    /// Values of Secrets, which no text may contain.
    pub secrets: KnownSecrets,
    /// When attributes that need one call per object are to be read.
    pub deep: Deep,
    /// The last reconcile, if it found everything in place and the resource refers to Secrets.
    pub unchanged: Option<Arc<Unchanged>>,
}

/// The last launch.
#[derive(Debug, Default)]
pub struct LastLaunch {
    /// The ledger that this process read or wrote last: a restored backup can take it back.
    pub ledger: Option<Ledger>,
    /// The epoch under which nothing was created, according to the provider: this process persisted it, and every call
    /// since was rejected. One rejected call proves nothing about another one without a response.
    pub refused: Option<i64>,
    /// When the last create call was made, or else when this process first knew the resource.
    pub last_create: Since,
    /// The epoch whose token cannot be used again.
    pub spent: Option<i64>,
    /// The launch that the provider rejects because its token or its name is in use.
    pub token_used: Option<TokenUsed>,
    /// What searches showed of it, if its result is not on record.
    pub search: LaunchSearch,
}

/// The objects that the resource owns, whether or not they are on record.
#[derive(Debug, Default)]
pub struct Owned {
    /// The epoch that this process saw confirmed, and the ids that it created, or found before.
    pub created: Option<(i64, Vec<String>)>,
    /// The ids that only a search by tag found. They are observed by id from then on, before the status names them, too.
    pub found_by_tag: Vec<String>,
    /// The ids that were retagged last, when, and how many times in a row.
    pub claimed: Option<Claimed>,
    /// Whether this process knows that no former resource of the name left objects.
    pub is_only_owner: bool,
}

/// The objects that are, or may be, gone.
#[derive(Debug, Default)]
pub struct Absent {
    /// The ids whose deletion this process requested: they are expected to be missing from responses, see
    /// [`Memory::is_deleted`].
    pub deleted_ids: Vec<String>,
    /// Those of them that the provider returned as deleted, if the kind [shows deleted
    /// objects](kraken_kind::Features::shows_deleted).
    pub shown_as_deleted: Vec<String>,
    /// The ids of objects that do not exist any more, which the ledger or the status may still name.
    pub gone_ids: Vec<String>,
    /// The ids that a replacement released: the resource does not own them any more.
    pub released_ids: Vec<String>,
    /// The recorded ids that are missing from responses although their deletion was not requested, and for how long.
    pub missing: BTreeMap<String, Absence>,
}

/// The deletion of the resource.
#[derive(Debug, Default)]
pub struct Deletion {
    /// The highest epoch of the objects whose deletion was requested. From then on new dependents do not block the
    /// deletion.
    pub deleted: Option<i64>,
    /// The ids that searches by tag found since it started, except those of deleted objects. A search may list the whole account, so a
    /// deletion in progress searches again only before the finalizer is removed.
    pub found: Option<Vec<String>>,
    /// The ids that it released. The resource owns them until its finalizer is removed: if its spec is edited before, they may have to
    /// be deleted.
    pub releasing_ids: Vec<String>,
}

/// The changes in place.
#[derive(Debug, Default)]
pub struct Changes {
    /// Those that are due and were made already, or were rejected.
    pub changed: Vec<Changed>,
    /// Those that were not seen yet.
    pub unseen: Vec<Unseen>,
    /// Whether a change was made because of an edit that is not in place yet: reverting it is an edit too.
    pub edit_under_way: bool,
    /// The values of fields that are applied only at creation, as digests, of the objects created last.
    pub at_creation: Option<BTreeMap<String, String>>,
}

/// The last replacement.
#[derive(Debug, Default)]
pub struct Replacement {
    /// Its hand-over to the dependents, if it began.
    pub hand_over: Option<HandOver>,
    /// What was taken from the replaced objects last, of which there was an event.
    pub taken_over: Option<String>,
}

/// The searches by tag.
#[derive(Debug, Default)]
pub struct TagSearch {
    /// Whether the next observation searches from the start, because the last one had to.
    pub is_first: bool,
    /// The search for objects without a record, of a resource whose spec cannot be applied.
    pub unrecorded: Search,
}

/// What happened several times in a row.
#[derive(Debug, Default)]
pub struct Retries {
    /// How many times the provider rejected an operation as not possible yet.
    pub refusals: u32,
    /// Since when an operation has been in progress with this message: with another one, it has moved.
    pub operation: Option<(Instant, String)>,
    /// How many times a write of this controller met another version of the object.
    pub conflicts: u32,
    /// Since when the resource has been in progress without a status write.
    pub in_progress: Option<Progress>,
}

/// What must not be shown.
#[derive(Debug, Default)]
pub struct KnownSecrets {
    /// The fields of the spec that come from a Secret or did, see [`crate::secrecy::SecretFields`].
    pub fields: BTreeSet<String>,
    /// Every secret text that was resolved for the resource, the newest last: the provider may still quote an old one.
    pub texts: Vec<SecretString>,
    /// Whether this process knows the fields that the published state withholds.
    pub recalled: bool,
}

/// A time; by default, the current one.
#[derive(Clone, Copy, Debug)]
pub struct Since(pub Timestamp);

impl Default for Since {
    fn default() -> Self {
        Self(kraken_runtime::clock::now())
    }
}

impl Memory {
    /// Tracks the recorded ids that the last observation did not return, and returns whether one of them may still exist.
    /// `clock` is from before that observation.
    pub fn is_vanishing(&mut self, ids: &[String], clock: Clock) -> bool {
        self.absent.missing.retain(|id, _| ids.contains(id));
        for id in ids {
            let absence = self.absent.missing.entry(id.clone());
            absence.and_modify(|absence| absence.extend(clock)).or_insert_with(Absence::begin);
        }
        self.absent.missing.values().any(|absence| absence.is_unconfirmed())
    }

    /// Records that an observation returned these objects: none of them is missing any more, although the reconcile ends before it
    /// [tracks](Self::is_vanishing) those that are.
    pub fn not_missing(&mut self, shown: &[String]) {
        self.absent.missing.retain(|id, _| !shown.contains(id));
    }

    /// Records the result of a create call under this epoch, `answer` containing the ids that it created.
    pub fn answered(&mut self, epoch: i64, answer: Result<Vec<String>, FailureClass>) {
        self.launch.last_create = Since::default();
        // The call may have taken effect without a response: what earlier searches showed is outdated.
        self.launch.search = LaunchSearch::Open;
        let in_use = self.launch.token_used.take().filter(|in_use| in_use.epoch == epoch);
        let answer = answer.map_err(|class| FailureRow::of(class).created);
        if matches!(answer, Err(Created::Earlier)) {
            self.launch.token_used = Some(in_use.unwrap_or(TokenUsed::new(epoch)));
        }
        match answer {
            Ok(ids) => {
                self.owned.created = Some((epoch, ids));
                self.launch.refused = None;
            }
            Err(Created::Nothing) => {}
            Err(Created::Spent) => self.launch.spent = Some(epoch),
            Err(Created::Unknown | Created::Earlier) => self.launch.refused = None,
        }
    }

    /// The hand-over to these objects of the replacement that this epoch began: it begins when they are first found published.
    pub fn hand_over(&mut self, boundary: i64, successors: Vec<String>) -> &mut HandOver {
        let is_same = |known: &HandOver| known.boundary == boundary && known.successors == successors;
        let known = self.replacement.hand_over.take().filter(is_same);
        let begin = || HandOver { boundary, successors, since: Instant::now(), is_over: false };
        self.replacement.hand_over.insert(known.unwrap_or_else(begin))
    }

    /// Whether this process neither created nor found an object of the resource, nor requested its deletion.
    pub fn knows_no_ids(&self) -> bool {
        self.owned.created.is_none() && self.owned.found_by_tag.is_empty() && self.deletion.deleted.is_none()
    }

    /// The last ledger: that of the object, unless this process wrote a later one, and a restored backup put back a former one.
    pub fn last_ledger(&self, object: &Object) -> Option<Ledger> {
        let present = ledger::of(object);
        let is_later = |known: &&Ledger| present.as_ref().is_none_or(|present| known.epoch > present.epoch);
        self.launch.ledger.as_ref().filter(is_later).cloned().or(present)
    }

    /// Whether nothing was created under the epoch of the ledger, see [`LastLaunch::refused`].
    pub fn is_refused(&self, ledger: &Ledger) -> bool {
        self.launch.refused == Some(ledger.epoch)
    }

    /// Whether the launch of this epoch was recently rejected as in use, and a search found no object.
    pub fn is_known_in_use(&self, epoch: Option<i64>) -> bool {
        self.launch.token_used.is_some_and(|in_use| Some(in_use.epoch) == epoch && !in_use.is_search_due())
    }

    /// Records that a search by tag was made.
    pub fn searched(&mut self) {
        if let Some(in_use) = &mut self.launch.token_used {
            in_use.searched();
        }
    }

    /// Whether an operation is in progress that the next reconcile must continue.
    pub fn is_busy(&self) -> bool {
        self.changes.edit_under_way
            || !self.changes.changed.is_empty()
            || self.tag_search.is_first
            || self.launch.token_used.is_some()
            || self.retries.in_progress.is_some()
    }

    /// The recorded secrets with the resolved ones, without duplicates.
    pub fn secrets_with(&self, resolved: Vec<SecretString>) -> Vec<SecretString> {
        const KEPT: usize = 256;
        let mut secrets = self.secrets.texts.clone();
        for secret in resolved {
            secrets.retain(|kept| kept.expose_secret() != secret.expose_secret());
            secrets.push(secret);
        }
        secrets.drain(..secrets.len().saturating_sub(KEPT));
        secrets
    }

    /// Forgets everything after a panic, except the secret texts: the provider may still quote them.
    pub fn reset(&mut self) {
        let texts = std::mem::take(&mut self.secrets.texts);
        *self = Self { secrets: KnownSecrets { texts, ..KnownSecrets::default() }, ..Self::default() };
    }

    /// Records that the deletion of these was requested, and that the provider found them.
    pub fn deleting(&mut self, ids: &[String]) {
        self.absent.deleted_ids.extend(
            ids.iter().filter(|id| !self.absent.deleted_ids.contains(id)).cloned().collect::<Vec<_>>(),
        );
    }

    /// Records that the resource does not own these any more.
    pub fn released(&mut self, ids: &[String]) {
        self.absent.released_ids.extend(ids.iter().cloned());
        if let Some((_, created)) = &mut self.owned.created {
            created.retain(|id| !ids.contains(id));
        }
        self.owned.found_by_tag.retain(|id| !ids.contains(id));
    }

    /// Forgets ids that do not exist any more according to an observation by id and by tag.
    pub fn forget_ids(&mut self, gone: &[String]) {
        self.absent.gone_ids = union(std::mem::take(&mut self.absent.gone_ids), gone);
        if let Some((_, created)) = &mut self.owned.created {
            created.retain(|id| !gone.contains(id));
        }
        self.owned.found_by_tag.retain(|id| !gone.contains(id));
        self.absent.deleted_ids.retain(|id| !gone.contains(id));
        self.absent.shown_as_deleted.retain(|id| !gone.contains(id));
    }

    /// Records that the status does not name the forgotten ids any more.
    pub fn forgotten(&mut self) {
        let outgoing =
            self.launch.ledger.as_ref().map(|ledger| ledger.outgoing.as_slice()).unwrap_or_default();
        self.absent.gone_ids.retain(|id| outgoing.contains(id));
    }

    /// The reference for the age of a launch.
    pub fn clock(&self, window: Duration) -> Clock {
        let (now, instant) = (kraken_runtime::clock::now(), Instant::now());
        Clock { now, instant, last_create: self.launch.last_create.0, window }
    }

    /// Continues or starts progress with this grace period. `for_hub`: the resource waits for the hub.
    pub fn progress(&mut self, grace: Duration, for_hub: bool) -> Progress {
        let going_on = self.retries.in_progress.filter(|progress| progress.is_same(grace, for_hub));
        *self.retries.in_progress.insert(going_on.unwrap_or_else(|| Progress::begin(grace, for_hub)))
    }

    /// Records how often, or for how long, this outcome has been the same.
    pub fn in_a_row(&mut self, outcome: &Outcome) -> InARow {
        let Retries { refusals, operation, .. } = &mut self.retries;
        *refusals = if outcome.is_not_yet() { refusals.saturating_add(1) } else { 0 };
        *operation = match outcome {
            Outcome::InProgress(_, message) => {
                let going_on = operation.take().filter(|(_, before)| before == message);
                Some(going_on.unwrap_or_else(|| (Instant::now(), message.clone())))
            }
            _ => None,
        };
        let progress = operation.as_ref().map(|(since, _)| since.elapsed()).unwrap_or_default();
        InARow { refusals: *refusals, progress }
    }

    /// Records a write that met another version of the object, and returns how many times in a row that happened. The copy
    /// from the last write is dropped: another client wrote meanwhile, or a backup without that write was restored.
    pub fn conflicted(&mut self) -> u32 {
        self.copies.latest = None;
        self.retries.conflicts = self.retries.conflicts.saturating_add(1);
        self.retries.conflicts
    }
}

#[cfg(test)]
mod tests;
