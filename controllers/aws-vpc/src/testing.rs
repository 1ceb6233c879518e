//! What the tests of every kind have in common.

use std::fmt::Debug;

use kraken_aws::{Managed, Single};
use kraken_spoke::{
    Difference, Registry, Remedy, Resolver, Spoke,
    external::SpecOf,
    options::{SecretData, Values},
    program::FromContext,
};
use kube::core::object::HasSpec;
use serde_json::{Value, json};

/// The Secret `s` holds this as `k`.
pub(crate) const HIDDEN: &str = "hunter2";

fn spec<S: Single>(written: Value) -> SpecOf<Managed<S>>
where
    SpecOf<Managed<S>>: Clone,
{
    let object = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "a"}, "spec": written});
    let object: S::Kind = serde_json::from_value(object).unwrap();
    object.spec().clone()
}

fn secret() -> Values {
    let data = SecretData { version: "1".into(), keys: [("k".to_owned(), HIDDEN.into())].into() };
    Values { secrets: [("s".to_owned(), data)].into(), ..Values::default() }
}

/// What a spec that is right comes to.
pub(crate) fn desired<S: Single>(written: Value) -> S::Desired
where
    SpecOf<Managed<S>>: Clone,
{
    let values = secret();
    let mut resolver = Resolver::new(&values);
    let desired = S::desired(&spec::<S>(written), &mut resolver);
    let problems = resolver.finish().problems;
    assert!(problems.is_empty(), "{problems:?}");
    desired.unwrap()
}

/// What is wrong with a spec.
pub(crate) fn problems<S: Single>(written: Value) -> Vec<String>
where
    SpecOf<Managed<S>>: Clone,
{
    let values = secret();
    let mut resolver = Resolver::new(&values);
    assert!(S::desired(&spec::<S>(written), &mut resolver).is_none());
    resolver.finish().problems.iter().map(ToString::to_string).collect()
}

/// Differences as sentences, each with its change or the word "fixed".
pub(crate) fn told<C: Debug>(differences: Vec<Difference<C>>) -> Vec<String> {
    let one = |Difference { field, remedy }: Difference<C>| {
        let remedy = match remedy {
            Remedy::Change(change) => format!("{change:?}"),
            Remedy::Immutable(_) => "fixed".to_owned(),
        };
        format!("{}: {} becomes {}: {remedy}", field.path, field.have, field.want)
    };
    differences.into_iter().map(one).collect()
}

/// Collects the schema of the spec of every kind.
struct Schemas(Vec<(String, Value)>);

impl<C> Registry<C> for Schemas {
    fn kind<E: FromContext<C>>(&mut self) {
        let crd = serde_json::to_value(kraken_spoke::api::crd::spoke_kind::<E::Kind>()).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        self.0.push((crd["spec"]["names"]["kind"].as_str().unwrap().to_owned(), spec.clone()));
    }
}

/// Every property of a schema and of what is nested in it, by path; not the inside of a reference.
fn properties(path: &str, schema: &Value, found: &mut Vec<(String, Value)>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if name != "valueFrom" && name != "lifecycle" && name != "value" {
            let path = format!("{path}.{name}");
            found.push((path.clone(), property.clone()));
            properties(&path, property, found);
            properties(&path, &property["items"], found);
        }
    }
}

#[test]
fn every_field_of_every_kind_says_what_it_is_with_an_example() {
    let mut schemas = Schemas(vec![]);
    crate::Network::kinds(&mut schemas);
    for (kind, schema) in schemas.0 {
        let mut found = vec![];
        properties(&kind, &schema, &mut found);
        assert!(found.len() > 1, "{kind}");
        for (path, property) in found {
            let text = property["description"].as_str().unwrap_or_default().replace('\n', " ");
            assert!(text.contains("Example: `"), "{path}: {text}");
        }
    }
}
