//! Step 2: what is wanted and what is there -> what is done. Pure.

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kraken_api::EXPORTED_BY_ANNOTATION;
use kraken_runtime::mutants::{self, Mutant};
use kube::api::ObjectMeta;

use crate::{exports::resolve::Content, owned::maker, world::Version};

/// What was found in the target's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Nothing.
    Absent,
    /// An object of somebody else: who, as a phrase.
    Foreign(String),
    /// Our own, which is being deleted and waits for a finalizer of somebody else.
    Leaving,
    /// Our own.
    Ours {
        /// Which version of it.
        version: Version,
        /// Whether it holds exactly what is wanted.
        matches: bool,
        /// Whether Kubernetes refuses to change it.
        immutable: bool,
    },
}

/// What is done with the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is made.
    Create,
    /// This version of it is changed.
    Update(Version),
    /// This version of it is deleted and made anew, because it cannot be changed.
    Replace(Version),
    /// This version of it is deleted.
    Delete(Version),
    /// It is as it should be.
    Keep(Version),
    /// There is nothing, as it should be.
    None,
    /// It is somebody else's, and left alone.
    Refuse(String),
    /// It is made anew when it is gone.
    AwaitDeletion,
}

/// The words of all actions, for the deterministic simulation's table of what was reached.
pub const ACTIONS: [&str; 8] =
    ["create", "update", "replace", "delete", "keep", "none", "refuse", "await deletion"];

impl Action {
    /// The action as one word, for logs.
    pub fn verb(&self) -> &'static str {
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

/// Decides; `wanted` is false while an entry has no value.
pub fn decide(wanted: bool, observed: Observed) -> Action {
    match (wanted, observed) {
        (true, Observed::Absent) => Action::Create,
        (true, Observed::Foreign(owner)) => Action::Refuse(owner),
        (true, Observed::Leaving) => Action::AwaitDeletion,
        (true, Observed::Ours { version, matches: true, .. }) => Action::Keep(version),
        (true, Observed::Ours { version, immutable: true, .. }) => Action::Replace(version),
        (true, Observed::Ours { version, .. }) => Action::Update(version),
        (false, Observed::Ours { version, .. }) => Action::Delete(version),
        (false, Observed::Absent | Observed::Foreign(_) | Observed::Leaving) => Action::None,
    }
}

/// Looks at an object in the target's place for the ConfigExport with this UID. `is_recorded`: its status says that it wrote
/// this object.
pub fn observed(
    meta: &ObjectMeta,
    uid: &str,
    is_recorded: bool,
    matches: bool,
    immutable: Option<bool>,
) -> Observed {
    match maker(meta) {
        // Others may make an object the export's too, so that it goes with it.
        Some(maker)
            if maker.uid == uid
                && !is_recorded
                && !is_marked(meta, uid)
                && !mutants::active(Mutant::StrayByOwner) =>
        {
            return Observed::Foreign("was not written by this ConfigExport, which is its owner".to_owned());
        }
        Some(maker) if maker.uid == uid => {}
        Some(maker) => return Observed::Foreign(format!("belongs to ConfigExport {}", maker.name)),
        None => return Observed::Foreign(stranger(meta)),
    }
    if meta.deletion_timestamp.is_some() {
        return Observed::Leaving;
    }
    let version = Version {
        uid: meta.uid.clone().unwrap_or_default(),
        resource_version: meta.resource_version.clone().unwrap_or_default(),
    };
    Observed::Ours { version, matches, immutable: immutable == Some(true) }
}

fn is_marked(meta: &ObjectMeta, uid: &str) -> bool {
    let marks = meta.annotations.as_ref();
    marks.and_then(|marks| marks.get(EXPORTED_BY_ANNOTATION)).is_some_and(|mark| mark == uid)
}

fn stranger(meta: &ObjectMeta) -> String {
    match meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true)) {
        Some(owner) => format!("belongs to {} {}", owner.kind, owner.name),
        None => "was not made by this ConfigExport".to_owned(),
    }
}

/// Whether a ConfigMap holds exactly this.
pub fn map_holds(object: &ConfigMap, content: &Content) -> bool {
    let data = object.data.iter().flatten();
    let has_binary = object.binary_data.as_ref().is_some_and(|data| !data.is_empty());
    !has_binary
        && (data.clone().count() == content.0.len() || mutants::active(Mutant::ExportKeepsKeys))
        && data
            .into_iter()
            .filter(|(key, _)| content.0.contains_key(*key) || !mutants::active(Mutant::ExportKeepsKeys))
            .all(|(key, text)| content.0.get(key).is_some_and(|value| value.expose().0 == *text))
}

