//! The common parts of all CRDs of Kraken: schemas, printer columns, and a default status with Ready=Unknown.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, JSON,
};
use kube::CustomResourceExt;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::choices;

pub mod at_run_time;

pub use kraken_options::{any_json, any_object};

/// Upstream conditions, as a list keyed by type.
pub fn conditions_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"type": "string", "maxLength": 316},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
                "message": {"type": "string", "maxLength": 32768},
            },
        },
    })
}

/// The CRD of a spoke's kind: with columns for Ready, its reason, the main external id and the age.
pub fn spoke_kind<K: CustomResourceExt>() -> CustomResourceDefinition {
    summarised_kind::<K>(&[])
}

/// The same with additional columns of the kind, each with a value of `status.summary`: see [`summary_key`].
pub fn summarised_kind<K: CustomResourceExt>(columns: &[&str]) -> CustomResourceDefinition {
    summarised(K::crd(), columns)
}

fn summarised(crd: CustomResourceDefinition, columns: &[&str]) -> CustomResourceDefinition {
    let id = column("External ID", ".status.externalIds[0]", 0);
    // What is adopted is kept when the resource is deleted.
    let adopted = column("Adopted", ".status.adopted[0]", 1);
    with_columns(crd, &std::iter::once(id).chain(summaries(columns)).chain([adopted]).collect::<Vec<_>>())
}

/// The same of a look-up, which shows the main id of what it found.
pub fn lookup_kind<K: CustomResourceExt>(columns: &[&str]) -> CustomResourceDefinition {
    let id = column("Found", ".status.answer.ids[0]", 0);
    with_columns(K::crd(), &std::iter::once(id).chain(summaries(columns)).collect::<Vec<_>>())
}

fn summaries(columns: &[&str]) -> impl Iterator<Item = CustomResourceColumnDefinition> {
    columns.iter().map(|name| column(name, &format!(".status.summary.{}", summary_key(name)), 0))
}

/// The key of `status.summary` that a column shows: `CIDR` shows `cidr`, `Public IP` shows `publicIp`. In camel case, which
/// `kubectl describe` splits into words: `Public Ip`.
pub fn summary_key(column: &str) -> String {
    let mut words = column.split(' ').map(str::to_lowercase);
    let first = words.next().unwrap_or_default();
    words.fold(first, |key, word| {
        let mut letters = word.chars();
        let initial = letters.next().map(|letter| letter.to_ascii_uppercase());
        key + &initial.into_iter().chain(letters).collect::<String>()
    })
}

/// The CRD of a kind of the hub that has a Ready condition.
pub fn hub_kind<K: CustomResourceExt>() -> CustomResourceDefinition {
    with_columns(K::crd(), &[])
}

/// The same with columns of its own after Ready and its reason, each with its name, its path and its type.
pub fn hub_kind_with<K: CustomResourceExt>(columns: &[(&str, &str, &str)]) -> CustomResourceDefinition {
    let of = |(name, path, type_): &(&str, &str, &str)| CustomResourceColumnDefinition {
        type_: (*type_).to_owned(),
        ..column(name, path, 0)
    };
    with_columns(K::crd(), &columns.iter().map(of).collect::<Vec<_>>())
}

fn with_columns(
    mut crd: CustomResourceDefinition,
    own: &[CustomResourceColumnDefinition],
) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let mut columns = vec![
            column("Ready", r#".status.conditions[?(@.type=="Ready")].status"#, 0),
            column("Reason", r#".status.conditions[?(@.type=="Ready")].reason"#, 0),
        ];
        columns.extend(own.iter().cloned());
        columns.push(CustomResourceColumnDefinition {
            type_: "date".to_owned(),
            ..column("Age", ".metadata.creationTimestamp", 0)
        });
        columns.push(column("Message", r#".status.conditions[?(@.type=="Ready")].message"#, 1));
        version.additional_printer_columns = Some(columns);
        let mut schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(schema) = &mut schema {
            choices::explain(schema);
        }
        let status = schema.and_then(|s| s.properties.as_mut()).and_then(|p| p.get_mut("status"));
        if let Some(status) = status {
            // A default costs no write. The API server returns it until a controller writes the status.
            status.default = Some(JSON(json!({"conditions": [{
                "type": crate::conditions::READY,
                "status": "Unknown",
                "reason": crate::reasons::Reason::Pending.as_str(),
                "message": "Waiting for the first report of the controller, about ten seconds while it waits for references; if this persists, \
                            check that the controller of the kind runs.",
                "lastTransitionTime": "1970-01-01T00:00:00Z",
            }]})));
            status.nullable = None;
        }
    }
    crd
}

fn column(name: &str, json_path: &str, priority: i32) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        json_path: json_path.to_owned(),
        type_: "string".to_owned(),
        priority: (priority != 0).then_some(priority),
        ..CustomResourceColumnDefinition::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConfigExport, DependencyRequest, StateDeclaration};

    fn columns(crd: &CustomResourceDefinition) -> Vec<(String, String)> {
        let columns = crd.spec.versions[0].additional_printer_columns.iter().flatten();
        columns.map(|column| (column.name.clone(), column.json_path.clone())).collect()
    }

    #[test]
    fn the_columns_of_a_kind_are_between_id_and_age() {
        let crd = summarised_kind::<ConfigExport>(&["CIDR", "Public IP"]);
        let names: Vec<_> = columns(&crd).into_iter().map(|(name, _)| name).collect();
        let own = ["CIDR", "Public IP", "Adopted"];
        assert_eq!(names, [&["Ready", "Reason", "External ID"], &own[..], &["Age", "Message"]].concat());
        assert_eq!(columns(&crd)[4].1, ".status.summary.publicIp");
    }

    #[test]
    fn a_lookup_shows_what_it_found_in_place_of_an_object_of_its_own() {
        let shown = columns(&lookup_kind::<ConfigExport>(&["Name"]));
        let names: Vec<_> = shown.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Ready", "Reason", "Found", "Name", "Age", "Message"]);
    }

    #[test]
    fn internal_kinds_have_a_separate_category() {
        // `kubectl wait --for=condition=Ready kraken --all` would wait forever for a kind without conditions.
        for (crd, category) in [
            (StateDeclaration::crd(), "kraken-internal"),
            (DependencyRequest::crd(), "kraken-internal"),
            (ConfigExport::crd(), "kraken"),
        ] {
            assert_eq!(crd.spec.names.categories, Some(vec![category.to_owned()]));
        }
    }
}
