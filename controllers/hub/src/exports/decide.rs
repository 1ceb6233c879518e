//! Step 2: the desired content and the observed object -> the action. Pure.

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kraken_api::{EXPORTED_BY_ANNOTATION, EXPORTED_BY_NAME_ANNOTATION};
use kube::api::ObjectMeta;

use crate::{exports::resolve::Content, store::version::Version, watch::owned::controlling_export};

/// The observed object with the target's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    /// It does not exist.
    Absent,
    /// An object that this export does not own: its owner, as a phrase.
    Foreign(String),
    /// Owned by this export, being deleted, with a finalizer of another controller.
    Terminating,
    /// Owned by this export.
    Owned {
        /// The observed version.
        version: Version,
        /// Whether its content equals the desired content.
        matches: bool,
        /// Whether it is immutable.
        immutable: bool,
    },
}

/// The action on the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Create it.
    Create,
    /// Update this version.
    Update(Version),
    /// Delete this version and recreate it, because it is immutable.
    Replace(Version),
    /// Delete this version.
    Delete(Version),
    /// Nothing: it is in place.
    Keep(Version),
    /// Nothing: it does not exist and is not desired.
    None,
    /// Nothing: it is not owned by this export.
    Refuse(String),
    /// Wait for its deletion, and recreate it.
    AwaitDeletion,
}

/// The names of all actions, for the coverage table of the deterministic simulation.
pub const ACTIONS: [&str; 8] =
    ["create", "update", "replace", "delete", "keep", "none", "refuse", "await deletion"];

impl Action {
    /// The action as one word, for logs.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update(_) => "update",
            Self::Replace(_) => "replace",
            Self::Delete(_) => "delete",
            Self::Keep(_) => "keep",
            Self::None => "none",
            Self::Refuse(_) => "refuse",
            Self::AwaitDeletion => "await deletion",
        }
    }
}

/// Decides the action; `desired` is false while an entry has no value.
pub(crate) fn decide(desired: bool, observed: Observed) -> Action {
    match (desired, observed) {
        (true, Observed::Absent) => Action::Create,
        (true, Observed::Foreign(owner)) => Action::Refuse(owner),
        (true, Observed::Terminating) => Action::AwaitDeletion,
        (true, Observed::Owned { version, matches: true, .. }) => Action::Keep(version),
        (true, Observed::Owned { version, immutable: true, .. }) => Action::Replace(version),
        (true, Observed::Owned { version, .. }) => Action::Update(version),
        (false, Observed::Owned { version, .. }) => Action::Delete(version),
        (false, Observed::Absent | Observed::Foreign(_) | Observed::Terminating) => Action::None,
    }
}

/// What identifies an export to its targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exporter<'a> {
    /// Its UID.
    pub(crate) uid: &'a str,
    /// Its name.
    pub(crate) name: &'a str,
}

/// The beginning of the phrase for a target that another export controls; its name follows.
pub(crate) const OF_ANOTHER_EXPORT: &str = "belongs to ConfigExport ";
/// The phrase for an object that nobody controls.
pub(crate) const NOT_CREATED: &str = "was not created by this ConfigExport";

/// Classifies an object with the target's name for a ConfigExport. `is_recorded`: the status of the export names this object as its
/// target.
pub(crate) fn observed(
    meta: &ObjectMeta,
    exporter: Exporter<'_>,
    is_recorded: bool,
    matches: bool,
    immutable: Option<bool>,
) -> Observed {
    let is_marked = is_marked(meta, exporter.uid);
    match controlling_export(meta) {
        _ if is_left_behind(meta, exporter) => {}
        // Others may add the export as an owner, so that their object is garbage-collected with it.
        Some(controlling_export) if controlling_export.uid == exporter.uid && !is_recorded && !is_marked => {
            return Observed::Foreign("was not written by this ConfigExport, which is its owner".to_owned());
        }
        Some(controlling_export) if controlling_export.uid == exporter.uid => {}
        Some(controlling_export) => {
            return Observed::Foreign(format!("{OF_ANOTHER_EXPORT}{}", controlling_export.name));
        }
        None => return Observed::Foreign(foreign_owner(meta)),
    }
    if meta.deletion_timestamp.is_some() {
        return Observed::Terminating;
    }
    let version = Version {
        uid: meta.uid.clone().unwrap_or_default(),
        resource_version: meta.resource_version.clone().unwrap_or_default(),
    };
    Observed::Owned { version, matches, immutable: immutable == Some(true) }
}

/// Whether the export with this UID wrote the object.
pub(crate) fn is_marked(meta: &ObjectMeta, uid: &str) -> bool {
    mark(meta, EXPORTED_BY_ANNOTATION) == Some(uid)
}

