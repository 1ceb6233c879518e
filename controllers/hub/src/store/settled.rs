//! Which exports are in place, and which content their workloads have: noted in memory, because the status in the cache may be
//! older.

use std::collections::BTreeMap;

use kraken_api::{ConfigExport, ConfigExportStatus};
use kraken_runtime::hash::HashMap;
use kube::ResourceExt;
use parking_lot::Mutex;

use crate::store::{dependents::export::SpecVersion, index::ObjectRef, version::Version};

/// Exports that are in place, with the versions of all their sources: while these are unchanged, nothing is read, and no
/// digest of a value is stored.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    places: Mutex<HashMap<String, Place>>,
    /// The progress of each export in this process: newer than the status in the cache, which must not be written back.
    progress: Mutex<HashMap<String, Progress>>,
}

/// How far an export is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The target that was written last, as the status names it.
    pub(crate) target: Option<String>,
    /// With `restart` and without `rotate`: the digest of the content for which the workloads were last restarted.
    pub(crate) digest: Option<String>,
    /// With `rotate`: the target that the workloads were last set to, as the status names it.
    pub(crate) rolled_out: Option<String>,
    /// The digests of the values of resources that the target has.
    pub(crate) sources: Option<BTreeMap<String, String>>,
}

impl Progress {
    /// The reported progress.
    pub(crate) fn of(status: Option<&ConfigExportStatus>) -> Self {
        status.map_or_else(Self::default, |status| Self {
            target: status.target.clone(),
            digest: status.content_digest.clone(),
            rolled_out: status.rolled_out_target.clone(),
            sources: Some(status.sources.clone()),
        })
    }

    /// This progress, with what it lacks from an older one.
    pub(crate) fn or(self, older: Self) -> Self {
        Self {
            target: self.target.or(older.target),
            digest: self.digest.or(older.digest),
            rolled_out: self.rolled_out.or(older.rolled_out),
            sources: self.sources.or(older.sources),
        }
    }
}

/// The inputs of an export, in the versions with which it is in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inputs {
    /// Its spec.
    pub(crate) spec: SpecVersion,
    /// The versions of the objects that it refers to.
    pub(crate) versions: BTreeMap<ObjectRef, Option<Version>>,
}

/// An export that is in place.
#[derive(Clone, Debug)]
struct Place {
    inputs: Inputs,
    target: ObjectRef,
    version: Version,
}

impl Settled {
    /// The target of an export that is in place with these inputs; `version`: the current version of an object.
    pub(crate) fn target(
        &self,
        uid: &str,
        inputs: &Inputs,
        version: impl FnOnce(&ObjectRef) -> Option<Version>,
    ) -> Option<ObjectRef> {
        let place = self.places.lock().get(uid).filter(|place| place.inputs == *inputs).cloned()?;
        (version(&place.target) == Some(place.version)).then_some(place.target)
    }

    /// An export is in place with this version of its target.
    pub(crate) fn set(&self, uid: String, inputs: Inputs, target: ObjectRef, version: Version) {
        self.places.lock().insert(uid, Place { inputs, target, version });
    }

    /// Removes the export with this UID.
    pub(crate) fn forget(&self, uid: &str) {
        self.places.lock().remove(uid);
        self.progress.lock().remove(uid);
    }

    /// The progress in this process, or what an earlier one reported.
    pub(crate) fn progress(&self, export: &ConfigExport) -> Progress {
        let last = self.last(&export.uid().unwrap_or_default());
        last.or(Progress::of(export.status.as_ref()))
    }

    /// The progress in this process.
    pub(crate) fn last(&self, uid: &str) -> Progress {
        self.progress.lock().get(uid).cloned().unwrap_or_default()
    }

    /// Notes progress.
    pub(crate) fn note(&self, uid: &str, change: impl FnOnce(&mut Progress)) {
        change(self.progress.lock().entry(uid.to_owned()).or_default());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::index::Class;

    #[test]
    fn the_progress_of_this_process_replaces_an_older_status() {
        let settled = Settled::default();
        let status = ConfigExportStatus {
            target: Some("ConfigMap/app-3".to_owned()),
            rolled_out_target: Some("ConfigMap/app-3".to_owned()),
            ..ConfigExportStatus::default()
        };
        let progress = || {
            let progress = settled.last("e").or(Progress::of(Some(&status)));
            (progress.target.unwrap_or_default(), progress.rolled_out.unwrap_or_default())
        };
        assert_eq!(progress(), ("ConfigMap/app-3".to_owned(), "ConfigMap/app-3".to_owned()));
        settled.note("e", |progress| progress.target = Some("ConfigMap/app-4".to_owned()));
        assert_eq!(
            progress(),
            ("ConfigMap/app-4".to_owned(), "ConfigMap/app-3".to_owned()),
            "the workloads still have the former target"
        );
        settled.forget("e");
        assert_eq!(progress().0, "ConfigMap/app-3");
    }

    #[test]
    fn an_export_is_settled_only_with_the_same_versions() {
        let version = |resource_version: &str| {
            Some(Version { uid: "u".into(), resource_version: resource_version.into() })
        };
        let settled = Settled::default();
        let inputs = |generation: i64, text: &str| {
            let spec = json!({
                "configType": "ConfigMap", "configMetadata": {"name": "app"},
                "entries": [{"key": "a", "value": text}],
            });
            let spec = SpecVersion::new(Some(generation), &serde_json::from_value(spec).unwrap());
            Inputs { spec, versions: BTreeMap::new() }
        };
        let target = ObjectRef::new(Class::ConfigMap, "ns", "app");
        settled.set("e".into(), inputs(1, "x"), target.clone(), version("1").unwrap());
        let found = |inputs: &Inputs, version: Option<Version>| {
            settled.target("e", inputs, |named| {
                assert_eq!(*named, target);
                version
            })
        };
        assert_eq!(found(&inputs(1, "x"), version("1")), Some(target.clone()));
        assert_eq!(found(&inputs(1, "x"), version("2")), None, "edited manually");
        assert_eq!(found(&inputs(1, "x"), None), None, "deleted manually");
        assert_eq!(found(&inputs(2, "y"), version("1")), None, "another spec");
        assert_eq!(found(&inputs(1, "y"), version("1")), None, "edited after a backup was restored");
        settled.forget("e");
        assert_eq!(found(&inputs(1, "x"), version("1")), None);
    }
}
