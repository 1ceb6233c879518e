//! One dependency and what is known -> its value, or the cause why it has none. Pure; the same for requests and exports.

use kraken_api::{
    dependency_request::SecretVersion, reasons::DependencyReason as Reason, state_declaration::STATIC_KIND,
};
use kraken_options::{Budget, JsonType, KeyRef, LookupError, LookupReason, Path, ResourceRef};
use serde_json::Value;

use crate::{
    facts::{Fact, Known, StateData},
    index::Named,
    names::bounded,
};

/// How many keys a message lists.
const LISTED: usize = 8;
/// The longest message about one dependency, in bytes.
const MAX_MESSAGE: usize = 600;

/// Why a dependency has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// As one word.
    pub reason: Reason,
    /// For a person.
    pub message: String,
    /// Whether it may pass by itself in a moment.
    pub gap: Gap,
}

/// Whether what is missing may be there in a moment. The greater counts for many together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// Who is to make it exists: it is on its way.
    Coming,
    /// Nobody is known to make it: it may still be about to be created, or created again.
    Absent,
    /// It passes only if somebody changes something.
    Certain,
}

impl Cause {
    /// A cause that somebody has to remove; a long message is cut.
    pub fn new(reason: Reason, message: impl AsRef<str>) -> Self {
        Self { reason, message: bounded(message.as_ref(), MAX_MESSAGE), gap: Gap::Certain }
    }

    /// The same, if it may pass by itself.
    #[must_use]
    pub fn passing(self, gap: Gap) -> Self {
        Self { gap, ..self }
    }
}

/// What is known of an object that an asker needs.
///
/// # Errors
/// The circle, if the object is made from what comes of the asker.
pub fn fact<'a>(known: &'a Known, named: &Named) -> Result<&'a Fact, Cause> {
    match known.circles.get(named) {
        Some(circle) => Err(Cause::new(Reason::ReferenceCycle, circle)),
        None => Ok(known.fact(named)),
    }
}

/// The text of a key of a ConfigMap.
///
/// # Errors
/// The cause why there is none.
pub fn config_map(fact: &Fact, wanted: &KeyRef) -> Result<String, Cause> {
    let KeyRef { name, key } = wanted;
    let Fact::ConfigMap(found) = fact else {
        return Err(not_an_object(fact, "ConfigMap", name, Reason::ConfigMapNotFound));
    };
    if let Some(text) = found.data.get(key) {
        return Ok(text.clone());
    }
    let message = if found.binary.contains(key) {
        format!("ConfigMap {name} key \"{key}\" is binary data, and only text can be passed on")
    } else {
        no_key("ConfigMap", wanted, found.data.keys())
    };
    Err(Cause::new(Reason::KeyNotFound, message))
}

/// Which version of a Secret there is. Whether it has the key is seen by who may read it.
///
/// # Errors
/// The cause why there is none.
pub fn secret(fact: &Fact, wanted: &KeyRef) -> Result<SecretVersion, Cause> {
    match fact {
        Fact::Secret(versions) => Ok(versions.of(&wanted.key)),
        other => Err(not_an_object(other, "Secret", &wanted.name, Reason::SecretNotFound)),
    }
}

/// A value in the state of a resource, or its main id if the path is empty. Its kind is spelled as `kind_key` does.
///
/// # Errors
/// The cause why there is none.
pub fn resource(
    fact: &Fact,
    wanted: &ResourceRef,
    json_type: JsonType,
    budget: &mut Budget,
) -> Result<Value, Cause> {
    let (value, place) = if wanted.is_id() {
        (main_id(fact, wanted)?, "its id".to_owned())
    } else {
        (at_path(fact, wanted, budget)?, format!("path {}", wanted.path))
    };
    if !json_type.accepts(&value) {
        let message = format!(
            "{} {}: {place} is of type {}, and {json_type} is wanted",
            wanted.kind,
            wanted.name,
            JsonType::of(&value)
        );
        return Err(Cause::new(Reason::TypeMismatch, message));
    }
    Ok(value)
}

