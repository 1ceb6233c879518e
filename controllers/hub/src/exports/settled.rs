//! Which exports are in place, and for which content their workloads were restarted: recorded in memory, because the status in
//! the cache may be older.

use std::collections::BTreeMap;

use kraken_api::ConfigExportStatus;
use kraken_runtime::hash::HashMap;
use parking_lot::Mutex;

use crate::{exports::SpecVersion, store::index::ObjectRef, watch::cluster_state::Version};

/// The highest revision in a status: there is a next one that is read from a name.
const MAX_REVISION: i64 = u32::MAX as i64 - 1;

/// Exports that are in place, with the versions of all their sources: while these are unchanged, nothing is read, and no
/// digest of a value is stored.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    places: Mutex<HashMap<String, SettledVersions>>,
    /// The progress of each export in this process: newer than the status in the cache, which must not be written back.
    progress: Mutex<HashMap<String, Progress>>,
}

/// The last content of an export, and whether its workloads have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The digest of the content for which the workloads were last restarted; with `rotate`, of the newest target.
    pub(crate) digest: Option<String>,
    /// With `rotate`: the revision of the newest target.
    pub(crate) revision: Option<i64>,
    /// With `rotate`: the revision that the workloads were last set to.
    pub(crate) rolled_out: Option<i64>,
    /// The digests of the values of resources that the target has.
    pub(crate) sources: Option<BTreeMap<String, String>>,
}

impl Progress {
    /// The reported progress.
    pub(crate) fn of(status: Option<&ConfigExportStatus>) -> Self {
        status.map_or_else(Self::default, |status| Self {
            digest: status.content_digest.clone(),
            revision: status.revision.filter(is_revision),
            rolled_out: status.rolled_out_revision.filter(is_revision),
            sources: Some(status.sources.clone()),
        })
    }

    /// This progress, with what it lacks from an older one.
    pub(crate) fn or(self, older: Self) -> Self {
        Self {
            digest: self.digest.or(older.digest),
            revision: self.revision.or(older.revision),
            rolled_out: self.rolled_out.or(older.rolled_out),
            sources: self.sources.or(older.sources),
        }
    }
}

/// Not an edited number, from which there is no next one that can be part of a name.
fn is_revision(revision: &i64) -> bool {
    (1..=MAX_REVISION).contains(revision)
}

/// The versions with which an export is in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettledVersions {
    pub(super) spec: SpecVersion,
    pub(super) inputs: BTreeMap<ObjectRef, Option<Version>>,
    pub(super) target: Option<Version>,
}

impl Settled {
    pub(super) fn is(&self, uid: &str, place: &SettledVersions) -> bool {
        place.target.is_some() && self.places.lock().get(uid) == Some(place)
    }

    pub(super) fn set(&self, uid: String, place: SettledVersions) {
        self.places.lock().insert(uid, place);
    }

    /// Removes the export with this UID.
    pub(crate) fn forget(&self, uid: &str) {
        self.places.lock().remove(uid);
        self.progress.lock().remove(uid);
    }

    /// Whether the workloads have not been restarted for the content with this digest. The first content restarts nothing: pods
    /// wait for their ConfigMap or Secret.
    pub(super) fn is_restart_due(
        &self,
        uid: &str,
        status: Option<&ConfigExportStatus>,
        digest: &str,
    ) -> bool {
        self.last(uid).or(Progress::of(status)).digest.is_some_and(|before| before != digest)
    }

    pub(super) fn restarted(&self, uid: &str, digest: &str) {
        self.change(uid, |progress| progress.digest = Some(digest.to_owned()));
    }

    /// The newest target has this revision and this digest of its content.
    pub(super) fn rotated(&self, uid: &str, revision: i64, digest: Option<String>) {
        self.change(uid, |progress| {
            progress.revision = Some(revision);
            progress.digest = digest;
        });
    }

    /// The target has these values of resources.
    pub(super) fn exported(&self, uid: &str, sources: BTreeMap<String, String>) {
        self.change(uid, |progress| progress.sources = Some(sources));
    }

