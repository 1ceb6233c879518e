//! Helpers for the unit tests of spokes. Binaries do not contain it, because only tests use it.

#![allow(clippy::unwrap_used)] // a panic fails the test

use std::fmt::Debug;

use aws_config::BehaviorVersion;
use aws_sdk_ec2::config::{Credentials, Region};
use kraken_kind::{
    Difference, Edit, FromContext, Kind as _, Registry, Remedy, Resolver, Spoke,
    api::crd::spoke_kind,
    dynamic::Desired,
    options::{SecretData, Values},
    runtime::metrics::Metrics,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    Aws, AwsLookup, AwsResource, AwsSpec, LookupKind,
    clients::RateLimitScope,
    lookup_kind::{self, LookupSpec},
    resource::{DesiredOf, ObservedOf, SpecOf},
};

/// The value of key `k` of the Secret `s`.
pub const HIDDEN: &str = "hunter2";
/// Its keyed digest.
pub const DIGEST: &str = "0123abcd.00112233445566778899aabbccddeeff";

/// A spec with some fields replaced, or removed with null.
pub fn with(mut spec: Value, mut changes: Value) -> Value {
    let fields = spec.as_object_mut().unwrap();
    fields.append(changes.as_object_mut().unwrap());
    fields.retain(|_, value| !value.is_null());
    spec
}

/// An AWS client for an endpoint that checks no credentials, such as a simulator's.
pub async fn aws(endpoint: &str) -> Aws {
    let keys = Credentials::new("testing", "testing", None, None, "testing");
    let shared = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(keys)
        .load()
        .await;
    Aws::with(shared, Some(endpoint), Metrics::new("testing"), RateLimitScope::Process)
}

/// The desired state of a valid spec.
pub fn desired<S: AwsResource>(written: Value) -> DesiredOf<S>
where
    SpecOf<S>: DeserializeOwned,
{
    of_kind::<S>(written).unwrap()
}

/// The problems of a spec.
pub fn problems<S: AwsResource>(written: Value) -> Vec<String>
where
    SpecOf<S>: DeserializeOwned,
{
    of_kind::<S>(written).unwrap_err()
}

/// The differences between a valid spec and an object, as sentences ([`rendered`]). Admission must announce each of them as what it
/// is ([`AwsResource::edit_of`]).
pub fn compared<S: AwsResource>(written: Value, object: &ObservedOf<S>) -> Vec<String>
where
    SpecOf<S>: DeserializeOwned,
{
    let differences = SpecOf::<S>::differences(&desired::<S>(written.clone()), object);
    for difference in &differences {
        let announced = announced::<S>(&written, difference);
        let is_right = match difference.remedy {
            Remedy::Change(_) => announced == Edit::InPlace,
            Remedy::Disruptive(..) | Remedy::Resume(_) => announced == Edit::Stops,
            Remedy::Immutable(_) => announced == Edit::Replaces,
        };
        assert!(is_right, "{announced:?} is announced for {:?}", difference.field);
    }
    rendered(differences)
}

/// What admission announces for an edit that makes this difference, from the observed value.
fn announced<S: AwsResource>(written: &Value, Difference { field, .. }: &Difference<impl Sized>) -> Edit
where
    SpecOf<S>: DeserializeOwned,
{
    let spec = |written: Value| serde_json::from_value::<SpecOf<S>>(written).ok();
    let name = field.path.split(['.', '[']).next().unwrap();
    let have = serde_json::from_str(&field.have).unwrap_or_else(|_| json!(field.have));
    let before = spec(with(written.clone(), json!({name: {"value": have}})));
    let after = || spec(written.clone()).unwrap();
    S::edit_of(&before.unwrap_or_else(after), &after(), name)
}

fn of_kind<S: AwsResource>(written: Value) -> Result<DesiredOf<S>, Vec<String>>
where
    SpecOf<S>: DeserializeOwned,
{
    let spec: SpecOf<S> = serde_json::from_value(written).unwrap();
    resolve(|values| spec.desired(values))
}

/// What a look-up with a valid spec answers if these objects match its filters: their ids, or the message of the condition.
///
/// # Errors
/// The message.
pub fn answered<S: AwsLookup>(
    written: Value,
    found: Vec<lookup_kind::ObservedOf<S>>,
) -> Result<Vec<String>, String>
where
    lookup_kind::SpecOf<S>: DeserializeOwned,
{
    let desired = Desired::new(wanted::<S>(written).unwrap());
    let hits: Vec<_> = found.into_iter().map(lookup_kind::Hit::of).collect();
    let finding = LookupKind::<S>::default().finding(&desired, &lookup_kind::observed::<S>(hits)).unwrap();
    finding.answer.map_err(|why| why.message)
}

/// What a look-up searches for.
///
/// # Errors
/// All problems of the spec.
pub fn wanted<S: AwsLookup>(written: Value) -> Result<lookup_kind::DesiredOf<S>, Vec<String>>
where
    lookup_kind::SpecOf<S>: DeserializeOwned,
{
    let spec: lookup_kind::SpecOf<S> = serde_json::from_value(written).unwrap();
    resolve(|values| spec.desired(values))
}

