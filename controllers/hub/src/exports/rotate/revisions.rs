//! With `rotate`: the names of the targets, the choice of the current one, and which former ones are deleted. Pure.

use std::cmp::Reverse;

use kraken_api::ConfigExportSpec;

use crate::{exports::decide::Observed, store::index::ObjectRef, watch::cluster_state::Version};

/// The name of the target with this revision.
pub(crate) fn name(base: &str, revision: i64) -> String {
    format!("{base}-{revision}")
}

/// The target with this revision; `plain`: the target without a revision.
pub(crate) fn named(plain: &ObjectRef, revision: i64) -> ObjectRef {
    ObjectRef::new(plain.class, &plain.key.namespace, &name(&plain.key.name, revision))
}

/// The revision in the name of a target.
pub(crate) fn of_name(base: &str, target: &str) -> Option<i64> {
    let digits = target.strip_prefix(base)?.strip_prefix('-')?;
    // Fewer than the largest i64, so that there always is a next one.
    let revision = i64::from(digits.parse::<u32>().ok()?);
    // Not `-01` or `-+1`, which are names of others.
    (revision > 0 && name(base, revision) == target).then_some(revision)
}

/// The revision of a target of this export; 0 for the one that it had before `rotate` was set.
fn revision_of(plain: &ObjectRef, target: &ObjectRef) -> Option<i64> {
    if target == plain {
        return Some(0);
    }
    (target.class == plain.class).then(|| of_name(&plain.key.name, &target.key.name)).flatten()
}

/// The targets that are deleted: those that the spec no longer names, and all but the newest `kept` former ones. `current`: the
/// newest target, which is never deleted.
pub(crate) fn surplus(
    owned: Vec<ObjectRef>,
    plain: &ObjectRef,
    current: &ObjectRef,
    kept: usize,
) -> Vec<ObjectRef> {
    let others = owned.into_iter().filter(|target| target != current);
    let (mut former, mut surplus): (Vec<_>, Vec<_>) =
        others.partition(|target| revision_of(plain, target).is_some());
    former.sort_by_key(|target| Reverse(revision_of(plain, target)));
    surplus.extend(former.into_iter().skip(kept));
    surplus
}

/// The newest revision that is known, which may have been deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    /// Its number; 0 if there was none.
    pub(crate) revision: i64,
    /// Whether it is certain that it had the desired content.
    pub(crate) had_content: bool,
}

impl Newest {
    /// Whether a missing target of this revision is created. One that was deleted is created with the content that it had, and
    /// never with another.
    pub(crate) fn may_create(self, revision: i64) -> bool {
        revision > self.revision || self.had_content
    }
}

/// The action on the target of one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing: it is the current target.
    Keep(Version),
    /// Update the labels and annotations of this version: it is the current target.
    Label(Version),
    /// Create it.
    Create,
    /// Nothing: the next revision is examined.
    Next,
    /// Nothing: it is not owned by this export.
    Refuse(String),
}

/// Decides the action. `is_labelled`: whether its labels and annotations are the desired ones.
pub(crate) fn step(observed: Observed, is_labelled: bool, may_create: bool) -> Step {
    match observed {
        Observed::Absent if may_create => Step::Create,
        Observed::Foreign(owner) => Step::Refuse(owner),
        Observed::Owned { version, matches: true, immutable: true } if is_labelled => Step::Keep(version),
        Observed::Owned { version, matches: true, immutable: true } => Step::Label(version),
        // Pods may still have the content of a target that is being deleted.
        Observed::Absent | Observed::Terminating | Observed::Owned { .. } => Step::Next,
    }
}

