//! With `rotate`: a new, immutable target for each content, named by its digest, and workloads that name the current one.
//!
//! The hub does not watch workloads: it reads those of an export now and then, and sets a volume that is still empty.

pub(crate) mod names;
mod volume;
mod workloads;

use std::time::Duration;

use jiff::Timestamp;
use kraken_api::ConfigExport;
use kube::ResourceExt;

use crate::{
    exports::{
        finish::{Finished, record_restarts},
        report::Outcome,
    },
    store::{
        dependents::export::{self, of_report, reported},
        index::ObjectRef,
    },
    watch::cluster_state::ClusterState,
};

/// After this time the workloads are read again, because one does not exist yet.
const ABSENT: Duration = Duration::from_secs(5);
/// After this time the workloads are read again, because one may have been recreated.
const PRESENT: Duration = Duration::from_mins(1);
/// After this time a name is tried again that another object has.
pub(super) const TAKEN: Duration = Duration::from_mins(1);
/// The number of former targets that are kept while a workload may still name an old one: the highest limit of the spec.
const MAX_HISTORY: usize = 100;

/// The targets of an export, as far as they are known without a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets<'a> {
    cluster: &'a ClusterState,
    export: &'a ConfigExport,
}

impl<'a> Targets<'a> {
    /// The targets of this export.
    pub(super) fn of(cluster: &'a ClusterState, export: &'a ConfigExport) -> Self {
        Self { cluster, export }
    }

    /// The target of the content with this digest, which a target without `rotate` does not need.
    pub(super) fn of_content(self, digest: Option<&str>) -> ObjectRef {
        match digest.filter(|_| self.export.spec.rotate) {
            Some(digest) => names::named(&self.plain(), digest),
            None => self.plain(),
        }
    }

    /// The target that the spec names; with `rotate`, the one that was written last.
    pub(super) fn last(self) -> Option<ObjectRef> {
        if !self.export.spec.rotate {
            return Some(self.plain());
        }
        let target = self.cluster.router.settled.progress(self.export).target;
        target.and_then(|target| of_report(&self.namespace(), &target))
    }

    /// The targets to delete when `current` is in place.
    pub(super) fn surplus(self, current: Option<&ObjectRef>, outcome: Option<&Outcome>) -> Vec<ObjectRef> {
        let owned = self.owned();
        if !self.export.spec.rotate {
            return owned.into_iter().filter(|target| Some(target) != current).collect();
        }
        let limit = usize::try_from(self.export.spec.revision_history_limit).unwrap_or_default();
        let is_followed = outcome.is_none_or(|outcome| matches!(outcome, Outcome::Exported(_)));
        let kept = if is_followed { limit } else { MAX_HISTORY };
        let owned = owned.into_iter().map(|target| {
            let since = self.cluster.meta(&target, names::current_since).unwrap_or_default();
            (target, since)
        });
        names::surplus(owned.collect(), &self.plain(), current, kept)
    }

    /// This time, or one after those of all targets if the clock of a former leader was ahead: their order must be true.
    pub(super) fn after_all(self, now: Timestamp) -> Timestamp {
        let owned = self.owned();
        let times = owned.iter().filter_map(|target| self.cluster.meta(target, names::current_since));
        let next = times.filter_map(|time| time.checked_add(Duration::from_micros(1)).ok()).max();
        next.map_or(now, |next| now.max(next))
    }

    /// All that the export owns.
    fn owned(self) -> Vec<ObjectRef> {
        self.cluster.router.owned.lock().of(&self.namespace(), &self.export.uid().unwrap_or_default())
    }

    fn plain(self) -> ObjectRef {
        export::target(&self.namespace(), &self.export.spec)
    }

    fn namespace(self) -> String {
        self.export.namespace().unwrap_or_default()
    }
}

/// The target is in place: sets the workloads to it.
pub(super) async fn follow(cluster: &ClusterState, export: &ConfigExport, target: &ObjectRef) -> Finished {
    let exported = Outcome::Exported(export.spec.entries.len());
    if export.spec.restart.is_empty() {
        return exported.into();
    }
    let name = reported(target);
    let settled = &cluster.router.settled;
    let is_due = settled.progress(export).rolled_out.as_ref() != Some(&name);
    let followed = workloads::follow(&cluster.manager.client, export, target, is_due).await;
    record_restarts(cluster, export, &followed.changed, &format!("the current target is {target}")).await;
    if let Some(error) = followed.error {
        return Outcome::NotRestarted(error.to_string()).into();
    }
    let uid = export.uid().unwrap_or_default();
    settled.note(&uid, |progress| progress.rolled_out = Some(name));
    let again = Some(if followed.is_absent { ABSENT } else { PRESENT });
    Finished { outcome: exported, remaining: None, again }
}
