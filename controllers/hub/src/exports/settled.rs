//! Which exports are in place, and for which content their workloads were restarted: recorded in memory only.

use std::collections::BTreeMap;

use kraken_api::ConfigExportStatus;
use kraken_runtime::hash::HashMap;
use parking_lot::Mutex;

use crate::{store::index::ObjectRef, watch::cluster_state::Version};

/// Exports that are in place, with the versions of all their sources: while these are unchanged, nothing is read, and no
/// digest of a value is stored.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    places: Mutex<HashMap<String, SettledVersions>>,
    /// The digest for which the workloads of each export were last restarted: newer than the status in the cache.
    digests: Mutex<HashMap<String, String>>,
}

/// The versions with which an export is in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettledVersions {
    pub(super) generation: Option<i64>,
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
        self.digests.lock().remove(uid);
    }

    /// Whether the workloads have not been restarted for the content with this digest. The first content restarts nothing: pods
    /// wait for their ConfigMap or Secret.
    pub(super) fn is_restart_due(
        &self,
        uid: &str,
        status: Option<&ConfigExportStatus>,
        digest: &str,
    ) -> bool {
        let digests = self.digests.lock();
        let reported = || status.and_then(|status| status.content_digest.as_ref());
        digests.get(uid).or_else(reported).is_some_and(|before| before != digest)
    }

    pub(super) fn restarted(&self, uid: &str, digest: &str) {
        self.digests.lock().insert(uid.to_owned(), digest.to_owned());
    }

    /// The digest for which this process last restarted the workloads. The status in the cache may be older: what it keeps must
    /// not be written back.
    pub(super) fn last_digest(&self, uid: &str) -> Option<String> {
        self.digests.lock().get(uid).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            settled.last_digest("e").as_deref(),
            Some("2"),
            "what a reconcile with an old cache reports"
        );
        settled.forget("e");
        assert!(!settled.is_restart_due("e", Some(&status(Some("1"))), "1"));
    }

    #[test]
    fn an_export_is_settled_only_with_the_same_versions() {
        let version = |resource_version: &str| {
            Some(Version { uid: "u".into(), resource_version: resource_version.into() })
        };
        let settled = Settled::default();
        let place = |target| SettledVersions { generation: Some(1), inputs: BTreeMap::new(), target };
        settled.set("e".into(), place(version("1")));
        assert!(settled.is("e", &place(version("1"))));
        assert!(!settled.is("e", &place(version("2"))), "edited manually");
        assert!(!settled.is("e", &place(None)), "deleted manually");
        assert!(
            !settled.is("e", &SettledVersions { generation: Some(2), ..place(version("1")) }),
            "another spec"
        );
        settled.forget("e");
        assert!(!settled.is("e", &place(version("1"))));
    }
}
