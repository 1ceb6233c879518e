//! The values of a resource that come from a Secret, by field: the value of such a field is not shown, neither the
//! current nor a former one. Pure.
//!
//! Values are not enough: after a rotation the remote object still has the old value, which no Secret contains any
//! more. So the fields decide, and the [`Scrubber`] is the second layer, for messages of providers.

use std::collections::{BTreeMap, BTreeSet};

use kraken_api::{ResourceStatus, state_declaration::Withheld};
use kraken_options::{Scrubber, SecretString};
use kraken_runtime::mutants::{self, Mutant};
use serde_json::Value;

use crate::{
    Comparison, Difference, Remedy,
    dynamic::KindInfo,
    failure::Failure,
    model::{intent::Intent, outcome::Outcome},
};

/// The replacement of a hidden value.
const STARS: &str = "***";

/// The fields of a spec, by their names at the top level, whose value must not be shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretFields {
    /// Those that come from a Secret, and those that did: the remote object may still have the former value.
    pub all: BTreeSet<String>,
    /// Those that remain when the spec is in place.
    pub in_place: BTreeSet<String>,
}

impl SecretFields {
    /// From the resolved fields and the former ones. `is_compared` tells whether a field's value at the provider equals
    /// the desired one when the spec is in place.
    pub(crate) fn of(
        resolved: &BTreeSet<String>,
        former: impl IntoIterator<Item = String>,
        is_compared: impl Fn(&str) -> bool,
    ) -> Self {
        let now: BTreeSet<String> = resolved.iter().map(|path| top(path).to_owned()).collect();
        let all: BTreeSet<String> = former.into_iter().chain(now.iter().cloned()).collect();
        let in_place =
            all.iter().filter(|field| now.contains(*field) || !is_compared(field)).cloned().collect();
        Self { all, in_place }
    }

    /// The record in an intent that is written for this generation of the spec.
    pub(crate) fn launched(&self, generation: Option<i64>) -> BTreeMap<String, i64> {
        self.all.iter().map(|field| (field.clone(), generation.unwrap_or_default())).collect()
    }
}

/// The fields on record: those of the status, and those of the last launch that the status does not report yet.
///
/// An intent stays on the resource, and a field leaves the status when the spec is in place. So the status counts alone once
/// it has the epoch of the intent, or was in place at the generation of the record.
pub(crate) fn recorded(status: Option<&ResourceStatus>, intent: Option<&Intent>) -> BTreeSet<String> {
    let of_launch = intent.into_iter().flat_map(|intent| {
        let is_open = status.is_none_or(|status| status.epoch < Some(intent.epoch));
        let in_place = status.and_then(|status| status.in_place.as_ref()).map(|in_place| in_place.generation);
        let fields = intent.secret_fields.iter().filter(move |(_, at)| is_open && in_place < Some(**at));
        fields.map(|(field, _)| field.clone())
    });
    let of_status = status.into_iter().flat_map(|status| status.secret_fields.iter().cloned());
    of_status.chain(of_launch).collect()
}

/// What one reconcile must not show.
#[derive(Debug)]
pub(crate) struct Secrecy {
    /// The fields of the spec that came from a Secret, by their names at the top level.
    fields: BTreeSet<String>,
    /// The paths of the state that contain them; `None` if the kind does not declare them: then the whole state is
    /// withheld.
    echoes: Option<Vec<Echo>>,
    secrets: Vec<SecretString>,
    scrubber: Scrubber,
}

/// A path of the state that contains a field of the spec.
#[derive(Debug)]
struct Echo {
    path: &'static str,
    field: String,
}

impl Secrecy {
    /// From the secret fields, with every secret text that is known of this resource, including former ones.
    pub(crate) fn of(kind: &KindInfo, secret_fields: &SecretFields, secrets: Vec<SecretString>) -> Self {
        let fields = secret_fields.all.clone();
        let table = |field: &String| {
            let (_, paths) = kind.secret_field_paths.iter().find(|(name, _)| name == field)?;
            Some(paths.iter().map(|path| Echo { path, field: field.clone() }).collect::<Vec<_>>())
        };
        // The order of dependencies is not secret, and the state does not contain it.
        let of_spec = fields.iter().filter(|field| *field != "lifecycle");
        let echoes =
            of_spec.map(table).collect::<Option<Vec<_>>>().map(|each| each.into_iter().flatten().collect());
        let scrubber = Scrubber::new(&secrets);
        Self { fields, echoes, secrets, scrubber }
    }

    /// A comparison without values of secret fields, neither the desired ones nor the observed ones: these may be
    /// former ones.
    pub(crate) fn mask<C>(&self, comparison: Comparison<C>) -> Comparison<C> {
        let text = |text: Option<String>| text.map(|text| self.scrubber.scrub(&text));
        let Comparison { missing, settling, differences } = comparison;
        let differences = differences.into_iter().map(|difference| self.masked(difference)).collect();
        Comparison { missing: text(missing), settling: text(settling), differences }
    }

    fn masked<C>(&self, difference: Difference<C>) -> Difference<C> {
        let Difference { mut field, remedy } = difference;
        if !self.fields.contains(top(&field.path)) {
            return Difference { field, remedy };
        }
        let scrub = |text: &str| {
            let mut texts = self.secrets.clone();
            texts.extend([&field.want, &field.have].map(|text| SecretString::from(text.as_str())));
            Scrubber::new(&texts).scrub(text)
        };
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
        (field.want, field.have) = (STARS.to_owned(), STARS.to_owned());
        Difference { field, remedy }
    }

    /// Values that are applied only at creation, without those of secret fields: a digest of each is recorded.
    pub(crate) fn at_creation(&self, mut values: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
        for (path, value) in &mut values {
            if self.fields.contains(top(path)) {
                STARS.clone_into(value);
            }
        }
        values
    }

