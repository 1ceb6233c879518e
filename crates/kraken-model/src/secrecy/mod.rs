//! The values of a resource that come from a Secret, by field: the value of such a field is not shown, neither the
//! current nor a former one. Pure.
//!
//! Values are not enough: after a rotation the remote object still has the old value, which no Secret contains any
//! more. So the fields decide, and the [`Scrubber`] is the second layer, for messages of providers.

mod fields;

use std::collections::BTreeSet;

use kraken_api::{FieldDiff, state_declaration::Withheld};
use kraken_kind::{Comparison, Difference, Failure, KindInfo, Remedy};
use kraken_options::{Scrubber, SecretString};
use serde_json::Value;

use crate::outcome::Outcome;

pub use fields::{SecretFields, is_compared_as_whole, recorded, top};

/// The replacement of a hidden value.
const STARS: &str = "***";

/// What one reconcile must not show.
#[derive(Debug)]
pub struct Secrecy {
    /// The fields of the spec that came from a Secret, by their names at the top level.
    fields: BTreeSet<String>,
    /// Whether the objects existed before the resource: what is observed in a field that accepts a Secret may have come from one
    /// that another resource referred to.
    is_adopted: bool,
    /// The fields that accept a Secret.
    secret_capable: BTreeSet<&'static str>,
    /// The paths of the state that contain them; `None` if the kind does not declare them: then the whole state is
    /// withheld.
    state_paths: Option<Vec<StatePath>>,
    secrets: Vec<SecretString>,
    scrubber: Scrubber,
}

/// A path of the state that contains a field of the spec.
#[derive(Debug)]
struct StatePath {
    path: &'static str,
    field: String,
}

impl Secrecy {
    /// From the secret fields, with every secret text that is known of this resource, including former ones.
    pub fn of(
        kind: &KindInfo,
        secret_fields: &SecretFields,
        secrets: Vec<SecretString>,
        is_adopted: bool,
    ) -> Self {
        let secret_capable = kind.secret_field_paths.iter().map(|(field, _)| *field).collect();
        let fields = secret_fields.all.clone();
        let table = |field: &String| {
            let (_, paths) = kind.secret_field_paths.iter().find(|(name, _)| name == field)?;
            Some(paths.iter().map(|path| StatePath { path, field: field.clone() }).collect::<Vec<_>>())
        };
        // The order of dependencies is not secret, and the state does not contain it.
        let of_spec = fields.iter().filter(|field| *field != "lifecycle");
        let state_paths =
            of_spec.map(table).collect::<Option<Vec<_>>>().map(|each| each.into_iter().flatten().collect());
        let scrubber = Scrubber::new(&secrets);
        Self { fields, is_adopted, secret_capable, state_paths, secrets, scrubber }
    }

    /// Every secret text that is known of the resource.
    pub fn secrets(&self) -> &[SecretString] {
        &self.secrets
    }

    /// A comparison without values of secret fields, neither the desired ones nor the observed ones: these may be
    /// former ones.
    pub fn mask<C>(&self, comparison: Comparison<C>) -> Comparison<C> {
        let text = |text: Option<String>| text.map(|text| self.scrubber.scrub(&text));
        let Comparison { missing, settling, differences } = comparison;
        let differences = differences.into_iter().map(|difference| self.masked(difference)).collect();
        Comparison { missing: text(missing), settling: text(settling), differences }
    }

    fn masked<C>(&self, difference: Difference<C>) -> Difference<C> {
        let Difference { mut field, remedy } = difference;
        let (is_secret, is_hidden) = (self.fields.contains(top(&field.path)), self.hides_observed(&field));
        if !is_secret && !is_hidden {
            return Difference { field, remedy };
        }
        let hidden = is_secret.then(|| field.want.clone()).into_iter().chain([field.have.clone()]);
        let mut texts = self.secrets.clone();
        texts.extend(hidden.map(SecretString::from));
        let scrubber = Scrubber::new(&texts);
        let scrub = |text: &str| scrubber.scrub(text);
        let remedy = match remedy {
            Remedy::Immutable(why) => Remedy::Immutable(scrub(&why)),
            Remedy::Disruptive(change, takes) => Remedy::Disruptive(change, scrub(&takes)),
            Remedy::Change(change) => Remedy::Change(change),
            Remedy::Resume(change) => Remedy::Resume(change),
        };
        // The path of an item may contain its value: `subnetIDs["subnet-1"]`.
        if let Some(at) = field.path.find('[') {
            field.path.truncate(at);
        }
        STARS.clone_into(&mut field.have);
        if is_secret {
            STARS.clone_into(&mut field.want);
        }
        Difference { field, remedy }
    }

