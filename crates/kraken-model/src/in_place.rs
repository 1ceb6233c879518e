//! The state that was last in place, as digests: they alone determine whether a difference is drift or an edit, and
//! never a condition, which every outage overwrites. Pure.

use std::collections::BTreeMap;

use kraken_api::{AtCreation, FieldDiff, InPlace, ResourceStatus};
use kraken_kind::{Difference, Remedy};
use kraken_options::{SecretData, Values};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The members of `lifecycle` that cause a change, as opposed to those that control how one is made: an edit of them is
/// an edit.
const ORDERS: [&str; 2] = ["replace", "disruption"];

/// A digest of the values of all references, with only the versions of Secrets. It is computed from the values and not
/// from the hub's response, which may be rewritten with equal values. Keyed with the resource's UID, so that equal
/// values of two resources are not recognizable.
fn inputs_digest(uid: &str, values: &Values) -> String {
    let Values { config_maps, resources, secrets, .. } = values;
    if config_maps.is_empty() && resources.is_empty() && secrets.is_empty() {
        return String::new();
    }
    let versions: BTreeMap<&str, &str> =
        secrets.iter().map(|(name, secret)| (name.as_str(), secret.version.as_str())).collect();
    digest(uid, &json!([config_maps, resources, versions]).to_string(), 16)
}

/// The values of references to resources, as the hub's response has them.
pub type References = BTreeMap<String, BTreeMap<String, BTreeMap<String, Value>>>;

/// A digest of the values of the references to resources alone. Another resource can compute it from the hub's response, as
/// opposed to [`inputs_digest`].
pub fn references_digest(uid: &str, references: &References) -> String {
    if references.is_empty() { String::new() } else { digest(uid, &json!(references).to_string(), 8) }
}

/// The same with the digests of Secrets in place of their versions, which change without their values; empty if not all are known,
/// or if there are none.
fn values_digest(uid: &str, values: &Values) -> String {
    let Values { config_maps, resources, secrets, .. } = values;
    let of_each = secrets.iter().map(|(name, data)| Some((name, digests(data)?)));
    let digests: Option<BTreeMap<&String, String>> = of_each.collect();
    let Some(digests) = digests.filter(|digests| !digests.is_empty()) else { return String::new() };
    digest(uid, &json!([config_maps, resources, digests]).to_string(), 16)
}

/// The digests of the values of a Secret's keys; `None` if the hub did not give one of them.
fn digests(data: &SecretData) -> Option<String> {
    let parts: Vec<&str> = data.digests.values().map(String::as_str).collect();
    (!parts.is_empty() && !parts.contains(&"")).then(|| parts.join(","))
}

/// A digest of the inputs and of what an account adds to the spec; that of the inputs if it adds nothing.
fn governed_digest(uid: &str, inputs: String, added: &str) -> String {
    if added.is_empty() { inputs } else { digest(uid, &format!("{inputs}+{added}"), 16) }
}

/// The digests of what references and the account contribute to the desired state.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// With the versions of Secrets.
    pub inputs: String,
    /// With digests of their values, as far as the hub tells them.
    pub values: String,
}

impl Inputs {
    /// `added` is a digest of what the account adds to the spec.
    pub fn of(uid: &str, values: &Values, added: &str) -> Self {
        let governed = |digest| governed_digest(uid, digest, added);
        let by_value = values_digest(uid, values);
        Self {
            inputs: governed(inputs_digest(uid, values)),
            values: if by_value.is_empty() { by_value } else { governed(by_value) },
        }
    }
}

/// The record of what is in place if this reconcile finds it so. The spec is digested only if the generation has
/// changed, so that a newer controller, which may serialise a spec with more defaults, treats no resource as edited.
pub fn current(
    uid: &str,
    spec: impl FnOnce() -> Value,
    generation: Option<i64>,
    Inputs { inputs, values }: Inputs,
    references: &References,
    before: Option<&InPlace>,
) -> InPlace {
    let generation = generation.unwrap_or_default();
    let spec = match before {
        Some(before) if before.generation == generation => before.spec.clone(),
        _ => spec_digest(uid, spec()),
    };
    let references = match before {
        // Also if an earlier controller recorded none: a record is not written only because of it.
        Some(before) if before.inputs == inputs => before.references.clone(),
        _ => references_digest(uid, references),
    };
    InPlace { generation, spec, inputs, references, values }
}

fn spec_digest(uid: &str, mut spec: Value) -> String {
    if let Some(lifecycle) = spec.get_mut("lifecycle").and_then(Value::as_object_mut) {
        lifecycle.retain(|member, _| ORDERS.contains(&member.as_str()));
    }
    digest(uid, &spec.to_string(), 16)
}