/// The desired state, with only the Secret `s` as a known value.
///
/// # Errors
/// All problems.
pub fn resolve<D>(desired: impl FnOnce(&mut Resolver<'_>) -> Option<D>) -> Result<D, Vec<String>> {
    let (keys, digests) = ([("k".to_owned(), HIDDEN.into())], [("k".to_owned(), DIGEST.to_owned())]);
    let data = SecretData { version: "1".into(), keys: keys.into(), digests: digests.into() };
    let values = Values { secrets: [("s".to_owned(), data)].into(), ..Values::default() };
    let mut resolver = Resolver::new(&values);
    let desired = desired(&mut resolver);
    let problems: Vec<String> = resolver.finish().problems.iter().map(ToString::to_string).collect();
    assert_eq!(desired.is_none(), !problems.is_empty(), "{problems:?}");
    desired.ok_or(problems)
}

/// Asserts that the problems start with these texts, and that there are no others.
pub fn assert_begin(found: &[String], wanted: &[&str]) {
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found.starts_with(wanted), "{found}");
    }
}

/// Differences as sentences, each with its change or the word "fixed".
pub fn rendered<C: Debug>(differences: Vec<Difference<C>>) -> Vec<String> {
    let one = |Difference { field, remedy }: Difference<C>| {
        let remedy = match remedy {
            Remedy::Change(change) => format!("{change:?}"),
            Remedy::Disruptive(change, _) => format!("disruptive {change:?}"),
            Remedy::Resume(change) => format!("resumed {change:?}"),
            Remedy::Immutable(_) => "fixed".to_owned(),
        };
        format!("{}: {} becomes {}: {remedy}", field.path, field.have, field.want)
    };
    differences.into_iter().map(one).collect()
}

/// Asserts that a spec survives a round trip.
pub fn assert_round_trips<S: Serialize + DeserializeOwned>(spec: &Value) {
    let read: S = serde_json::from_value(spec.clone()).unwrap();
    let mut written = serde_json::to_value(read).unwrap();
    written.as_object_mut().unwrap().remove("lifecycle");
    assert_eq!(&written, spec);
}

/// The descriptions of all fields of all kinds of a spoke, by path: `Subnet.vpcID`.
pub fn descriptions<P: Spoke>() -> Vec<(String, String)> {
    let mut schemas = Schemas(vec![]);
    P::kinds(&mut schemas);
    let mut all = vec![];
    for (kind, schema) in schemas.0 {
        let before = all.len();
        describe(&kind, &schema, &mut all);
        assert!(all.len() > before + 1, "{kind}");
    }
    all
}

/// The fields of every kind that can come from a Secret and are missing in [`kraken_kind::Features::secret_field_paths`]: a
/// value of a Secret in such a field causes the whole state to be withheld. Also the entries that match no such field.
pub fn unlisted_secrets<P: Spoke>() -> Vec<String> {
    let mut found = Unlisted(vec![]);
    P::kinds(&mut found);
    found.0
}

/// Collects the fields that can come from a Secret and are not listed.
struct Unlisted(Vec<String>);

impl<C> Registry<C> for Unlisted {
    fn kind<E: FromContext<C>>(&mut self) {
        let crd = serde_json::to_value(spoke_kind::<E::Resource>()).unwrap();
        let kind = crd["spec"]["names"]["kind"].as_str().unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let of_secrets: Vec<&String> = spec["properties"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, schema)| schema.to_string().contains(r#""secret":{"#))
            .map(|(name, _)| name)
            .collect();
        let listed: Vec<&str> = E::kind().info().secret_field_paths.iter().map(|(field, _)| *field).collect();
        let unlisted = of_secrets.iter().filter(|field| !listed.contains(&field.as_str()));
        self.0.extend(unlisted.map(|field| format!("{kind}.{field} is not listed")));
        let stray = listed.iter().filter(|field| !of_secrets.iter().any(|of| of == *field));
        self.0.extend(stray.map(|field| format!("{kind}.{field} does not accept a Secret")));
    }
}

/// Collects the schema of the spec of every kind.
struct Schemas(Vec<(String, Value)>);

impl<C> Registry<C> for Schemas {
    fn kind<E: FromContext<C>>(&mut self) {
        let crd = serde_json::to_value(spoke_kind::<E::Resource>()).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        self.0.push((crd["spec"]["names"]["kind"].as_str().unwrap().to_owned(), spec.clone()));
    }
}

/// All properties of a schema and its nested schemas, except those of a reference. A literal is described by its field,
/// and its members separately.
fn describe(path: &str, schema: &Value, found: &mut Vec<(String, String)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if name == "valueFrom" || name == "lifecycle" {
            continue;
        }
        let path = format!("{path}.{name}");
        if name != "value" {
            assert!(property["type"].is_string(), "{path} has no type");
            let text = property["description"].as_str().unwrap_or_default().replace('\n', " ");
            found.push((path.clone(), text));
        }
        describe(&path, property, found);
        describe(&path, &property["items"], found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_replaced_added_and_removed() {
        let spec = with(json!({"a": 1, "b": 2}), json!({"a": null, "b": 3, "c": 4}));
        assert_eq!(spec, json!({"b": 3, "c": 4}));
    }

    #[test]
    fn descriptions_include_every_user_field() {
        let field = |more: Value| with(json!({"type": "object", "description": "a\ntext"}), more);
        let inner = json!({"properties": {"inner": field(json!({}))}});
        let schema = json!({"properties": {
            "option": field(json!({"properties": {"value": inner, "valueFrom": inner}})),
            "list": field(json!({"items": inner})),
            "lifecycle": field(inner.clone()),
        }});
        let mut found = vec![];
        describe("Kind", &schema, &mut found);
        found.sort();
        let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["Kind.list", "Kind.list.inner", "Kind.option", "Kind.option.value.inner"]);
        assert!(found.iter().all(|(_, text)| text == "a text"));
    }
}
