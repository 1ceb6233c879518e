//! A kind that is known at run time only, of a provider without tags: what a controller of many providers' types is made of, in the
//! smallest form. Its schema, its desired and observed states are JSON, its creations are slow, and a journal of its own says what exists.

mod provider;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kraken_api::{crd::at_run_time, names::owner_kind};
use kraken_kind::{
    Comparison, Difference, Features, FieldDiff, Remedy,
    dynamic::{Change, Desired, Kind, KindInfo, Observed, ObservedObject, Schema, Spec, interned},
};
use kraken_options::{Opt, OptionType, Resolved, Resolver};
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

/// These widgets as the loop sees them.
fn observed(objects: impl IntoIterator<Item = Value>) -> Observed {
    let seen = |object: Value| {
        let epoch = object["epoch"].as_i64().unwrap_or_default();
        let id = object["id"].as_str().unwrap_or_default().to_owned();
        ObservedObject::new(id, object).of_launch(epoch)
    };
    objects.into_iter().map(seen).collect()
}

impl Kind for Widgets {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn desired(&self, spec: &dyn Spec, values: &mut Resolver<'_>) -> Option<Desired> {
        let spec = spec.json();
        let (size, note) = (option::<i64>(&spec, "size", values), option::<String>(&spec, "note", values));
        let (size, note) = (size??, note?);
        Some(Desired::new(json!({"size": size.expose(), "note": note.map(|note| note.expose().clone())})))
    }

    fn compare(&self, desired: &Desired, observed: &Observed) -> Comparison<Change> {
        let mut comparison = Comparison::default();
        let Some(object) = observed.all::<Value>().first().copied() else {
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
        let object = observed.all::<Value>().first().copied();
        object.map_or(
            Value::Null,
            |object| json!({"id": object["id"], "size": object["size"], "note": object["note"]}),
        )
    }
}