/// Whether the object has no owner that exists, and is a target of this export, or of an earlier one of the same namespace and name:
/// it was restored from a backup, or the earlier export was deleted with `--cascade=orphan`. Two exports of one name cannot exist at
/// the same time.
pub(crate) fn is_left_behind(meta: &ObjectMeta, exporter: Exporter<'_>) -> bool {
    let Some(marked_by) = mark(meta, EXPORTED_BY_ANNOTATION) else { return false };
    let is_of_this_name = mark(meta, EXPORTED_BY_NAME_ANNOTATION) == Some(exporter.name);
    match meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true)) {
        None => marked_by == exporter.uid || is_of_this_name,
        Some(_) => controlling_export(meta).is_some_and(|former| {
            former.uid != exporter.uid
                && former.uid == marked_by
                && former.name == exporter.name
                && is_of_this_name
        }),
    }
}

fn mark<'a>(meta: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(name).map(String::as_str)
}

fn foreign_owner(meta: &ObjectMeta) -> String {
    match meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true)) {
        Some(owner) => format!("belongs to {} {}", owner.kind, owner.name),
        None => NOT_CREATED.to_owned(),
    }
}

/// Whether a ConfigMap has exactly this content.
pub(crate) fn map_matches(object: &ConfigMap, content: &Content) -> bool {
    let data = object.data.iter().flatten();
    let has_binary = object.binary_data.as_ref().is_some_and(|data| !data.is_empty());
    !has_binary
        && data.clone().count() == content.0.len()
        && data
            .into_iter()
            .all(|(key, text)| content.0.get(key).is_some_and(|value| value.expose().0 == *text))
}

