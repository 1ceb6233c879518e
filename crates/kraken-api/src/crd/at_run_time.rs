//! The CRD of a kind that is known only at run time: names, a schema of its options, and the parts that every kind has.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Lifecycle, ResourceStatus, lookup};

/// The depth of the deepest option in a spec, which is 1 at its top level; a block adds 1, and 2 if there can be several of it. An
/// admission policy searches specs for references to Secrets up to this depth.
pub const MAX_OPTION_DEPTH: usize = 8;

/// The names of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The API group, a domain.
    pub group: String,
    /// The kind in camel case, such as `OpenstackNetworkingNetworkV2`.
    pub kind: String,
    /// The plural in lower case; with the group at most 253 characters, and at most 63 alone.
    pub plural: String,
    /// What `kubectl get` accepts for several kinds, such as `openstack`. `kraken` is added.
    pub categories: Vec<String>,
}

/// A kind without options, for the parts that every kind has.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "any", version = "v1alpha1", kind = "Any", namespaced, status = "ResourceStatus")]
#[serde(rename_all = "camelCase")]
struct AnySpec {
    /// How it is created, reconciled and deleted.
    #[serde(default)]
    lifecycle: Lifecycle,
}

/// The CRD of this kind. `spec` is the schema of its options, without `lifecycle`, which is added. Descriptions of lifecycle and status are
/// left out: they are most of what a hundred kinds would cost the API server, and `kubectl explain` has them of any other kind.
pub fn of(
    names: &Names,
    description: &str,
    spec: JSONSchemaProps,
    columns: &[&str],
) -> CustomResourceDefinition {
    with_parts(super::summarised(Any::crd(), columns), names, description, &spec)
}

/// The same of a look-up, whose `lifecycle` has what applies to it.
pub fn look_up(names: &Names, description: &str, spec: &JSONSchemaProps) -> CustomResourceDefinition {
    let mut crd = with_parts(super::lookup_kind::<Any>(&[]), names, description, spec);
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let spec = schema.and_then(|schema| schema.properties.as_mut()?.get_mut("spec"));
        let lifecycle = spec.and_then(|spec| spec.properties.as_mut()?.get_mut("lifecycle"));
        if let Some(lifecycle) = lifecycle {
            // A default would contain members that a look-up does not have.
            lifecycle.default = None;
            lifecycle
                .properties
                .iter_mut()
                .for_each(|members| members.retain(|name, _| lookup::applies(name)));
        }
    }
    crd
}

fn with_parts(
    mut crd: CustomResourceDefinition,
    names: &Names,
    description: &str,
    spec: &JSONSchemaProps,
) -> CustomResourceDefinition {
    let Names { group, kind, plural, categories } = names;
    crd.metadata.name = Some(format!("{plural}.{group}"));
    crd.spec.group.clone_from(group);
    crd.spec.names.kind.clone_from(kind);
    crd.spec.names.list_kind = Some(format!("{kind}List"));
    crd.spec.names.plural.clone_from(plural);
    crd.spec.names.singular = Some(kind.to_lowercase());
    crd.spec.names.short_names = None;
    crd.spec.names.categories =
        Some(std::iter::once("kraken".to_owned()).chain(categories.iter().cloned()).collect());
    for version in &mut crd.spec.versions {
        let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut())
        else {
            continue;
        };
        without_descriptions(schema);
        schema.description = Some(description.to_owned());
        let properties = schema.properties.get_or_insert_default();
        let common = properties.remove("spec").and_then(|spec| spec.properties).unwrap_or_default();
        let mut own = spec.clone();
        own.type_ = Some("object".to_owned());
        own.properties.get_or_insert_default().extend(common);
        properties.insert("spec".to_owned(), own);
        let required = schema.required.get_or_insert_default();
        if !required.contains(&"spec".to_owned()) {
            required.push("spec".to_owned());
        }
    }
    crd
}

/// Removes the descriptions of a schema and of all its parts.
fn without_descriptions(schema: &mut JSONSchemaProps) {
    schema.description = None;
    let maps = [&mut schema.properties, &mut schema.pattern_properties];
    maps.into_iter().flatten().flat_map(BTreeMap::values_mut).for_each(without_descriptions);
    let lists = [&mut schema.all_of, &mut schema.any_of, &mut schema.one_of];
    lists.into_iter().flatten().flatten().for_each(without_descriptions);
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(one)) => without_descriptions(one),
        Some(JSONSchemaPropsOrArray::Schemas(all)) => all.iter_mut().for_each(without_descriptions),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(one)) = &mut schema.additional_properties {
        without_descriptions(one);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kind_has_its_own_options_and_the_parts_of_every_kind() {
        let names = Names {
            group: "tofu.example.com".to_owned(),
            kind: "AcmeNetwork".to_owned(),
            plural: "acmenetworks".to_owned(),
            categories: vec!["acme".to_owned()],
        };
        let spec = json!({"required": ["name"], "properties": {"name": {"type": "object", "description": "The name."}}});
        let crd = of(&names, "A network.", serde_json::from_value(spec).unwrap(), &["Name"]);
        assert_eq!(crd.metadata.name.as_deref(), Some("acmenetworks.tofu.example.com"));
        assert_eq!(crd.spec.names.categories, Some(vec!["kraken".to_owned(), "acme".to_owned()]));
        let crd = serde_json::to_value(&crd).unwrap();
        let version = &crd["spec"]["versions"][0];
        let schema = &version["schema"]["openAPIV3Schema"];
        assert_eq!(schema["description"], "A network.");
        let spec = &schema["properties"]["spec"];
        assert_eq!(spec["required"], json!(["name"]));
        assert_eq!(spec["properties"]["name"]["description"], "The name.");
        assert!(spec["properties"]["lifecycle"]["properties"]["deletion"].is_object(), "{spec}");
        assert_eq!(schema["properties"]["status"]["default"]["conditions"][0]["reason"], "Pending");
        assert_eq!(version["subresources"]["status"], json!({}));
        let text = crd.to_string();
        assert!(text.len() < 8_000, "{} bytes", text.len());
    }

    #[test]
    fn look_up_creates_and_deletes_nothing() {
        let names = Names {
            group: "tofu.example.com".to_owned(),
            kind: "DataAcmeNetwork".to_owned(),
            plural: "dataacmenetworks".to_owned(),
            categories: vec![],
        };
        let crd = serde_json::to_value(look_up(&names, "A network.", &JSONSchemaProps::default())).unwrap();
        let version = &crd["spec"]["versions"][0];
        let lifecycle =
            &version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["lifecycle"];
        let members: Vec<&str> =
            lifecycle["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["dependsOn", "paused", "resyncInterval", "share"]);
        assert!(lifecycle["default"].is_null(), "{lifecycle}");
        assert_eq!(version["additionalPrinterColumns"][2]["name"], "Found");
    }
}
