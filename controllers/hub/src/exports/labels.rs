//! The labels and annotations that a ConfigExport sets on its target. Pure.
//!
//! Others may label the target too, for example for a tool that watches it. Their labels are preserved: the names that the
//! export set are recorded on the target, and only these are removed when they are removed from the spec.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kraken_api::{
    CURRENT_SINCE_ANNOTATION, EXPORTED_BY_ANNOTATION, EXPORTED_BY_NAME_ANNOTATION,
    EXPORTED_METADATA_ANNOTATION, config_export::ConfigMetadata,
};
use kube::api::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::resolve::names::bounded;

/// The label with the manager of the target; always set.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The prefix of the recommended labels.
const RECOMMENDED: &str = "app.kubernetes.io";
/// The domain of Kraken's annotations.
const DOMAIN: &str = "kraken-iac.eoinfennessy.com";
/// The maximum size of all annotations, in bytes.
const MAX_ANNOTATIONS: usize = 64 * 1024;
/// The maximum length of the name of a label or annotation without its prefix, and of the value of a label.
const MAX_NAME: usize = 63;
/// The maximum length of the prefix of a name.
const MAX_PREFIX: usize = 253;

type Pairs = BTreeMap<String, String>;

/// The desired labels and annotations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labelling<'a> {
    labels: &'a Pairs,
    annotations: &'a Pairs,
    /// With `rotate`: since when the target is the current one.
    since: Option<Since>,
    /// The UID and the name of the export, which mark the target.
    marks: Option<(&'a str, &'a str)>,
}

/// Since when a target is the current one, by which former ones are ordered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since {
    /// The time.
    pub(crate) now: Timestamp,
    /// Whether another target was current before. Otherwise a noted time is kept.
    pub(crate) is_new: bool,
}

/// The names that an export set.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Recorded {
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    labels: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    annotations: BTreeSet<String>,
}

impl<'a> Labelling<'a> {
    /// The labels and annotations in a spec.
    pub(crate) fn new(metadata: &'a ConfigMetadata) -> Self {
        Self { labels: &metadata.labels, annotations: &metadata.annotations, since: None, marks: None }
    }

    /// The same of the current one of several targets.
    pub(crate) fn current(self, since: Option<Since>) -> Self {
        Self { since, ..self }
    }

    /// The same with the marks by which an export recognizes its target.
    pub(crate) fn marked(self, uid: &'a str, name: &'a str) -> Self {
        Self { marks: Some((uid, name)), ..self }
    }

    /// The JSON patch operations for an existing target; none if it matches the spec.
    pub(crate) fn changes(self, meta: &ObjectMeta) -> Vec<Value> {
        let (new_labels, new_annotations) = self.of(meta);
        let change = |path: &str, old: &Option<Pairs>, new: &Pairs| {
            let is_same = old.as_ref().map_or(new.is_empty(), |old| old == new);
            (!is_same).then(|| json!({"op": "add", "path": path, "value": new}))
        };
        change("/metadata/labels", &meta.labels, &new_labels)
            .into_iter()
            .chain(change("/metadata/annotations", &meta.annotations, &new_annotations))
            .collect()
    }

    /// The labels and annotations of a target with this metadata: those of others, and those of the export with their record.
    pub(crate) fn of(self, meta: &ObjectMeta) -> (Pairs, Pairs) {
        let (labels, annotations) = (meta.labels.clone(), meta.annotations.clone());
        let (labels, annotations) = (labels.unwrap_or_default(), annotations.unwrap_or_default());
        let before: Recorded = annotations
            .get(EXPORTED_METADATA_ANNOTATION)
            // A corrupted record is written again; the labels that it named remain on the target.
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let mut new_annotations = merged(&annotations, &before.annotations, self.annotations);
        match self.record() {
            Some(record) => new_annotations.insert(EXPORTED_METADATA_ANNOTATION.to_owned(), record),
            None => new_annotations.remove(EXPORTED_METADATA_ANNOTATION),
        };
        if let Some(Since { now, is_new }) = self.since {
            let is_noted = new_annotations.get(CURRENT_SINCE_ANNOTATION).is_some_and(|time| is_time(time));
            if is_new || !is_noted {
                new_annotations.insert(CURRENT_SINCE_ANNOTATION.to_owned(), format!("{now:.6}"));
            }
        }
        if let Some((uid, name)) = self.marks {
            new_annotations.insert(EXPORTED_BY_ANNOTATION.to_owned(), uid.to_owned());
            new_annotations.insert(EXPORTED_BY_NAME_ANNOTATION.to_owned(), name.to_owned());
        }
        (merged(&labels, &before.labels, self.labels), new_annotations)
    }

    fn record(self) -> Option<String> {
        let names = |pairs: &Pairs| pairs.keys().cloned().collect();
        let record = Recorded { labels: names(self.labels), annotations: names(self.annotations) };
        (record != Recorded::default()).then(|| json!(record).to_string())
    }
}