/// Whether a Secret holds exactly this.
pub fn secret_holds(object: &Secret, content: &Content) -> bool {
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

    fn version() -> Version {
        Version { uid: "t-1".into(), resource_version: "7".into() }
    }

    fn ours(matches: bool, immutable: bool) -> Observed {
        Observed::Ours { version: version(), matches, immutable }
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
    fn what_is_wanted_is_made_changed_or_left_as_it_is() {
        assert_eq!(decide(true, Observed::Absent), Action::Create);
        assert_eq!(decide(true, ours(false, false)), Action::Update(version()));
        assert_eq!(decide(true, ours(true, false)), Action::Keep(version()));
        assert_eq!(decide(true, ours(true, true)), Action::Keep(version()));
    }

    #[test]
    fn what_cannot_be_changed_is_made_anew() {
        assert_eq!(decide(true, ours(false, true)), Action::Replace(version()));
        assert_eq!(decide(true, Observed::Leaving), Action::AwaitDeletion);
    }

    #[test]
    fn what_is_not_wanted_is_deleted_only_if_it_is_ours() {
        assert_eq!(decide(false, ours(true, false)), Action::Delete(version()));
        for other in [Observed::Absent, Observed::Leaving, Observed::Foreign("x".into())] {
            assert_eq!(decide(false, other), Action::None);
        }
    }

    #[test]
    fn somebody_elses_object_is_never_touched() {
        assert_eq!(decide(true, Observed::Foreign("x".into())), Action::Refuse("x".into()));
        let look = |meta: &ObjectMeta| observed(meta, "me", true, true, None);
        assert_eq!(
            look(&ObjectMeta::default()),
            Observed::Foreign("was not made by this ConfigExport".into())
        );
        assert_eq!(
            look(&controlled_by("ConfigExport", "other")),
            Observed::Foreign("belongs to ConfigExport first".into())
        );
        assert_eq!(
            look(&controlled_by("Deployment", "me")),
            Observed::Foreign("belongs to Deployment first".into())
        );
    }

    #[test]
    fn our_own_is_known_by_the_uid_of_its_owner() {
        let mut meta = controlled_by("ConfigExport", "me");
        assert_eq!(observed(&meta, "me", false, true, None), ours(true, false));
        assert_eq!(observed(&meta, "me", false, false, Some(true)), ours(false, true));
        meta.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
        assert_eq!(observed(&meta, "me", false, true, None), Observed::Leaving);
    }

    #[test]
    fn an_object_that_somebody_else_made_the_exports_is_not_its_own() {
        let mut meta = controlled_by("ConfigExport", "me");
        meta.annotations = None;
        let Observed::Foreign(why) = observed(&meta, "me", false, true, None) else { panic!() };
        assert_eq!(why, "was not written by this ConfigExport, which is its owner");
        assert_eq!(decide(false, Observed::Foreign(why)), Action::None, "it is not a stray");
        assert_eq!(observed(&meta, "me", true, true, None), ours(true, false), "its status names it");
        meta.annotations = Some([(EXPORTED_BY_ANNOTATION.to_owned(), "other".to_owned())].into());
        assert!(matches!(observed(&meta, "me", false, true, None), Observed::Foreign(_)));
    }

    #[test]
    fn a_target_matches_only_if_it_holds_that_and_nothing_else() {
        let wanted = content(&[("a", "1"), ("b", "2")]);
        assert!(map_holds(&map(&[("a", "1"), ("b", "2")]), &wanted));
        for other in [
            &[("a", "1")][..],
            &[("a", "1"), ("b", "3")],
            &[("a", "1"), ("c", "2")],
            &[("a", "1"), ("b", "2"), ("c", "3")],
        ] {
            assert!(!map_holds(&map(other), &wanted), "{other:?}");
        }
        assert!(!map_holds(&ConfigMap::default(), &wanted));
        let mut binary = map(&[("a", "1"), ("b", "2")]);
        binary.binary_data = Some([("c".to_owned(), ByteString(vec![1]))].into());
        assert!(!map_holds(&binary, &wanted));
        let secret = |text: &str| Secret {
            data: Some([("a".to_owned(), ByteString(text.into()))].into()),
            ..Secret::default()
        };
        assert!(secret_holds(&secret("1"), &content(&[("a", "1")])));
        assert!(!secret_holds(&secret("2"), &content(&[("a", "1")])));
    }
}
