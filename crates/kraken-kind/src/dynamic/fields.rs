//! The fields of a kind's spec, from its CRD: a path in `lifecycle.ignoreChanges` that names no field is invalid. Pure.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kraken_options::Path;

use super::KindInfo;
use crate::Ignored;

impl KindInfo {
    /// Why no difference can be found at this path, if that is so.
    pub fn fault(&self, path: &str) -> Option<String> {
        if !self.has(path) {
            return Some(format!("{path} is not a field of the spec, which has {}", self.names()));
        }
        let covered = Ignored::new(&[path.to_owned()]);
        let is_into =
            |whole: &&str| Ignored::new(&[(*whole).to_owned()]).covers(path) && !covered.covers(whole);
        let is_beside = self.drift_paths.iter().any(|beside| covered.covers(beside));
        let whole = self.whole_paths.iter().find(|whole| is_into(whole) && !is_beside)?;
        Some(format!("{path} is part of {whole}, which is compared as a whole: specify {whole} instead"))
    }

    /// Whether drift can be found at this path, according to the schema.
    fn has(&self, path: &str) -> bool {
        let Ok(path) = path.parse::<Path>() else { return false };
        let names = path.segments().unwrap_or_default();
        let is_beside = names.first().is_some_and(|first| self.drift_paths.contains(first));
        is_beside || !names.is_empty() && exists(self.schema.get(), &names)
    }

    /// The names of the top-level fields, for the error message.
    fn names(&self) -> String {
        let own =
            self.schema.get().properties.iter().flat_map(|properties| properties.keys().map(String::as_str));
        own.filter(|name| *name != "lifecycle")
            .chain(self.drift_paths.iter().copied())
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// The schema of an option contains the schema of its field under `value`; a path omits `value`.
fn exists(schema: &JSONSchemaProps, names: &[&str]) -> bool {
    let [first, rest @ ..] = names else { return true };
    if let Some(properties) = &schema.properties {
        if let Some(property) = properties.get(*first) {
            return exists(property, rest);
        }
        if properties.contains_key("valueFrom")
            && let Some(value) = properties.get("value")
        {
            return exists(value, names);
        }
    }
    if schema.properties.as_ref().is_some_and(|properties| properties.contains_key("valueFrom")) {
        // A literal beside references: a scalar has no fields.
        return false;
    }
    match (&schema.additional_properties, &schema.items) {
        (Some(JSONSchemaPropsOrBool::Schema(each)), _) => exists(each, rest),
        (Some(JSONSchemaPropsOrBool::Bool(any)), _) => *any,
        // The index of an element may be given or omitted.
        (None, Some(JSONSchemaPropsOrArray::Schema(each))) => {
            let is_index = first.bytes().all(|byte| byte.is_ascii_digit());
            // Scalar items are identified by their value: `subnetIDs["subnet-1"]`.
            let is_item = rest.is_empty() && each.properties.is_none();
            is_item || exists(each, if is_index { rest } else { names })
        }
        _ => schema.x_kubernetes_preserve_unknown_fields == Some(true),
    }
}

#[cfg(test)]
mod tests {
    use kraken_api::DependencyRequest;
    use kube::core::ApiResource;
    use serde_json::json;

    use super::*;
    use crate::{Features, dynamic::Schema};

    fn fields() -> KindInfo {
        let resource = ApiResource::erase::<DependencyRequest>(&());
        let features = Features {
            drift_paths: &["state", "action.order"],
            whole_paths: &["metadata", "action"],
            ..Features::NONE
        };
        KindInfo { features, ..KindInfo::new("Disk", resource, Schema::new(spec)) }
    }

    fn spec() -> JSONSchemaProps {
        let text = json!({"type": "string"});
        let spec = json!({"type": "object", "properties": {
            "imageID": {"type": "object", "properties": {"value": text, "valueFrom": {"type": "object"}}},
            "metadata": {"type": "object", "properties": {
                "value": {"type": "object", "properties": {"httpTokens": text}},
                "valueFrom": {"type": "object"},
            }},
            "tags": {"type": "object", "additionalProperties": text},
            "labels": {"type": "object", "additionalProperties": {
                "x-kubernetes-preserve-unknown-fields": true, "properties": {"valueFrom": {"type": "object"}},
            }},
            "subnetIDs": {"type": "object", "properties": {
                "value": {"type": "array", "items": text}, "valueFrom": {"type": "object"},
            }},
            "rules": {"type": "array", "items": {"type": "object", "properties": {"port": text}}},
            "lifecycle": {"type": "object"},
        }});
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn paths_of_fields_options_members_tags_and_items_exist() {
        for path in [
            "imageID",
            "metadata",
            "metadata.httpTokens",
            "tags",
            "tags.Team",
            "labels.Team",
            "tags[\"a.b\"]",
            "rules.port",
            "rules.0.port",
            "subnetIDs",
            "subnetIDs[\"subnet-1\"]",
            "state",
        ] {
            assert!(fields().has(path), "{path}");
        }
    }

    #[test]
    fn mistyped_path_does_not_exist() {
        for path in [
            "",
            "imageId",
            "imageID.deeper",
            "metadata.httpToken",
            "rules.ports",
            "subnetIDs.a.b",
            "tags.a.b",
            "labels.a.b",
            "a..b",
            "$.tags",
        ] {
            assert!(!fields().has(path), "{path}");
        }
        assert_eq!(
            fields().names(),
            "imageID, labels, metadata, rules, subnetIDs, tags, state, action.order"
        );
    }

    #[test]
    fn path_into_a_field_compared_as_a_whole_is_rejected_with_the_correct_path() {
        assert!(fields().fault("metadata").is_none());
        assert!(fields().fault("tags[\"Team\"]").is_none());
        let fault = fields().fault("metadata.httpTokens").unwrap();
        assert!(fault.ends_with("specify metadata instead"), "{fault}");
        assert!(fields().fault("imageId").unwrap().contains("is not a field"));
    }
}
