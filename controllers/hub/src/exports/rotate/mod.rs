//! With `rotate`: a new, immutable target for each content, and workloads that name the current one.
//!
//! Steps: the known targets (cache), `write::revision` (client), `workloads` (client), and the deletion of the oldest targets.
//! The hub does not watch workloads: it reads those of an export now and then, and sets a volume that is still empty.

pub(crate) mod revisions;
mod volume;
mod workloads;

use std::time::Duration;

use kraken_api::{ConfigExport, ConfigExportSpec, DIGEST_KEY_ANNOTATION};
use kraken_runtime::random::NoEntropy;
use kube::{ResourceExt, api::ObjectMeta};

use crate::{
    exports::{
        Finished, Progress,
        decide::is_marked,
        record_restarts,
        report::Outcome,
        resolve::{Content, target},
        restart,
        rotate::revisions::Newest,
        write::{Done, WriteError, Writer},
    },
    store::index::ObjectRef,
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

    /// The newest target; with `rotate` and without any, the first one.
    pub(super) fn current(self) -> ObjectRef {
        if self.export.spec.rotate {
            revisions::named(&self.plain(), self.newest_revision().max(1))
        } else {
            self.plain()
        }
    }

    /// The targets to delete when `current` is in place.
    pub(super) fn surplus(self, current: &ObjectRef, outcome: Option<&Outcome>) -> Vec<ObjectRef> {
        if !self.export.spec.rotate {
            return self.owned().into_iter().filter(|target| target != current).collect();
        }
        let limit = usize::try_from(self.export.spec.revision_history_limit).unwrap_or_default();
        let is_followed = outcome.is_none_or(|outcome| matches!(outcome, Outcome::Exported(_)));
        let kept = if is_followed { limit } else { MAX_HISTORY };
        revisions::surplus(self.owned(), &self.plain(), current, kept)
    }

    /// The key for the digest of the content. A new revision has the key of the former one, so that their contents can be compared.
    pub(super) fn digest_key(self) -> Result<Option<String>, NoEntropy> {
        if !self.export.spec.rotate && self.export.spec.restart.is_empty() {
            return Ok(None);
        }
        match self.former_key().filter(|_| self.export.spec.rotate) {
            Some(key) => Ok(Some(key)),
            None => restart::new_key().map(Some),
        }
    }

    /// Writes the content to its target; returns the target, and the result for it.
    pub(super) async fn write(
        self,
        writer: &Writer<'_>,
        content: &Content,
    ) -> Result<(ObjectRef, Done), WriteError> {
        if !self.export.spec.rotate {
            let target = self.plain();
            return writer.reconcile_target(&target, Some(content)).await.map(|done| (target, done));
        }
        let Progress { digest, revision, .. } = self.progress();
        let newest = self.newest_revision();
        let same = self
            .former_key()
            .map(|key| restart::digest(content, &key))
            .filter(|now| digest.as_ref() == Some(now));
        let had_content = revision == Some(newest) && same.is_some();
        writer.reconcile_revision(&self.plain(), content, Newest { revision: newest, had_content }).await
    }

    fn plain(self) -> ObjectRef {
        target(&self.namespace(), &self.export.spec)
    }

    fn namespace(self) -> String {
        self.export.namespace().unwrap_or_default()
    }

    fn uid(self) -> String {
        self.export.uid().unwrap_or_default()
    }

    fn owned(self) -> Vec<ObjectRef> {
        self.cluster.router.owned.lock().of(&self.namespace(), &self.uid())
    }

    fn progress(self) -> Progress {
        let last = self.cluster.router.settled.last(&self.uid());
        last.or(Progress::of(self.export.status.as_ref()))
    }

    /// The existing revisions that this export wrote, the newest last.
    fn existing(self) -> Vec<(i64, ObjectRef)> {
        let (plain, uid) = (self.plain(), self.uid());
        // Others may add the export as an owner of their objects.
        let is_own =
            |target: &ObjectRef| self.cluster.meta(target, |meta| is_marked(meta, &uid)).unwrap_or_default();
        let revision = |target: ObjectRef| {
            let revision = revisions::of_name(&plain.key.name, &target.key.name);
            revision
                .filter(|_| target.class == plain.class && is_own(&target))
                .map(|revision| (revision, target))
        };
        let mut existing: Vec<_> = self.owned().into_iter().filter_map(revision).collect();
        existing.sort_unstable_by_key(|(revision, _)| *revision);
        existing
    }

    fn newest_revision(self) -> i64 {
        let existing = self.existing().last().map(|(revision, _)| *revision);
        existing.max(self.progress().revision).unwrap_or_default()
    }

    fn former_key(self) -> Option<String> {
        let (_, newest) = self.existing().pop()?;
        let key = |meta: &ObjectMeta| meta.annotations.as_ref()?.get(DIGEST_KEY_ANNOTATION).cloned();
        self.cluster.meta(&newest, key)?.filter(|key| !key.is_empty())
    }
}

/// The target of a spec; with `rotate`, the first one.
pub(crate) fn first_target(namespace: &str, spec: &ConfigExportSpec) -> ObjectRef {
    let plain = target(namespace, spec);
    if spec.rotate { revisions::named(&plain, 1) } else { plain }
}

/// The revision of a target; `None` without `rotate`.
pub(super) fn revision(export: &ConfigExport, target: &ObjectRef) -> Option<i64> {
    let base = &export.spec.config_metadata.name;
    export.spec.rotate.then(|| revisions::of_name(base, &target.key.name)).flatten()
}

/// The target is in place: sets the workloads to it.
pub(super) async fn follow(
    cluster: &ClusterState,
    export: &ConfigExport,
    target: &ObjectRef,
    revision: i64,
) -> Finished {
    let exported = Outcome::Exported(export.spec.entries.len());
    if export.spec.restart.is_empty() {
        return exported.into();
    }
    let uid = export.uid().unwrap_or_default();
    let settled = &cluster.router.settled;
    let progress = settled.last(&uid).or(Progress::of(export.status.as_ref()));
    let is_due = progress.rolled_out != Some(revision);
    let followed = workloads::follow(&cluster.manager.client, export, target, is_due).await;
    record_restarts(cluster, export, &followed.changed, &format!("the current target is {target}")).await;
    if let Some(error) = followed.error {
        return Outcome::NotRestarted(error.to_string()).into();
    }
    settled.rolled_out(&uid, revision);
    let again = Some(if followed.is_absent { ABSENT } else { PRESENT });
    Finished { outcome: exported, remaining: None, again }
}