    /// Whether the observed value may be a secret that this resource never knew. The desired one is its own literal, and shown.
    fn hides_observed(&self, field: &FieldDiff) -> bool {
        const SHOWN: [&str; 6] = ["(absent)", "absent", "null", "true", "false", ""];
        self.is_adopted
            && self.secret_capable.contains(top(&field.path))
            && !SHOWN.contains(&field.have.as_str())
    }

    /// Values that are applied only at creation, without those of secret fields: a digest of each is recorded.
    pub fn at_creation(&self, mut values: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
        for (path, value) in &mut values {
            if self.fields.contains(top(path)) {
                STARS.clone_into(value);
            }
        }
        values
    }

    /// The part of a state without secret fields.
    pub fn published(&self, mut state: Value) -> Value {
        match &self.state_paths {
            None => Value::Object(serde_json::Map::new()),
            Some(state_paths) => {
                for state_path in state_paths {
                    remove_path(&mut state, &state_path.path.split('.').collect::<Vec<_>>());
                }
                self.scrubber.scrub_json(state)
            }
        }
    }

    /// The main id, unless it contains a secret: a redacted id is of no use.
    pub fn published_id(&self, id: Option<String>) -> Option<String> {
        id.filter(|id| self.scrubber.scrub(id) == *id)
    }

    /// The paths that are withheld from dependents, with the field of the spec that is the reason.
    pub fn withheld(&self, without_id: bool) -> Vec<Withheld> {
        let all = |path: &str| Withheld::because_of(path, self.fields.iter().map(String::as_str));
        let mut withheld: Vec<Withheld> = match &self.state_paths {
            None => vec![all("*")],
            Some(state_paths) => state_paths
                .iter()
                .map(|state_path| Withheld::because_of(state_path.path, [state_path.field.as_str()]))
                .collect(),
        };
        if without_id {
            withheld.push(all(""));
        }
        withheld
    }
}

/// A text without the values of these secrets.
pub fn scrubbed_text(text: &str, secrets: &[SecretString]) -> String {
    scrubber(secrets).map_or_else(|| text.to_owned(), |scrubber| scrubber.scrub(text))
}

fn scrubber(secrets: &[SecretString]) -> Option<Scrubber> {
    (!secrets.is_empty()).then(|| Scrubber::new(secrets))
}

/// The outcome of a reconcile without secret texts: a provider may quote values that it received, also long ago.
pub fn scrubbed(outcome: Outcome, secrets: &[SecretString]) -> Outcome {
    let Some(scrubber) = scrubber(secrets) else { return outcome };
    let scrub = |text: String| scrubber.scrub(&text);
    match outcome {
        Outcome::Failed(failure) => Outcome::Failed(Failure { message: scrub(failure.message), ..failure }),
        Outcome::InProgress(reason, what) => Outcome::InProgress(reason, scrub(what)),
        Outcome::NotYet(reason, what) => Outcome::NotYet(reason, scrub(what)),
        Outcome::Changed(what) => Outcome::Changed(scrub(what)),
        Outcome::NotVisibleYet(reason, what, left) => Outcome::NotVisibleYet(reason, scrub(what), left),
        Outcome::ChangeHadNoEffect(what) => Outcome::ChangeHadNoEffect(scrub(what)),
        Outcome::AdoptionRefused(why) => Outcome::AdoptionRefused(scrub(why)),
        outcome => outcome,
    }
}

