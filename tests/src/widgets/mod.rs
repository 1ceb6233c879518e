//! A kind that is known at run time only, of a provider without tags: what a controller of many providers' types is made of, in the
//! smallest form. Its schema, its desired and observed states are JSON, its creations are slow, and a journal of its own says what exists.

mod provider;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kraken_api::{crd::at_run_time, names::owner_kind};
use kraken_options::{Opt, OptionType, Resolved, Resolver};
use kraken_spoke::{
    Comparison, Difference, Fate, Features, FieldDiff, Remedy,
    dynamic::{Change, Desired, DynKind, KindInfo, Observed, Schema, Spec, interned},
};
use kube::core::ApiResource;
use serde_json::{Value, json};

pub use provider::Provider;

/// The API group of all kinds of widgets.
pub const GROUP: &str = "testing.kraken-iac.eoinfennessy.com";

/// A kind of widgets with this name.
#[derive(Debug)]
pub struct Widgets {
    info: KindInfo,
}

fn plural(kind: &str) -> String {
    format!("{}s", kind.to_lowercase())
}

fn schema() -> JSONSchemaProps {
    let option = |type_: &str| {
        json!({
            "type": "object",
            "properties": {"value": {"type": type_}, "valueFrom": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        })
    };
    let schema =
        json!({"required": ["size"], "properties": {"size": option("integer"), "note": option("string")}});
    serde_json::from_value(schema).unwrap_or_default()
}

impl Widgets {
    /// The kind with this name.
    pub fn new(kind: &str) -> Self {
        let resource = ApiResource {
            group: GROUP.into(),
            version: "v1alpha1".into(),
            api_version: format!("{GROUP}/v1alpha1"),
            kind: kind.into(),
            plural: plural(kind),
        };
        let info = KindInfo {
            features: Features {
                secret_field_paths: &[("size", &["size"]), ("note", &["note"])],
                summary: &[("Size", "size")],
                journaled: true,
                slow: true,
                ..Features::NONE
            },
            ..KindInfo::new(interned(kind), resource, Schema::new(schema))
        };
        Self { info }
    }

    /// The key of a kind with this name.
    pub fn key(kind: &str) -> String {
        owner_kind(kind, GROUP)
    }

    /// Its CRD.
    pub fn crd(&self) -> CustomResourceDefinition {
        let names = at_run_time::Names {
            group: GROUP.to_owned(),
            kind: self.info.name.to_owned(),
            plural: self.info.resource.plural.clone(),
            categories: vec!["widgets".to_owned()],
        };
        at_run_time::of(&names, "A widget.", schema(), &["Size"])
    }
}

/// An option of the spec; `None` inside if it is not set.
fn option<T>(spec: &Value, field: &str, values: &mut Resolver<'_>) -> Option<Option<Resolved<T>>>
where
    T: OptionType,
{
    let option: Option<Opt<T>> = serde_json::from_value(spec[field].clone()).ok()?;
    values.take_if(field, option.as_ref())
}

fn objects(observed: &Observed) -> &[Value] {
    observed.get::<Value>()["objects"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn with(observed: &Observed, objects: Vec<Value>) -> Observed {
    let mut value = observed.get::<Value>().clone();
    value["objects"] = Value::Array(objects);
    Observed::new(value)
}

fn id(object: &Value) -> String {
    object["id"].as_str().unwrap_or_default().to_owned()
}

impl DynKind for Widgets {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        let spec = spec.json();
        let (size, note) = (option::<i64>(&spec, "size", values), option::<String>(&spec, "note", values));
        let (size, note) = (size??, note?);
        Some(Desired::new(json!({"size": size.expose(), "note": note.map(|note| note.expose().clone())})))
    }

    fn nothing(&self) -> Observed {
        Observed::new(json!({"objects": [], "fate": null}))
    }

    fn compare(&self, desired: &Desired, observed: &Observed) -> Comparison<Change> {
        let mut comparison = Comparison::default();
        let Some(object) = objects(observed).first() else {
            comparison.missing = Some("1 widget".to_owned());
            return comparison;
        };
        // The provider's own plan, which `examine` added.
        for change in object["plan"].as_array().into_iter().flatten() {
            let field = change.as_str().unwrap_or_default();
            let want = &desired.get::<Value>()[field];
            comparison.differences.push(Difference {
                field: FieldDiff::new(field, want.to_string(), object[field].to_string()),
                remedy: Remedy::Change(Change::new(json!({field: want}))),
            });
        }
        comparison
    }

    fn state(&self, _: &Desired, observed: &Observed) -> Value {
        let object = objects(observed).first();
        object.map_or(
            Value::Null,
            |object| json!({"id": object["id"], "size": object["size"], "note": object["note"]}),
        )
    }

    fn ids(&self, observed: &Observed) -> Vec<String> {
        objects(observed).iter().map(id).collect()
    }

    fn select(&self, observed: Observed, ids: &[String]) -> (Observed, Observed) {
        let (one, other) = objects(&observed).iter().cloned().partition(|object| ids.contains(&id(object)));
        (with(&observed, one), with(&observed, other))
    }

    fn is_gone(&self, observed: &Observed) -> bool {
        objects(observed).is_empty()
    }

    fn epoch(&self, observed: &Observed) -> i64 {
        objects(observed).iter().filter_map(|object| object["epoch"].as_i64()).max().unwrap_or_default()
    }

    fn fate(&self, observed: &Observed) -> Fate {
        match observed.get::<Value>()["fate"].as_str() {
            Some(why) => Fate::Unknown(why.to_owned()),
            None => Fate::Known,
        }
    }

    fn split(&self, observed: Observed, epoch: i64) -> (Observed, Observed) {
        let is_before = |object: &Value| object["epoch"].as_i64().unwrap_or_default() < epoch;
        let (before, since) = objects(&observed).iter().cloned().partition(is_before);
        (with(&observed, before), with(&observed, since))
    }
}