fn main_id(fact: &Fact, wanted: &ResourceRef) -> Result<Value, Cause> {
    let ResourceRef { kind, name, .. } = wanted;
    let Fact::State(state) = fact else { return Err(no_state(fact, kind, name)) };
    match &state.id {
        Some(id) => Ok(id.as_str().into()),
        None if state.withheld.iter().any(|withheld| withheld.explains("")) => {
            Err(withheld(state, wanted, "its id"))
        }
        None if kind == STATIC_KIND => Err(Cause::new(
            Reason::PathNotFound,
            format!("StateDeclaration {STATIC_KIND}-{name} has no id: set spec.id, or name a path"),
        )),
        None => Err(Cause::new(Reason::PathNotFound, format!("{kind} {name} has no id yet"))),
    }
}

fn at_path(fact: &Fact, wanted: &ResourceRef, budget: &mut Budget) -> Result<Value, Cause> {
    let ResourceRef { kind, name, path } = wanted;
    let parsed = Path::parse(path).map_err(|error| {
        Cause::new(Reason::InvalidPath, format!("path \"{}\" {error}", bounded(path, 100)))
    })?;
    let Fact::State(state) = fact else { return Err(no_state(fact, kind, name)) };
    let is_withheld = || state.withheld.iter().any(|withheld| withheld.explains(path));
    let withheld = || withheld(state, wanted, &format!("path {}", bounded(path, 100)));
    match parsed.find_within(&state.data, budget) {
        // A query finds nothing where something is withheld, and that is no empty list.
        Ok(Value::Array(found)) if found.is_empty() && !parsed.is_singular() && is_withheld() => {
            Err(withheld())
        }
        Ok(found) => Ok(found),
        Err(error) => match lookup_reason(&error) {
            Reason::PathNotFound if is_withheld() => Err(withheld()),
            reason => Err(Cause::new(reason, format!("{kind} {name}: {error}"))),
        },
    }
}

/// Whether paths may take so many steps that they are followed where that holds up nobody: a JSONPath may.
pub fn are_costly<'a>(mut paths: impl Iterator<Item = &'a str>) -> bool {
    paths.any(|path| path.starts_with('$'))
}

/// What is said of a value that comes from a Secret.
fn withheld(state: &StateData, wanted: &ResourceRef, place: &str) -> Cause {
    let ResourceRef { kind, name, path } = wanted;
    let fields = state.withheld.iter().filter(|withheld| withheld.explains(path));
    let fields: Vec<_> = fields.map(|withheld| format!("spec.{}", withheld.field)).collect();
    let comes = if fields.len() == 1 { "comes" } else { "come" };
    let fields = fields.join(" and ");
    let message = format!(
        "{kind} {name}: {place} is not published, because {fields} of {kind} {name} {comes} from a Secret"
    );
    Cause::new(Reason::PathNotFound, message)
}

/// The message for a key that a ConfigMap lacks.
fn no_key<'a>(class: &str, wanted: &KeyRef, has: impl Iterator<Item = &'a String>) -> String {
    let KeyRef { name, key } = wanted;
    let keys: Vec<&str> = has.map(String::as_str).collect();
    let listed: Vec<String> = keys.iter().take(LISTED).map(|key| bounded(key, 64)).collect();
    let more = match keys.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if keys.is_empty() {
        format!("{class} {name} has no key \"{key}\" (it has none)")
    } else {
        format!("{class} {name} has no key \"{key}\" (it has: {}{more})", listed.join(", "))
    }
}