/// Whether a difference is an edit to apply, and not drift: the desired state differs from the one that was last in
/// place.
pub fn is_edited(before: Option<&InPlace>, current: &InPlace) -> bool {
    let Some(before) = before else { return true };
    let is_same_spec = before.generation == current.generation || before.spec == current.spec;
    // A Secret has a new version when it is restored or created again, and another digest when the hub has another key.
    let is_same_values = !current.values.is_empty() && before.values == current.values;
    !is_same_spec || (before.inputs != current.inputs && !is_same_values)
}

/// The values that are applied only at creation, as they are recorded.
pub fn at_creation(uid: &str, fields: &[(&'static str, String)]) -> BTreeMap<String, String> {
    fields.iter().map(|(path, value)| ((*path).to_owned(), digest(uid, value, 8))).collect()
}

/// The edits of fields that were applied at creation and cannot be applied again, `ids` being the existing objects.
pub fn edits_at_creation<C>(
    uid: &str,
    fields: Vec<(&'static str, String)>,
    status: Option<&ResourceStatus>,
    ids: &[String],
) -> Vec<Difference<C>> {
    let recorded = status.and_then(|status| status.at_creation.as_ref());
    let Some(recorded) = recorded.filter(|recorded| ids.contains(&recorded.id)) else { return vec![] };
    let is_edited = |path: &str, value: &str| {
        // A field that is not set is not managed; a field that was not recorded is one that an earlier controller did
        // not have.
        !value.is_empty() && recorded.fields.get(path).is_some_and(|was| *was != digest(uid, value, 8))
    };
    fields
        .into_iter()
        .filter(|(path, value)| is_edited(path, value))
        .map(|(path, value)| Difference {
            field: FieldDiff::new(path, value, "(as at creation)"),
            remedy: Remedy::Immutable(
                "it is applied at creation only: restore the old value, or let Kraken replace the object \
                 (spec.lifecycle.replace)"
                    .to_owned(),
            ),
        })
        .collect()
}

/// The next record, given the previous one: the values of existing objects are kept, and those of objects created since
/// are `now`.
pub fn recorded(
    before: Option<AtCreation>,
    now: &BTreeMap<String, String>,
    ids: &[String],
) -> Option<AtCreation> {
    let (Some(id), false) = (ids.first(), now.is_empty()) else { return before };
    match before {
        Some(mut before) if ids.contains(&before.id) => {
            for (path, digest) in now {
                before.fields.entry(path.clone()).or_insert_with(|| digest.clone());
            }
            Some(before)
        }
        _ => Some(AtCreation { id: id.clone(), fields: now.clone() }),
    }
}

/// The first bytes of a digest of a text, as hexadecimal digits. The key keeps the same text of two places apart.
pub fn digest(key: &str, text: &str, bytes: usize) -> String {
    hex::encode(Sha256::digest(format!("{key}/{text}")).get(..bytes).unwrap_or_default())
}

#[cfg(test)]
mod tests {

    use super::*;

    fn in_place(generation: i64, spec: &Value, inputs: &str) -> InPlace {
        let inputs = Inputs { inputs: inputs.to_owned(), values: String::new() };
        current("u", || spec.clone(), Some(generation), inputs, &References::new(), None)
    }

    fn size(size: i64, lifecycle: &Value) -> Value {
        json!({"size": size, "lifecycle": lifecycle})
    }

    #[test]
    fn missing_record_counts_as_an_edit() {
        assert!(is_edited(None, &in_place(1, &size(1, &json!({})), "")));
    }

    #[test]
    fn changed_spec_or_input_is_an_edit() {
        let before = in_place(1, &size(1, &json!({})), "i");
        assert!(!is_edited(Some(&before), &before));
        assert!(is_edited(Some(&before), &in_place(2, &size(2, &json!({})), "i")));
        assert!(is_edited(Some(&before), &in_place(1, &size(1, &json!({})), "j")));
    }

    #[test]
    fn what_an_account_adds_is_an_input() {
        let digest = |added: &str| governed_digest("u", "i".to_owned(), added);
        assert_eq!(digest(""), "i", "nothing changes without an account");
        assert_eq!(digest("a").len(), 32);
        assert_ne!(digest("a"), digest("b"));
        assert_ne!(digest("a"), governed_digest("u", String::new(), "a"));
    }

    #[test]
    fn edit_of_a_lifecycle_policy_is_not_an_edit_of_the_desired_state() {
        let before = in_place(1, &size(1, &json!({"drift": "Report"})), "");
        let edited = |lifecycle: Value| is_edited(Some(&before), &in_place(2, &size(1, &lifecycle), ""));
        assert!(!edited(json!({"drift": "Report", "protect": true, "resyncInterval": "1m"})));
        assert!(!edited(json!({})));
        assert!(edited(json!({"drift": "Report", "replace": "CreateFirst"})));
        assert!(edited(json!({"drift": "Report", "disruption": "Allow"})));
    }

    #[test]
    fn newer_controller_with_more_defaults_detects_no_edit() {
        let before = in_place(1, &size(1, &json!({})), "");
        let upgraded = || json!({"size": 1, "new": "default", "lifecycle": {}});
        let after = current("u", upgraded, Some(1), Inputs::default(), &References::new(), Some(&before));
        assert!(!is_edited(Some(&before), &after));
    }

    #[test]
    fn inputs_are_digested_by_value_and_secrets_by_version() {
        let values = |size: &str, version: &str| {
            let mut values = Values::default();
            values.config_maps.entry("sizes".into()).or_default().insert("small".into(), size.into());
            let keys = [("key".to_owned(), "hunter2".to_owned().into())].into();
            values
                .secrets
                .insert("s".into(), SecretData { version: version.into(), keys, ..SecretData::default() });
            values
        };
        let digest = |values: &Values| inputs_digest("u", values);
        assert_eq!(digest(&values("1", "v")), digest(&values("1", "v")));
        assert_ne!(digest(&values("1", "v")), digest(&values("2", "v")));
        assert_ne!(digest(&values("1", "v")), digest(&values("1", "w")));
        assert_ne!(inputs_digest("v", &values("1", "v")), digest(&values("1", "v")));
        assert_eq!(digest(&Values::default()), "");
    }

    #[test]
    fn version_of_a_secret_whose_value_is_the_same_is_not_an_edit() {
        let values = |version: &str, digest: &str| {
            let mut values = Values::default();
            let digests = [("k".to_owned(), digest.to_owned())].into();
            values
                .secrets
                .insert("s".into(), SecretData { version: version.into(), digests, ..SecretData::default() });
            values
        };
        let in_place = |version: &str, digest: &str| {
            let values = values(version, digest);
            let inputs = Inputs { inputs: inputs_digest("u", &values), values: values_digest("u", &values) };
            current("u", || json!({}), Some(1), inputs, &References::new(), None)
        };
        let before = in_place("v/1", "k.a");
        for (version, digest, is_edit) in [
            ("v/1", "k.a", false),
            ("w/2", "k.a", false),
            ("w/2", "k.b", true),
            ("v/1", "l.c", false), // another key of the hub, which keeps the version
            ("w/2", "", true),
        ] {
            assert_eq!(is_edited(Some(&before), &in_place(version, digest)), is_edit, "{version} {digest}");
        }
        let unknown = in_place("v/1", "");
        assert_eq!(unknown.values, "");
        assert!(!is_edited(Some(&unknown), &in_place("v/1", "k.a")), "the first digest of an upgraded hub");
        assert!(is_edited(Some(&unknown), &in_place("w/2", "")), "two unknown values are not equal ones");
    }

    fn fields(volume: &str) -> Vec<(&'static str, String)> {
        vec![("rootVolume", volume.to_owned())]
    }

    fn status(volume: &str) -> ResourceStatus {
        let now = at_creation("u", &fields(volume));
        let at_creation = recorded(None, &now, &["i-1".to_owned()]);
        ResourceStatus { at_creation, ..ResourceStatus::default() }
    }

    fn edits(volume: &str, status: &ResourceStatus, id: &str) -> Vec<String> {
        let found: Vec<Difference<()>> =
            edits_at_creation("u", fields(volume), Some(status), &[id.to_owned()]);
        found.into_iter().map(|difference| difference.field.path).collect()
    }

    #[test]
    fn edit_of_a_creation_field_is_reported_until_the_object_is_recreated() {
        assert!(edits("8", &status("8"), "i-1").is_empty());
        assert_eq!(edits("9", &status("8"), "i-1"), ["rootVolume"]);
        assert_eq!(edits("9", &status(""), "i-1"), ["rootVolume"], "the field was set after the creation");
        assert!(edits("", &status("8"), "i-1").is_empty(), "an unset field is not managed");
        assert!(edits("9", &status("8"), "i-2").is_empty(), "a recreated object has the new value");
    }

    #[test]
    fn record_of_existing_objects_is_kept_and_of_replaced_ones_is_not() {
        let before = status("8").at_creation;
        let now = at_creation("u", &fields("9"));
        assert_eq!(recorded(before.clone(), &now, &["i-2".into(), "i-1".into()]), before);
        assert_eq!(
            recorded(before.clone(), &now, &["i-2".into()]),
            Some(AtCreation { id: "i-2".into(), fields: now })
        );
        assert_eq!(recorded(before.clone(), &BTreeMap::new(), &["i-2".into()]), before);
    }
}