    /// All workloads were set to this revision.
    pub(super) fn rolled_out(&self, uid: &str, revision: i64) {
        self.change(uid, |progress| progress.rolled_out = Some(revision));
    }

    /// The progress in this process.
    pub(super) fn last(&self, uid: &str) -> Progress {
        self.progress.lock().get(uid).cloned().unwrap_or_default()
    }

    fn change(&self, uid: &str, change: impl FnOnce(&mut Progress)) {
        change(self.progress.lock().entry(uid.to_owned()).or_default());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::exports::resolve;

    #[test]
    fn an_edited_revision_is_ignored() {
        let of = |revision| {
            let status = ConfigExportStatus { revision: Some(revision), ..ConfigExportStatus::default() };
            Progress::of(Some(&status)).revision
        };
        assert_eq!(of(4), Some(4));
        for edited in [i64::MIN, -1, 0, 1_000_000_000_000, i64::MAX] {
            assert_eq!(of(edited), None, "{edited}");
        }
    }

    #[test]
    fn a_restart_is_due_when_the_content_differs_from_the_last_one() {
        let settled = Settled::default();
        let status = |digest: Option<&str>| ConfigExportStatus {
            content_digest: digest.map(str::to_owned),
            ..ConfigExportStatus::default()
        };
        assert!(!settled.is_restart_due("e", None, "1"), "the first content");
        assert!(!settled.is_restart_due("e", Some(&status(None)), "1"));
        assert!(!settled.is_restart_due("e", Some(&status(Some("1"))), "1"));
        assert!(settled.is_restart_due("e", Some(&status(Some("1"))), "2"), "changed while no hub ran");
        settled.restarted("e", "2");
        assert!(!settled.is_restart_due("e", Some(&status(Some("1"))), "2"), "the cached status is old");
        assert!(settled.is_restart_due("e", Some(&status(Some("1"))), "1"), "changed back");
        assert_eq!(
            settled.last("e").digest.as_deref(),
            Some("2"),
            "what a reconcile with an old cache reports"
        );
        settled.forget("e");
        assert!(!settled.is_restart_due("e", Some(&status(Some("1"))), "1"));
    }

    #[test]
    fn the_progress_of_this_process_replaces_an_older_status() {
        let settled = Settled::default();
        let status = ConfigExportStatus {
            revision: Some(3),
            rolled_out_revision: Some(3),
            ..ConfigExportStatus::default()
        };
        let progress = || {
            let progress = settled.last("e").or(Progress::of(Some(&status)));
            (progress.revision, progress.rolled_out)
        };
        assert_eq!(progress(), (Some(3), Some(3)));
        settled.rotated("e", 4, Some("d".to_owned()));
        assert_eq!(progress(), (Some(4), Some(3)), "the workloads still have the former target");
        settled.rolled_out("e", 4);
        assert_eq!(progress(), (Some(4), Some(4)));
    }

    #[test]
    fn an_export_is_settled_only_with_the_same_versions() {
        let version = |resource_version: &str| {
            Some(Version { uid: "u".into(), resource_version: resource_version.into() })
        };
        let settled = Settled::default();
        let spec = |generation: i64, text: &str| {
            let entries = json!([{"key": "a", "value": text}]);
            SpecVersion::new(Some(generation), &resolve::tests::spec("ConfigMap", entries))
        };
        let place = |target| SettledVersions { spec: spec(1, "x"), inputs: BTreeMap::new(), target };
        settled.set("e".into(), place(version("1")));
        assert!(settled.is("e", &place(version("1"))));
        assert!(!settled.is("e", &place(version("2"))), "edited manually");
        assert!(!settled.is("e", &place(None)), "deleted manually");
        assert!(
            !settled.is("e", &SettledVersions { spec: spec(2, "y"), ..place(version("1")) }),
            "another spec"
        );
        assert!(
            !settled.is("e", &SettledVersions { spec: spec(1, "y"), ..place(version("1")) }),
            "edited after a backup was restored"
        );
        settled.forget("e");
        assert!(!settled.is("e", &place(version("1"))));
    }
}