fn no_state(fact: &Fact, kind: &str, name: &str) -> Cause {
    match fact {
        Fact::Missing if kind == STATIC_KIND => {
            Cause::new(Reason::StateNotFound, format!("StateDeclaration {STATIC_KIND}-{name} does not exist"))
                .passing(Gap::Absent)
        }
        Fact::Coming => {
            let message = format!("{kind} {name} exists and has not published a state yet");
            Cause::new(Reason::StateNotFound, message).passing(Gap::Coming)
        }
        Fact::UnknownKind(why) => Cause::new(Reason::UnknownKind, why),
        Fact::Ambiguous(candidates) => Cause::new(
            Reason::AmbiguousReference,
            format!("{kind} {name} may be each of {candidates}: name the kind with its group"),
        ),
        other => not_an_object(other, kind, name, Reason::StateNotFound),
    }
}

fn not_an_object(fact: &Fact, class: &str, name: &str, missing: Reason) -> Cause {
    match fact {
        // Its controller puts it right at once.
        Fact::Untrusted(why) => Cause::new(Reason::StateNotTrusted, why).passing(Gap::Absent),
        Fact::Unreadable(why) => {
            Cause::new(Reason::ReadFailed, format!("the state of {class} {name} cannot be read: {why}"))
        }
        Fact::Failed(error) => Cause::new(Reason::ReadFailed, format!("{error}; it is tried again")),
        Fact::Coming => {
            let message =
                format!("{class} {name} does not exist yet: the ConfigExport that writes it has no values");
            Cause::new(missing, message).passing(Gap::Coming)
        }
        _ => Cause::new(missing, format!("{class} {name} does not exist")).passing(Gap::Absent),
    }
}