/// Whether a Secret has exactly this content.
pub(crate) fn secret_matches(object: &Secret, content: &Content) -> bool {
    let data = object.data.iter().flatten();
    data.clone().count() == content.0.len()
        && data.into_iter().all(|(key, ByteString(bytes))| {
            content.0.get(key).is_some_and(|value| value.expose().0.as_bytes() == bytes)
        })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
    use kraken_options::{Resolved, Text};

    use super::*;

    const ME: Exporter<'_> = Exporter { uid: "me", name: "mine" };

    fn version() -> Version {
        Version { uid: "t-1".into(), resource_version: "7".into() }
    }

    fn owned(matches: bool, immutable: bool) -> Observed {
        Observed::Owned { version: version(), matches, immutable }
    }

    fn controlled_by(kind: &str, uid: &str) -> ObjectMeta {
        ObjectMeta {
            uid: Some("t-1".into()),
            resource_version: Some("7".into()),
            annotations: Some([(EXPORTED_BY_ANNOTATION.to_owned(), uid.to_owned())].into()),
            owner_references: Some(vec![OwnerReference {
                api_version: "configexport.kraken-iac.eoinfennessy.com/v1alpha1".into(),
                kind: kind.into(),
                name: "first".into(),
                uid: uid.into(),
                controller: Some(true),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        }
    }

    fn content(entries: &[(&str, &str)]) -> Content {
        let value = |text: &str| Resolved::Public(Text(text.to_owned()));
        Content(entries.iter().map(|(key, text)| ((*key).to_owned(), value(text))).collect())
    }

    fn map(entries: &[(&str, &str)]) -> ConfigMap {
        let data = entries.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        ConfigMap { data: Some(data), ..ConfigMap::default() }
    }

    #[test]
    fn a_desired_target_is_created_updated_or_kept() {
        assert_eq!(decide(true, Observed::Absent), Action::Create);
        assert_eq!(decide(true, owned(false, false)), Action::Update(version()));
        assert_eq!(decide(true, owned(true, false)), Action::Keep(version()));
        assert_eq!(decide(true, owned(true, true)), Action::Keep(version()));
    }

    #[test]
    fn an_immutable_target_is_recreated() {
        assert_eq!(decide(true, owned(false, true)), Action::Replace(version()));
        assert_eq!(decide(true, Observed::Terminating), Action::AwaitDeletion);
    }

    #[test]
    fn an_undesired_target_is_deleted_only_if_it_is_owned() {
        assert_eq!(decide(false, owned(true, false)), Action::Delete(version()));
        for other in [Observed::Absent, Observed::Terminating, Observed::Foreign("x".into())] {
            assert_eq!(decide(false, other), Action::None);
        }
    }

    #[test]
    fn a_foreign_object_is_never_changed() {
        assert_eq!(decide(true, Observed::Foreign("x".into())), Action::Refuse("x".into()));
        let state_of = |meta: &ObjectMeta| observed(meta, ME, true, true, None);
        assert_eq!(
            state_of(&ObjectMeta::default()),
            Observed::Foreign("was not created by this ConfigExport".into())
        );
        assert_eq!(
            state_of(&controlled_by("ConfigExport", "other")),
            Observed::Foreign("belongs to ConfigExport first".into())
        );
        assert_eq!(
            state_of(&controlled_by("Deployment", "me")),
            Observed::Foreign("belongs to Deployment first".into())
        );
    }

    #[test]
    fn an_owned_target_is_identified_by_the_uid_of_its_owner() {
        let mut meta = controlled_by("ConfigExport", "me");
        assert_eq!(observed(&meta, ME, false, true, None), owned(true, false));
        assert_eq!(observed(&meta, ME, false, false, Some(true)), owned(false, true));
        meta.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        assert_eq!(observed(&meta, ME, false, true, None), Observed::Terminating);
    }

    #[test]
    fn a_target_that_an_export_of_this_name_left_behind_is_taken_over() {
        let state_of = |meta: &ObjectMeta| observed(meta, ME, false, false, None);
        let marked = |uid: &str, name: Option<&str>| {
            let uid = (EXPORTED_BY_ANNOTATION.to_owned(), uid.to_owned());
            let name = name.map(|name| (EXPORTED_BY_NAME_ANNOTATION.to_owned(), name.to_owned()));
            let version = ("t-1".to_owned(), "7".to_owned());
            ObjectMeta {
                annotations: Some([uid].into_iter().chain(name).collect()),
                uid: Some(version.0),
                resource_version: Some(version.1),
                ..ObjectMeta::default()
            }
        };
        assert_eq!(state_of(&marked("former", Some("mine"))), owned(false, false));
        assert_eq!(state_of(&marked("me", None)), owned(false, false), "restored, or marked by a person");
        for (uid, name) in [("former", None), ("former", Some("other"))] {
            assert_eq!(state_of(&marked(uid, name)), Observed::Foreign(NOT_CREATED.into()), "{uid} {name:?}");
        }
        // Kubernetes has not deleted it yet.
        let mut meta = marked("former", Some("mine"));
        let of = |name: &str, uid: &str| {
            let mut owners = controlled_by("ConfigExport", uid).owner_references;
            owners.as_mut().unwrap()[0].name = name.to_owned();
            owners
        };
        meta.owner_references = of("mine", "former");
        assert_eq!(state_of(&meta), owned(false, false));
        meta.owner_references = of("other", "former");
        assert_eq!(state_of(&meta), Observed::Foreign("belongs to ConfigExport other".into()));
        meta.owner_references = controlled_by("Deployment", "former").owner_references;
        assert!(matches!(state_of(&meta), Observed::Foreign(_)));
        let mut meta = marked("former", Some("mine"));
        meta.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        assert_eq!(state_of(&meta), Observed::Terminating);
    }

    #[test]
    fn an_owner_reference_without_the_mark_is_not_ownership() {
        let mut meta = controlled_by("ConfigExport", "me");
        meta.annotations = None;
        let Observed::Foreign(why) = observed(&meta, ME, false, true, None) else { panic!() };
        assert_eq!(why, "was not written by this ConfigExport, which is its owner");
        assert_eq!(decide(false, Observed::Foreign(why)), Action::None, "it is not deleted");
        assert_eq!(observed(&meta, ME, true, true, None), owned(true, false), "its status names it");
        meta.annotations = Some([(EXPORTED_BY_ANNOTATION.to_owned(), "other".to_owned())].into());
        assert!(matches!(observed(&meta, ME, false, true, None), Observed::Foreign(_)));
    }

    #[test]
    fn a_target_matches_only_with_exactly_the_desired_content() {
        let desired = content(&[("a", "1"), ("b", "2")]);
        assert!(map_matches(&map(&[("a", "1"), ("b", "2")]), &desired));
        for other in [
            &[("a", "1")][..],
            &[("a", "1"), ("b", "3")],
            &[("a", "1"), ("c", "2")],
            &[("a", "1"), ("b", "2"), ("c", "3")],
        ] {
            assert!(!map_matches(&map(other), &desired), "{other:?}");
        }
        assert!(!map_matches(&ConfigMap::default(), &desired));
        let mut binary = map(&[("a", "1"), ("b", "2")]);
        binary.binary_data = Some([("c".to_owned(), ByteString(vec![1]))].into());
        assert!(!map_matches(&binary, &desired));
        let secret = |text: &str| Secret {
            data: Some([("a".to_owned(), ByteString(text.into()))].into()),
            ..Secret::default()
        };
        assert!(secret_matches(&secret("1"), &content(&[("a", "1")])));
        assert!(!secret_matches(&secret("2"), &content(&[("a", "1")])));
    }
}
