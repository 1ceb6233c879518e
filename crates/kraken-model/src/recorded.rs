//! What is recorded of the remote objects of a resource before they are observed, and what an observation shows of it. Pure.

use jiff::Timestamp;
use kraken_api::FINALIZER;
use kraken_kind::{
    Identity, ObserveRequest,
    dynamic::{Kind, Object, Observed},
};
use kube::{Resource, ResourceExt};

use crate::{
    ids::{listed, union, without},
    ledger::{Clock, Ledger},
    memory::Memory,
};

/// What is known of a resource's remote objects before they are observed.
#[derive(Debug)]
pub struct RecordedState {
    /// The ids that were recorded, in the ledger or by this process.
    pub ids: Vec<String>,
    /// Ids that only a search by tag found: they are in memory, and no call returned them. Without its owner tags, nothing proves which
    /// resource such an object belongs to.
    pub unproven: Vec<String>,
    /// The highest epoch that is known to have taken effect.
    pub epoch: i64,
    /// The number of the last launch on record; 0 if there is none.
    pub launched: i64,
    /// Whether the resource itself recorded that launch; otherwise the record is rebuilt.
    pub is_own_record: bool,
    /// Whether a launch may have been made whose result is not recorded.
    pub outstanding: bool,
    /// Whether any remote object can exist.
    pub may_exist: bool,
}

impl RecordedState {
    /// `began` is the time from which on this process knows every launch: the record of a resource that is older may have been
    /// wiped, or a backup from before its launch may have been restored.
    pub fn of(
        object: &Object,
        memory: &Memory,
        ledger: Option<&Ledger>,
        clock: Clock,
        began: Timestamp,
    ) -> Self {
        let mut ids = ledger.map(|ledger| ledger.objects.clone()).unwrap_or_default();
        let recorded_epoch = epoch_on_record(ledger);
        let mut epoch = recorded_epoch;
        if let Some((created, new)) = &memory.owned.created {
            epoch = epoch.max(*created);
            ids = union(ids, new);
        }
        ids = union(ids, &memory.owned.found_by_tag);
        // A crash before the first status write loses the ids of the objects that were found by tag and then replaced. The
        // ledger still names them, until the status records a launch of the replacement.
        let is_replacing =
            |ledger: &&Ledger| ledger.replaced_before.is_some_and(|boundary| recorded_epoch < boundary);
        if let Some(ledger) = ledger.filter(is_replacing) {
            ids = union(ids, &ledger.outgoing);
        }
        ids.retain(|id| !memory.absent.released_ids.contains(id) && !memory.absent.gone_ids.contains(id));
        let is_on_record = |id: &String| {
            ledger.is_some_and(|ledger| {
                [&ledger.objects, &ledger.outgoing, &ledger.adopted].iter().any(|ids| ids.contains(id))
            })
        };
        let mut unproven = memory.owned.found_by_tag.clone();
        unproven.retain(|id| ids.contains(id) && !is_on_record(id));
        let outstanding = is_outstanding(ledger, epoch, memory, clock);
        let is_new = object.creation_timestamp().is_some_and(|created| created.0 >= began);
        let may_exist =
            has_finalizer(object) || outstanding || !ids.is_empty() || !is_new || memory.tag_search.is_first;
        let launch = ledger.filter(|ledger| !ledger.adopts);
        let launched = launch.map_or(0, |ledger| ledger.epoch);
        let is_own_record = launch.is_some_and(|ledger| !ledger.is_rebuilt());
        Self { ids, unproven, epoch, launched, is_own_record, outstanding, may_exist }
    }

    /// The recorded ids without those that are [unproven](Self::unproven).
    pub fn proven(&self) -> Vec<String> {
        without(&self.ids, &self.unproven)
    }

    /// Records a launch of which all objects are visible.
    pub fn confirm(&mut self, shown: &Shown, ledger: Option<&Ledger>) {
        if let Some(ledger) = ledger.filter(|_| shown.is_complete) {
            self.epoch = self.epoch.max(ledger.epoch);
        }
    }

    /// The request to observe the objects by id and, if `search` is set, also by tag; `None` if none can exist.
    pub fn request(&self, identity: &Identity, search: bool, deep: bool) -> Option<ObserveRequest> {
        self.may_exist.then(|| ObserveRequest {
            identity: identity.clone(),
            ids: self.ids.clone(),
            search,
            deep,
            launched: self.launched,
            is_own_record: self.is_own_record,
            wanted: None,
        })
    }

    /// Whether ids are not enough to find all objects: ids are lost with a status; tags are not.
    pub fn needs_search(&self) -> bool {
        self.outstanding || self.ids.is_empty()
    }
}

/// The number of the last launch whose objects are on record; 0 if there is none.
fn epoch_on_record(ledger: Option<&Ledger>) -> i64 {
    ledger.map_or(0, |ledger| ledger.confirmed.min(ledger.epoch))
}