fn lookup_reason(error: &LookupError) -> Reason {
    match error.reason {
        LookupReason::TooLarge | LookupReason::TooLargeTogether | LookupReason::TooDeep => {
            Reason::ValueTooLarge
        }
        LookupReason::TooManyMatches | LookupReason::TooManySteps => Reason::InvalidPath,
        _ => Reason::PathNotFound,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kraken_api::state_declaration::Withheld;
    use serde_json::json;

    use super::*;
    use crate::{
        facts::{ConfigMapData, tests::read_error},
        secrets::SecretVersions,
    };

    /// With a budget of its own.
    fn resource(fact: &Fact, wanted: &ResourceRef, json_type: JsonType) -> Result<Value, Cause> {
        super::resource(fact, wanted, json_type, &mut Budget::default())
    }

    fn key(key: &str) -> KeyRef {
        KeyRef { name: "sizes".into(), key: key.into() }
    }

    fn sizes(keys: &[&str]) -> Fact {
        let data = keys.iter().map(|key| ((*key).to_owned(), "t2.nano".to_owned())).collect();
        Fact::ConfigMap(Arc::new(ConfigMapData { data, binary: ["raw".to_owned()].into() }))
    }

    fn a(path: &str) -> ResourceRef {
        ResourceRef { kind: "ec2instance".into(), name: "a".into(), path: path.into() }
    }

    fn state(data: Value) -> Fact {
        Fact::State(Arc::new(StateData { data, ..StateData::default() }))
    }

    fn cause(reason: Reason, message: &str) -> Cause {
        Cause { reason, message: message.into(), gap: Gap::Certain }
    }

    fn absent(reason: Reason, message: &str) -> Cause {
        cause(reason, message).passing(Gap::Absent)
    }

    #[test]
    fn a_key_that_exists_is_its_text() {
        assert_eq!(config_map(&sizes(&["small"]), &key("small")), Ok("t2.nano".into()));
    }

    #[test]
    fn a_missing_config_map_a_missing_key_and_binary_data_are_told_apart() {
        let missing = config_map(&Fact::Missing, &key("small"));
        assert_eq!(missing, Err(absent(Reason::ConfigMapNotFound, "ConfigMap sizes does not exist")));
        let lacks = config_map(&sizes(&["large", "medium"]), &key("small"));
        let message = "ConfigMap sizes has no key \"small\" (it has: large, medium)";
        assert_eq!(lacks, Err(cause(Reason::KeyNotFound, message)));
        let binary = config_map(&sizes(&[]), &key("raw")).unwrap_err();
        assert_eq!(binary.reason, Reason::KeyNotFound);
        assert!(binary.message.contains("is binary data"), "{}", binary.message);
    }

    #[test]
    fn the_list_of_keys_is_bounded() {
        let keys: Vec<String> = (0..1000).map(|n| format!("{n:0>253}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let message = config_map(&sizes(&keys), &key("small")).unwrap_err().message;
        assert!(message.len() <= MAX_MESSAGE + 3, "{message}");
        let short: Vec<String> = (10..30).map(|n| n.to_string()).collect();
        let short: Vec<&str> = short.iter().map(String::as_str).collect();
        let message = config_map(&sizes(&short), &key("small")).unwrap_err().message;
        assert!(message.ends_with("16, 17 and 12 more)"), "{message}");
        assert!(no_key("ConfigMap", &key("x"), std::iter::empty()).ends_with("(it has none)"));
    }

    #[test]
    fn a_secret_is_answered_by_its_version_alone() {
        let fact = Fact::Secret(Arc::new(SecretVersions::of_all("u".into(), "7".into())));
        let version = SecretVersion { uid: "u".into(), resource_version: "7".into() };
        assert_eq!(secret(&fact, &key("any")), Ok(version));
        assert_eq!(
            secret(&Fact::Missing, &key("any")),
            Err(absent(Reason::SecretNotFound, "Secret sizes does not exist"))
        );
    }

    #[test]
    fn a_path_leads_into_the_state() {
        let fact = state(json!({"instances": [{"InstanceType": "t2.nano"}]}));
        let wanted = a("instances.0.InstanceType");
        assert_eq!(resource(&fact, &wanted, JsonType::String), Ok(json!("t2.nano")));
    }

    #[test]
    fn without_a_path_the_main_id_is_meant() {
        let id = |id: Option<&str>| {
            let (data, id) = (json!({"": "wrong"}), id.map(str::to_owned));
            Fact::State(Arc::new(StateData { data, id, ..StateData::default() }))
        };
        assert_eq!(resource(&id(Some("i-1")), &a(""), JsonType::String), Ok(json!("i-1")));
        assert_eq!(resource(&id(Some("i-1")), &a(""), JsonType::Any), Ok(json!("i-1")));
        let mismatch = resource(&id(Some("i-1")), &a(""), JsonType::Integer);
        let message = "ec2instance a: its id is of type string, and integer is wanted";
        assert_eq!(mismatch, Err(cause(Reason::TypeMismatch, message)));
        let none = resource(&id(None), &a(""), JsonType::String);
        assert_eq!(none, Err(cause(Reason::PathNotFound, "ec2instance a has no id yet")));
        let facts = ResourceRef { kind: "static".into(), ..a("") };
        let message = "StateDeclaration static-a has no id: set spec.id, or name a path";
        assert_eq!(resource(&id(None), &facts, JsonType::String), Err(cause(Reason::PathNotFound, message)));
        assert_eq!(
            resource(&Fact::Missing, &a(""), JsonType::String).unwrap_err().reason,
            Reason::StateNotFound
        );
    }

    #[test]
    fn a_state_that_is_not_there_says_what_may_be_wrong() {
        let found = |fact: &Fact| resource(fact, &a("x"), JsonType::Any);
        let message = "ec2instance a does not exist";
        assert_eq!(found(&Fact::Missing), Err(absent(Reason::StateNotFound, message)));
        let coming = found(&Fact::Coming).unwrap_err();
        assert_eq!(coming.message, "ec2instance a exists and has not published a state yet");
        assert_eq!(coming.gap, Gap::Coming);
        let unknown = found(&Fact::UnknownKind("no controller serves it".into()));
        assert_eq!(unknown, Err(cause(Reason::UnknownKind, "no controller serves it")));
        let several = found(&Fact::Ambiguous("ec2instance.acme a, ec2instance.aws a".into())).unwrap_err();
        assert_eq!(several.reason, Reason::AmbiguousReference);
        assert!(several.message.contains("ec2instance.acme a, ec2instance.aws a"), "{}", several.message);
        let facts = ResourceRef { kind: "static".into(), ..a("x") };
        assert_eq!(
            resource(&Fact::Missing, &facts, JsonType::Any).unwrap_err().message,
            "StateDeclaration static-a does not exist"
        );
    }

    #[test]
    fn a_missing_path_a_malformed_path_and_a_wrong_type_are_told_apart() {
        let fact = state(json!({"instances": [{"InstanceType": "t2.nano"}], "none": null}));
        let reason = |path: &str, json_type| resource(&fact, &a(path), json_type).unwrap_err().reason;
        assert_eq!(reason("instances.1.InstanceType", JsonType::Any), Reason::PathNotFound);
        assert_eq!(reason("none", JsonType::Any), Reason::PathNotFound);
        assert_eq!(reason("instances[", JsonType::Any), Reason::InvalidPath);
        let mismatch = resource(&fact, &a("instances.0.InstanceType"), JsonType::Integer).unwrap_err();
        assert_eq!(mismatch.reason, Reason::TypeMismatch);
        assert!(
            mismatch.message.contains("of type string") && mismatch.message.contains("integer is wanted")
        );
    }

    #[test]
    fn a_value_that_comes_from_a_secret_says_why_it_is_not_published() {
        let of = |path: &str, field: &str| Withheld { path: path.into(), field: field.into() };
        let withheld = vec![of("instances.ImageId", "imageID"), of("", "name")];
        let fact = Fact::State(Arc::new(StateData { data: json!({"instances": [{}]}), id: None, withheld }));
        let message = |path: &str| resource(&fact, &a(path), JsonType::Any).unwrap_err().message;
        assert_eq!(
            message("instances.0.ImageId"),
            "ec2instance a: path instances.0.ImageId is not published, because spec.imageID of ec2instance a comes from a Secret"
        );
        assert!(message("").contains("its id is not published, because spec.name of ec2instance a"));
        assert!(!message("instances.0.SubnetId").contains("Secret"));
        // A query finds nothing there, and that is no empty list.
        assert!(
            message("$.instances[*].ImageId").contains("spec.imageID of ec2instance a comes from a Secret")
        );
        assert_eq!(resource(&fact, &a("$.instances[*].SubnetId"), JsonType::Array), Ok(json!([])));
    }

    #[test]
    fn data_of_any_shape_is_answered() {
        for data in [json!(null), json!(1), json!("text"), json!([]), json!({})] {
            assert!(resource(&state(data), &a("a.b.0"), JsonType::Any).is_err());
        }
        let huge = state(json!({"a": "x".repeat(2_000_000)}));
        assert_eq!(resource(&huge, &a("a"), JsonType::Any).unwrap_err().reason, Reason::ValueTooLarge);
    }

    #[test]
    fn what_cannot_be_trusted_or_read_is_not_called_missing() {
        let untrusted = resource(&Fact::Untrusted("because".into()), &a("x"), JsonType::Any);
        assert_eq!(untrusted, Err(absent(Reason::StateNotTrusted, "because")));
        let unreadable =
            resource(&Fact::Unreadable("recursion limit exceeded".into()), &a("x"), JsonType::Any);
        let message = "the state of ec2instance a cannot be read: recursion limit exceeded";
        assert_eq!(unreadable, Err(cause(Reason::ReadFailed, message)));
        let failed = config_map(&Fact::Failed(Arc::new(read_error())), &key("small")).unwrap_err();
        assert_eq!(failed.reason, Reason::ReadFailed);
        assert!(failed.message.contains("ConfigMap sizes") && failed.message.contains("on fire"));
    }
}