fn is_time(text: &str) -> bool {
    text.parse::<Timestamp>().is_ok()
}

/// The existing pairs, without those that the export set before, with the desired ones. Kraken's reserved names are
/// never removed.
fn merged(there: &Pairs, before: &BTreeSet<String>, wanted: &Pairs) -> Pairs {
    let mut pairs = there.clone();
    pairs.retain(|name, _| !before.contains(name) || is_reserved(name));
    pairs.extend(wanted.clone());
    pairs
}

/// The problems in the labels and annotations of a spec: field and message.
pub(crate) fn problems(metadata: &ConfigMetadata) -> Vec<(String, String)> {
    let mut problems = vec![];
    for (field, pairs) in [("labels", &metadata.labels), ("annotations", &metadata.annotations)] {
        for (name, value) in pairs {
            let field = format!("configMetadata.{field}[{}]", bounded(name, 80));
            if is_reserved(name) {
                problems.push((field, "is reserved for Kraken; choose another name".to_owned()));
            } else if is_of_kubernetes(name) {
                problems.push((
                    field,
                    "is reserved for Kubernetes, which acts on it; choose another name".to_owned(),
                ));
            } else if !is_name(name) {
                let message = "is not a valid name: expected at most 63 letters, digits, \"-\", \"_\" and \".\", which start and end \
                               with a letter or digit, after an optional DNS name and \"/\"";
                problems.push((field, message.to_owned()));
            } else if field.contains(".labels[") && !value.is_empty() && !is_word(value) {
                let message = "invalid value: expected at most 63 letters, digits, \"-\", \"_\" and \".\", which start and end with a \
                               letter or digit";
                problems.push((field, message.to_owned()));
            }
        }
    }
    let size: usize = metadata.annotations.iter().map(|(name, value)| name.len() + value.len()).sum();
    if size > MAX_ANNOTATIONS {
        let message = format!("are together {size} bytes: at most {MAX_ANNOTATIONS} are allowed");
        problems.push(("configMetadata.annotations".to_owned(), message));
    }
    problems
}

/// Kubernetes gives an object a meaning by such names: an annotation of a Secret names the ServiceAccount whose token it gets. The
/// recommended labels have none.
fn is_of_kubernetes(name: &str) -> bool {
    let prefix = name.split_once('/').map_or("", |(prefix, _)| prefix);
    (prefix == "kubernetes.io" || prefix.ends_with(".kubernetes.io")) && prefix != RECOMMENDED
}

fn is_reserved(name: &str) -> bool {
    let prefix = name.split_once('/').map_or("", |(prefix, _)| prefix);
    name == MANAGED_BY || prefix == DOMAIN || prefix.ends_with(&format!(".{DOMAIN}"))
}

fn is_name(name: &str) -> bool {
    match name.split_once('/') {
        Some((prefix, name)) => {
            let is_label = |label: &str| {
                !label.is_empty()
                    && label
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
                    && !label.starts_with('-')
                    && !label.ends_with('-')
            };
            prefix.len() <= MAX_PREFIX && prefix.split('.').all(is_label) && is_word(name)
        }
        None => is_word(name),
    }
}