/// Whether the launch of the ledger may have created objects that are not recorded, `epoch` being the highest recorded
/// one.
pub fn is_outstanding(ledger: Option<&Ledger>, epoch: i64, memory: &Memory, clock: Clock) -> bool {
    ledger.is_some_and(|ledger| ledger.epoch > epoch && !memory.is_refused(ledger) && clock.may_hide(ledger))
}

/// The objects of a launch whose ids are not known, in messages.
pub const EARLIER_LAUNCH: &str = "the objects of an earlier launch";

/// The objects of the last launch that may exist and are not visible yet, `epoch` being the highest recorded one. If the spec accounts for
/// fewer objects since the launch, no object is missing, and the invisible ones are surplus: the resource is not at rest before
/// they are visible, because its next observation may be long after the visibility window and by id only.
///
/// A replacement waits for every [outstanding](is_outstanding) launch instead, after a restart also for an old one: its call may
/// have been repeated just before, and the replacement would not name the objects.
pub fn awaited(
    shown: &Shown,
    epoch: i64,
    ledger: Option<&Ledger>,
    memory: &Memory,
    clock: Clock,
) -> Option<String> {
    if !shown.unseen.is_empty() {
        return Some(listed(&shown.unseen));
    }
    let ledger = ledger.filter(|_| is_outstanding(ledger, epoch, memory, clock))?;
    // After a restart, every launch without a result counts as outstanding for the window, however old it is. An old one of
    // which nothing is visible is not waited for, so that a resource at rest stays at rest. A ledger that was rebuilt names
    // no number, and its launch may never have been made.
    let is_recent = ledger.requested.is_some() && clock.is_within_window(ledger.at);
    (shown.epoch >= ledger.epoch || is_recent).then(|| EARLIER_LAUNCH.to_owned())
}

/// Whether a resource has Kraken's finalizer.
pub fn has_finalizer(object: &impl Resource) -> bool {
    object.finalizers().iter().any(|finalizer| finalizer == FINALIZER)
}

/// What an observation shows of the ids that were known before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Existing objects, known before or not.
    pub live: Vec<String>,
    /// Recorded ids that were not returned and may not be visible yet.
    pub unseen: Vec<String>,
    /// Recorded ids that do not exist any more although their deletion was not requested.
    pub lost: Vec<String>,
    /// Recorded ids, visible before, that were not returned, not even as deleted, although this process did not request
    /// their deletion, or although the kind shows deleted objects.
    pub vanished: Vec<String>,
    /// Whether a known id was not returned, not even as deleted, and its deletion was not requested.
    pub hidden: bool,
    /// Recorded ids that do not exist any more, regardless of who requested their deletion.
    pub gone: Vec<String>,
    /// The highest epoch of all returned objects.
    pub epoch: i64,
    /// Whether all objects that the launch of the ledger can have created were returned.
    pub is_complete: bool,
}

impl Shown {
    /// The ids of existing objects, and of those that may not be visible yet.
    pub fn present(&self) -> Vec<String> {
        union(self.live.clone(), &self.unseen)
    }

    /// What this observation shows of what is recorded.
    pub fn of(
        kind: &dyn Kind,
        observed: &Observed,
        recorded: &RecordedState,
        memory: &Memory,
        ledger: Option<&Ledger>,
        clock: Clock,
    ) -> Self {
        let shown = observed.shown();
        let may_be_invisible = ledger.is_some_and(|ledger| clock.may_hide(ledger));
        let outgoing = ledger.map(|ledger| ledger.outgoing.as_slice()).unwrap_or_default();
        let mut this = Self { live: observed.ids(), epoch: observed.epoch(), ..Self::default() };
        this.is_complete = ledger.is_some_and(|ledger| {
            let requested = ledger.requested.map_or(usize::MAX, |count| count.max(1));
            recorded.epoch < ledger.epoch
                && this.epoch >= ledger.epoch
                && observed.split(ledger.epoch).1.shown().len() >= requested
        });
        for id in recorded.ids.iter().filter(|id| !this.live.contains(id)) {
            // Outgoing objects were visible before: if they are not returned, they are deleted.
            if memory.absent.deleted_ids.contains(id) || outgoing.contains(id) {
                if !shown.contains(id) {
                    this.gone.push(id.clone());
                    this.vanished.extend((!memory.is_deleted(kind, id)).then(|| id.clone()));
                }
                continue;
            }
            this.hidden |= !shown.contains(id);
            if !shown.contains(id) && may_be_invisible {
                this.unseen.push(id.clone());
            } else {
                this.vanished.extend((!shown.contains(id)).then(|| id.clone()));
                this.lost.push(id.clone());
                this.gone.push(id.clone());
            }
        }
        this
    }
}