/// A name that both exports of one namespace would give a target.
pub(crate) fn shared_name(one: &ConfigExportSpec, other: &ConfigExportSpec) -> Option<String> {
    if one.config_type != other.config_type {
        return None;
    }
    let (first, second) = (&one.config_metadata.name, &other.config_metadata.name);
    let is_shared = match (one.rotate, other.rotate) {
        (false, true) => return shared_name(other, one),
        (true, false) => of_name(first, second).is_some(),
        (true, true) | (false, false) => first == second,
    };
    is_shared.then(|| if other.rotate { name(second, 1) } else { second.clone() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{exports::resolve::tests::spec, store::index::Class};

    fn target(name: &str) -> ObjectRef {
        ObjectRef::new(Class::ConfigMap, "ns", name)
    }

    fn version() -> Version {
        Version { uid: "t-1".into(), resource_version: "7".into() }
    }

    fn surplus_names(owned: &[&str], current: &str, kept: usize) -> Vec<String> {
        let owned = owned.iter().map(|name| target(name)).collect();
        let surplus = surplus(owned, &target("app"), &target(current), kept);
        surplus.into_iter().map(|target| target.key.name.to_string()).collect()
    }

    #[test]
    fn a_revision_is_read_from_its_exact_name_only() {
        assert_eq!(of_name("app", &name("app", 12)), Some(12));
        for other in
            ["app", "app-", "app-0", "app-01", "app-+1", "app--1", "app-1a", "app-1-2", "web-1", "app1"]
        {
            assert_eq!(of_name("app", other), None, "{other}");
        }
        assert_eq!(of_name("app-1", "app-1-2"), Some(2));
    }

    #[test]
    fn the_newest_former_targets_are_kept() {
        let owned = ["app-1", "app-10", "app-2", "app-9"];
        assert_eq!(surplus_names(&owned, "app-10", 10), [""; 0]);
        assert_eq!(surplus_names(&owned, "app-10", 2), ["app-1"]);
        assert_eq!(surplus_names(&owned, "app-10", 0), ["app-9", "app-2", "app-1"]);
        assert_eq!(surplus_names(&owned, "app-11", 3), ["app-1"], "the current one is not cached yet");
    }

    #[test]
    fn the_target_without_a_revision_is_the_oldest_former_one() {
        assert_eq!(surplus_names(&["app", "app-1", "app-2"], "app-2", 2), [""; 0]);
        assert_eq!(surplus_names(&["app", "app-1", "app-2"], "app-2", 1), ["app"]);
    }

    #[test]
    fn targets_that_the_spec_no_longer_names_are_deleted() {
        assert_eq!(surplus_names(&["app-1", "web", "web-3"], "app-1", 10), ["web", "web-3"]);
        let secret = ObjectRef::new(Class::Secret, "ns", "app-1");
        assert_eq!(surplus(vec![secret.clone()], &target("app"), &target("app-2"), 10), [secret]);
    }

    #[test]
    fn a_content_has_one_target_and_a_target_one_content() {
        let owned = |matches, immutable| Observed::Owned { version: version(), matches, immutable };
        assert_eq!(step(owned(true, true), true, false), Step::Keep(version()));
        assert_eq!(step(owned(true, true), false, false), Step::Label(version()));
        assert_eq!(step(owned(false, true), true, false), Step::Next);
        assert_eq!(step(owned(true, false), true, false), Step::Next, "its content may change");
        assert_eq!(step(Observed::Terminating, true, true), Step::Next);
        assert_eq!(step(Observed::Foreign("x".into()), true, true), Step::Refuse("x".into()));
        assert_eq!(step(Observed::Absent, true, true), Step::Create);
        assert_eq!(step(Observed::Absent, true, false), Step::Next);
    }

    #[test]
    fn a_deleted_target_is_recreated_only_with_its_content() {
        let newest = |had_content| Newest { revision: 3, had_content };
        assert!(newest(true).may_create(3));
        assert!(!newest(false).may_create(3));
        assert!(newest(false).may_create(4));
        assert!(Newest { revision: 0, had_content: false }.may_create(1), "the first");
    }

    #[test]
    fn exports_share_a_name_with_and_without_revisions() {
        let export = |name: &str, rotate: bool| {
            let mut spec = spec("ConfigMap", json!([{"key": "a", "value": "x"}]));
            spec.config_metadata.name = name.to_owned();
            spec.rotate = rotate;
            spec
        };
        let shared = |one: (&str, bool), other: (&str, bool)| {
            let (one, other) = (export(one.0, one.1), export(other.0, other.1));
            let shared = shared_name(&one, &other);
            assert_eq!(shared, shared_name(&other, &one));
            shared
        };
        assert_eq!(shared(("a", false), ("a", false)).as_deref(), Some("a"));
        assert_eq!(shared(("a", true), ("a", true)).as_deref(), Some("a-1"));
        assert_eq!(shared(("a", true), ("a-3", false)).as_deref(), Some("a-3"));
        for (one, other) in [
            (("a", false), ("b", false)),
            (("a", true), ("a", false)),
            (("a", true), ("a-b", false)),
            (("a", true), ("a-3", true)),
        ] {
            assert_eq!(shared(one, other), None, "{one:?} {other:?}");
        }
        let mut secret = export("a", false);
        secret.config_type = kraken_api::ConfigType::Secret;
        assert_eq!(shared_name(&export("a", false), &secret), None);
    }
}