fn is_word(text: &str) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= MAX_NAME
        && is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(of: &[(&str, &str)]) -> Pairs {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn spec(labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> ConfigMetadata {
        ConfigMetadata {
            name: "app".into(),
            namespace: None,
            labels: pairs(labels),
            annotations: pairs(annotations),
        }
    }

    fn target(spec: &ConfigMetadata) -> ObjectMeta {
        let (labels, annotations) = Labelling::new(spec).of(&ObjectMeta::default());
        ObjectMeta { labels: Some(labels), annotations: Some(annotations), ..ObjectMeta::default() }
    }

    #[test]
    fn a_matching_target_is_not_changed() {
        let spec = spec(&[("team", "web")], &[("a/b", "c")]);
        assert!(Labelling::new(&spec).changes(&target(&spec)).is_empty());
        let plain = self::spec(&[], &[]);
        assert!(
            Labelling::new(&plain).changes(&ObjectMeta::default()).is_empty(),
            "existing targets are not rewritten"
        );
    }

    #[test]
    fn names_removed_from_the_spec_are_removed_and_others_preserved() {
        let before = spec(&[("team", "web"), ("tier", "1")], &[("note", "x")]);
        let mut meta = target(&before);
        meta.labels.as_mut().unwrap().insert("theirs".into(), "1".into());
        let after = spec(&[("team", "db")], &[]);
        let changes = Labelling::new(&after).changes(&meta);
        assert_eq!(changes[0]["path"], "/metadata/labels");
        assert_eq!(changes[0]["value"], json!({"team": "db", "theirs": "1"}));
        assert_eq!(changes[1]["path"], "/metadata/annotations");
        assert_eq!(changes[1]["value"], json!({EXPORTED_METADATA_ANNOTATION: r#"{"labels":["team"]}"#}));
        let none = Labelling::new(&spec(&[], &[])).changes(&meta);
        assert_eq!(none[0]["value"], json!({"theirs": "1"}));
        assert_eq!(none[1]["value"], json!({}));
    }

    #[test]
    fn labels_and_annotations_of_others_are_those_of_a_successor_too() {
        let spec = spec(&[("team", "web")], &[]);
        let mut meta = target(&spec);
        meta.labels.as_mut().unwrap().insert("theirs".into(), "1".into());
        meta.annotations.as_mut().unwrap().insert("example.com/owner".into(), "ops".into());
        let (labels, annotations) = Labelling::new(&spec).marked("u", "e").of(&meta);
        assert_eq!(labels, pairs(&[("team", "web"), ("theirs", "1")]));
        assert_eq!(annotations["example.com/owner"], "ops");
        assert_eq!(
            (&*annotations[EXPORTED_BY_ANNOTATION], &*annotations[EXPORTED_BY_NAME_ANNOTATION]),
            ("u", "e")
        );
    }

    #[test]
    fn the_time_at_which_a_target_became_current_is_kept_until_it_does_so_again() {
        let plain = spec(&[], &[]);
        let at = |second| Timestamp::from_second(second).unwrap();
        let since = |meta: &ObjectMeta, now, is_new| {
            let labelling = Labelling::new(&plain).current(Some(Since { now: at(now), is_new }));
            labelling.of(meta).1[CURRENT_SINCE_ANNOTATION].clone()
        };
        let first = since(&ObjectMeta::default(), 1, false);
        assert_eq!(first, "1970-01-01T00:00:01.000000Z");
        let noted = |time: &str| ObjectMeta {
            annotations: Some(pairs(&[(CURRENT_SINCE_ANNOTATION, time)])),
            ..ObjectMeta::default()
        };
        assert_eq!(since(&noted(&first), 2, false), first);
        assert_eq!(since(&noted(&first), 2, true), "1970-01-01T00:00:02.000000Z");
        assert_eq!(since(&noted("edited"), 2, false), "1970-01-01T00:00:02.000000Z");
    }

    #[test]
    fn a_manually_changed_label_is_reverted() {
        let spec = spec(&[("team", "web")], &[]);
        let mut meta = target(&spec);
        meta.labels.as_mut().unwrap().insert("team".into(), "db".into());
        assert_eq!(Labelling::new(&spec).changes(&meta)[0]["value"], json!({"team": "web"}));
    }

    #[test]
    fn a_forged_record_does_not_remove_reserved_names() {
        let mut meta = target(&spec(&[], &[]));
        meta.labels = Some(pairs(&[(MANAGED_BY, "kraken-hub")]));
        let record = format!(r#"{{"labels":["{MANAGED_BY}"]}}"#);
        meta.annotations = Some(pairs(&[(EXPORTED_METADATA_ANNOTATION, &record)]));
        let changes = Labelling::new(&spec(&[("a", "b")], &[])).changes(&meta);
        assert_eq!(changes[0]["value"], json!({MANAGED_BY: "kraken-hub", "a": "b"}));
    }

    #[test]
    fn invalid_and_reserved_names_are_rejected_with_their_field() {
        let fields =
            |spec: &ConfigMetadata| problems(spec).into_iter().map(|(field, _)| field).collect::<Vec<_>>();
        for name in [
            "",
            "-a",
            "a-",
            "a b",
            "A.com/x",
            "a/b/c",
            "/a",
            &"a".repeat(64),
            MANAGED_BY,
            "kraken-iac.eoinfennessy.com/x",
        ] {
            assert_eq!(fields(&spec(&[(name, "v")], &[])).len(), 1, "{name:?}");
            assert_eq!(fields(&spec(&[], &[(name, "v")])).len(), 1, "{name:?}");
        }
        for name in ["kubernetes.io/service-account.name", "kubectl.kubernetes.io/x", "a.b.kubernetes.io/x"] {
            let message = problems(&spec(&[], &[(name, "v")]))[0].1.clone();
            assert!(message.contains("reserved for Kubernetes"), "{name}: {message}");
            assert_eq!(fields(&spec(&[(name, "v")], &[])).len(), 1, "{name:?}");
        }
        assert!(
            fields(&spec(&[("app.kubernetes.io/name", "shop")], &[("kubernetes.io.example/x", "")]))
                .is_empty()
        );
        assert_eq!(fields(&spec(&[("a", "no spaces")], &[])), ["configMetadata.labels[a]"]);
        assert!(
            fields(&spec(&[("a.b/c", ""), ("x_y", "V.1")], &[("a", "any text, with spaces")])).is_empty()
        );
        let long = "x".repeat(MAX_ANNOTATIONS);
        assert_eq!(fields(&spec(&[], &[("a", &long)])), ["configMetadata.annotations"]);
    }
}