    /// The part of a state without secret fields.
    pub(crate) fn published(&self, mut state: Value) -> Value {
        if mutants::active(Mutant::SecretInState) {
            return state;
        }
        match &self.echoes {
            None => Value::Object(serde_json::Map::new()),
            Some(echoes) => {
                for echo in echoes {
                    remove_path(&mut state, &echo.path.split('.').collect::<Vec<_>>());
                }
                self.scrubber.scrub_json(state)
            }
        }
    }

    /// The main id, unless it contains a secret: a redacted id is of no use.
    pub(crate) fn published_id(&self, id: Option<String>) -> Option<String> {
        id.filter(|id| self.scrubber.scrub(id) == *id)
    }

    /// The paths that are withheld from dependents, with the field of the spec that is the reason.
    pub(crate) fn withheld(&self, without_id: bool) -> Vec<Withheld> {
        let all = |path: &str| Withheld {
            path: path.to_owned(),
            field: self.fields.iter().map(String::as_str).collect::<Vec<_>>().join(", spec."),
        };
        let mut withheld: Vec<Withheld> = match &self.echoes {
            None => vec![all("*")],
            Some(echoes) => echoes
                .iter()
                .map(|echo| Withheld { path: echo.path.to_owned(), field: echo.field.clone() })
                .collect(),
        };
        if without_id {
            withheld.push(all(""));
        }
        withheld
    }
}

/// A text without the values of these secrets.
pub(crate) fn scrubbed_text(text: &str, secrets: &[SecretString]) -> String {
    scrubber(secrets).map_or_else(|| text.to_owned(), |scrubber| scrubber.scrub(text))
}

fn scrubber(secrets: &[SecretString]) -> Option<Scrubber> {
    let is_needed = !secrets.is_empty() && !mutants::active(Mutant::SecretInError);
    is_needed.then(|| Scrubber::new(secrets))
}

/// The outcome of a reconcile without secret texts: a provider may quote values that it received, also long ago.
pub(crate) fn scrubbed(outcome: Outcome, secrets: &[SecretString]) -> Outcome {
    let Some(scrubber) = scrubber(secrets) else { return outcome };
    let scrub = |text: String| scrubber.scrub(&text);
    match outcome {
        Outcome::Failed(failure) => Outcome::Failed(Failure { message: scrub(failure.message), ..failure }),
        Outcome::InProgress(reason, what) => Outcome::InProgress(reason, scrub(what)),
        Outcome::NotYet(reason, what) => Outcome::NotYet(reason, scrub(what)),
        Outcome::Changed(what) => Outcome::Changed(scrub(what)),
        Outcome::Unseen(what, left) => Outcome::Unseen(scrub(what), left),
        Outcome::Unheeded(what) => Outcome::Unheeded(scrub(what)),
        Outcome::AdoptionRefused(why) => Outcome::AdoptionRefused(scrub(why)),
        outcome => outcome,
    }
}

/// The top-level field of the spec that a path is in.
pub(crate) fn top(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
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
    use kraken_api::{FieldDiff, InPlace};
    use serde_json::json;

    use super::*;

    fn secrecy(fields: &[&str], echoes: Option<&[(&'static str, &str)]>, secrets: &[&str]) -> Secrecy {
        let secrets: Vec<SecretString> = secrets.iter().map(|text| SecretString::from(*text)).collect();
        Secrecy {
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            echoes: echoes.map(|echoes| {
                echoes.iter().map(|(path, field)| Echo { path, field: (*field).to_owned() }).collect()
            }),
            scrubber: Scrubber::new(&secrets),
            secrets,
        }
    }

    fn image() -> Secrecy {
        secrecy(&["imageID", "rules"], Some(&[("instances.ImageId", "imageID")]), &["ami-new"])
    }

    #[test]
    fn field_stays_secret_until_an_edit_to_a_literal_is_in_place() {
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<_>>();
        let edited = SecretFields::of(&paths(&[]), paths(&["description"]), |_| true);
        assert_eq!((edited.all, edited.in_place), (paths(&["description"]), paths(&[])));
        let uncompared = SecretFields::of(&paths(&[]), paths(&["userData"]), |_| false);
        assert_eq!(uncompared.in_place, paths(&["userData"]), "its former value is still at the provider");
        let current = SecretFields::of(&paths(&["rules[0].cidr"]), paths(&[]), |_| true);
        assert_eq!(current.in_place, paths(&["rules"]));
    }

    #[test]
    fn field_of_a_launch_is_secret_until_the_status_reports_the_launch() {
        let intent =
            Intent { epoch: 2, secret_fields: [("image".to_owned(), 5)].into(), ..Intent::default() };
        let found = |epoch: Option<i64>, in_place: Option<i64>| {
            let in_place = in_place.map(|generation| InPlace { generation, ..InPlace::default() });
            let status = ResourceStatus { epoch, in_place, ..ResourceStatus::default() };
            !recorded(Some(&status), Some(&intent)).is_empty()
        };
        assert!(!recorded(None, Some(&intent)).is_empty(), "no status was written");
        assert!(found(None, None), "nor one since the launch");
        assert!(found(Some(1), Some(4)), "the last status is about the objects before the launch");
        assert!(!found(Some(2), None), "it has the fields of the launch, or is in place since then");
        assert!(!found(Some(1), Some(5)), "the launch was not needed any more");
        let status = ResourceStatus { secret_fields: vec!["password".into()], ..ResourceStatus::default() };
        let both = BTreeSet::from(["image", "password"].map(str::to_owned));
        assert_eq!(recorded(Some(&status), Some(&intent)), both);
        assert_eq!(recorded(Some(&status), None), BTreeSet::from(["password".to_owned()]));
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