/// Removes the value at a path. Lists are traversed.
fn remove_path(value: &mut Value, path: &[&str]) {
    match (value, path) {
        (Value::Array(items), _) => items.iter_mut().for_each(|item| remove_path(item, path)),
        (Value::Object(members), [last]) => drop(members.remove(*last)),
        (Value::Object(members), [first, rest @ ..]) => {
            if let Some(member) = members.get_mut(*first) {
                remove_path(member, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrecy(fields: &[&str], state_paths: Option<&[(&'static str, &str)]>, secrets: &[&str]) -> Secrecy {
        let secrets: Vec<SecretString> = secrets.iter().map(|text| SecretString::from(*text)).collect();
        Secrecy {
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            state_paths: state_paths.map(|state_paths| {
                state_paths
                    .iter()
                    .map(|(path, field)| StatePath { path, field: (*field).to_owned() })
                    .collect()
            }),
            scrubber: Scrubber::new(&secrets),
            secrets,
            is_adopted: false,
            secret_capable: BTreeSet::from(["imageID", "rules"]),
        }
    }

    fn image() -> Secrecy {
        secrecy(&["imageID", "rules"], Some(&[("instances.ImageId", "imageID")]), &["ami-new"])
    }

    #[test]
    fn former_value_of_a_secret_field_is_withheld() {
        let state =
            json!({"instances": [{"InstanceId": "i-1", "ImageId": "ami-old"}, {"InstanceId": "i-2"}]});
        assert_eq!(
            image().published(state),
            json!({"instances": [{"InstanceId": "i-1"}, {"InstanceId": "i-2"}]})
        );
        let withheld = image().withheld(false);
        assert_eq!(withheld, [Withheld { path: "instances.ImageId".into(), field: "imageID".into() }]);
    }

    #[test]
    fn kind_without_declared_echoes_publishes_no_state() {
        let unknown = secrecy(&["imageID", "x"], None, &["ami-new"]);
        assert_eq!(unknown.published(json!({"a": 1})), json!({}));
        assert_eq!(unknown.published_id(Some("i-1".into())).as_deref(), Some("i-1"));
        assert_eq!(unknown.withheld(false), [Withheld { path: "*".into(), field: "imageID, spec.x".into() }]);
    }

    #[test]
    fn state_without_secret_fields_is_published_in_full() {
        let none = secrecy(&[], Some(&[]), &[]);
        assert_eq!(none.published(json!({"a": 1})), json!({"a": 1}));
        assert!(none.withheld(false).is_empty());
    }

    #[test]
    fn difference_shows_neither_the_desired_nor_the_former_secret() {
        let why = "it was ami-old and becomes ami-next";
        let comparison = Comparison::<()> {
            missing: Some("1 of ami-new".into()),
            settling: None,
            differences: vec![
                Difference {
                    field: FieldDiff::new("imageID", "ami-next", "ami-old"),
                    remedy: Remedy::Immutable(why.into()),
                },
                Difference {
                    field: FieldDiff::new("rules[\"10.0.0.0/8\"].port", "1", "2"),
                    remedy: Remedy::Change(()),
                },
                Difference { field: FieldDiff::new("size", "1", "2"), remedy: Remedy::Change(()) },
            ],
        };
        let masked = image().mask(comparison);
        assert_eq!(masked.missing.as_deref(), Some("1 of ***"));
        let fields: Vec<_> = masked.differences.iter().map(|d| d.field.clone()).collect();
        assert_eq!(
            fields,
            [
                FieldDiff::new("imageID", "***", "***"),
                FieldDiff::new("rules", "***", "***"),
                FieldDiff::new("size", "1", "2"),
            ]
        );
        assert_eq!(masked.differences[0].remedy, Remedy::Immutable("it was *** and becomes ***".into()));
    }

    #[test]
    fn observed_values_of_an_adopted_object_are_hidden_where_they_may_be_secret() {
        let adopted = Secrecy { is_adopted: true, ..secrecy(&[], Some(&[]), &[]) };
        let why = "it was ami-old and becomes ami-next";
        let difference = |path: &str, want: &str, have: &str, remedy| Difference {
            field: FieldDiff::new(path, want, have),
            remedy,
        };
        let comparison = Comparison::<()> {
            missing: None,
            settling: None,
            differences: vec![
                difference("imageID", "ami-next", "ami-old", Remedy::Immutable(why.into())),
                difference("rules[\"10.0.0.0/8\"]", "absent", "10.0.0.0/8", Remedy::Change(())),
                difference("rules.port", "1", "(absent)", Remedy::Change(())),
                difference("tags.Team", "a", "b", Remedy::Change(())),
            ],
        };
        let masked = adopted.mask(comparison);
        let fields: Vec<_> = masked.differences.iter().map(|d| d.field.clone()).collect();
        assert_eq!(
            fields,
            [
                FieldDiff::new("imageID", "ami-next", "***"),
                FieldDiff::new("rules", "absent", "***"),
                FieldDiff::new("rules.port", "1", "(absent)"),
                FieldDiff::new("tags.Team", "a", "b"),
            ]
        );
        assert_eq!(masked.differences[0].remedy, Remedy::Immutable("it was *** and becomes ami-next".into()));
    }

    #[test]
    fn no_digest_is_recorded_of_a_secret_value() {
        let values =
            vec![("imageID", "ami-1".to_owned()), ("rules.port", "1".to_owned()), ("size", "2".to_owned())];
        let expected = [("imageID", "***"), ("rules.port", "***"), ("size", "2")];
        assert_eq!(image().at_creation(values), expected.map(|(path, value)| (path, value.to_owned())));
    }

    #[test]
    fn former_secret_is_absent_from_provider_messages() {
        let texts = [SecretString::from("old-password"), SecretString::from("new-password")];
        let said = Outcome::AdoptionRefused("not old-password, not new-password".into());
        let Outcome::AdoptionRefused(why) = scrubbed(said, &texts) else { panic!() };
        assert_eq!(why, "not ***, not ***");
    }
}
