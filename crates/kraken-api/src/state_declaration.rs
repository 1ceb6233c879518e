//! StateDeclaration: the published state of a resource, which others refer to.

use std::fmt::Write as _;

use kraken_options::Path;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

/// The reserved kind of static states, which users write: `static-<name>`, referenced as `kind: static`.
pub const STATIC_KIND: &str = "static";

/// The published state of one resource. Written by its controller and named `<kind>.<group>.<name>`. Users can publish
/// values as `static-<name>`.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "StateDeclaration",
    namespaced,
    shortname = "state",
    category = "kraken-internal",
    printcolumn(name = "ID", type_ = "string", json_path = ".spec.id"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "The published state of one resource, which other resources refer to."
)]
// Without `atomic`, server-side apply stores an object that becomes empty as null.
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct StateDeclarationSpec {
    /// The state, any JSON, with the provider's field names. It never contains a value from a Secret. Example:
    /// `{"instances": [{"InstanceId": "i-0abc"}]}`.
    #[serde(default)]
    #[schemars(schema_with = "crate::crd::any_json")]
    pub data: Value,

    /// The provider's main id of the resource, to which a reference without a path resolves. Never a value from a
    /// Secret. Default: none; a reference without a path waits. Example: `vpc-0abc1234def567890`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub id: Option<String>,

    /// The parts of the state that are not published because they come from a Secret. Dependents get this as the reason.
    /// Default: none. Example: `[{path: instances.ImageId, field: imageID}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub withheld: Vec<Withheld>,
}

/// A part of a state that is not published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    /// The dotted path without indexes of lists; `*` for the whole state, empty for the main id. Example:
    /// `instances.ImageId`.
    #[schemars(length(max = 1024))]
    pub path: String,
    /// The field of the spec that comes from a Secret. Example: `imageID`.
    #[schemars(length(min = 1, max = 1024))]
    pub field: String,
}

/// Between the fields of one [`Withheld`].
const AND: &str = ", spec.";

impl Withheld {
    /// A part that is withheld because of these fields of the spec.
    pub fn because_of<'a>(path: &str, fields: impl IntoIterator<Item = &'a str>) -> Self {
        let field = fields.into_iter().collect::<Vec<_>>().join(AND);
        Self { path: path.to_owned(), field }
    }

    /// The fields of the spec that come from a Secret.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.field.split(AND)
    }

    /// Whether it is the reason why a reference has no value: `path` is the path of the reference, empty for the main
    /// id.
    ///
    /// A JSONPath that contains the last segment of a withheld path anywhere, even in a filter, may have found nothing
    /// because of it.
    pub fn explains(&self, path: &str) -> bool {
        if self.path.is_empty() || path.is_empty() {
            return self.path == path;
        }
        let own: Vec<&str> = self.path.split('.').collect();
        let Ok(parsed) = path.parse::<Path>() else { return false };
        let Some(names) = parsed.segments() else {
            let mut words = path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
            return self.path == "*" || words.any(|word| own.last() == Some(&word));
        };
        // Indexes of lists are omitted, as in `path`.
        let is_index = |name: &&str| name.bytes().all(|byte| byte.is_ascii_digit());
        let names: Vec<&str> = names.into_iter().filter(|name| !is_index(name)).collect();
        self.path == "*" || own.len() <= names.len() && names.iter().zip(&own).all(|(a, b)| a == b)
    }
}

impl StateDeclarationSpec {
    /// A digest of the whole content: the annotation [`CONTENT_HASH_ANNOTATION`](crate::CONTENT_HASH_ANNOTATION) of a published
    /// state. A body that does not match it was changed by another client.
    ///
    /// It is not affected by changes that the API server makes: the order of keys, null members, and the format of a
    /// number (`1` or `1.0`).
    pub fn content_hash(&self) -> String {
        let mut content = String::new();
        write_canonical(&self.data, &mut content);
        content.push('\0');
        write_text(self.id.as_deref().unwrap_or_default(), &mut content);
        for Withheld { path, field } in &self.withheld {
            write_text(path, &mut content);
            write_text(field, &mut content);
        }
        hex::encode(&Sha256::digest(content)[..16])
    }
}

fn write_canonical(value: &Value, to: &mut String) {
    match value {
        Value::Null => to.push_str("null"),
        Value::Bool(value) => to.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => to.push_str(&canonical_number(number)),
        Value::String(text) => write_text(text, to),
        Value::Array(items) => {
            to.push('[');
            for item in items {
                write_canonical(item, to);
                to.push(',');
            }
            to.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().filter(|(_, member)| !member.is_null()).collect();
            members.sort_by_key(|(key, _)| *key);
            to.push('{');
            for (key, member) in members {
                write_text(key, to);
                write_canonical(member, to);
                to.push(',');
            }
            to.push('}');
        }
    }
}

/// Prefixed with its length, so that different sequences of texts have different digests.
fn write_text(text: &str, to: &mut String) {
    let _ = write!(to, "{}:", text.len()); // writing to a String cannot fail
    to.push_str(text);
}

fn canonical_number(number: &Number) -> String {
    /// Up to this bound, a float represents every integer exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => integer.to_string(),
        (None, Some(float)) if float.fract() == 0.0 && float.abs() < EXACT => format!("{float:.0}"),
        (None, Some(float)) => format!("{float:e}"),
        (None, None) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hash(data: Value, id: Option<&str>) -> String {
        StateDeclarationSpec { data, id: id.map(str::to_owned), withheld: Vec::new() }.content_hash()
    }

    #[test]
    fn content_hash_survives_the_api_server() {
        let written: Value =
            serde_json::from_str(r#"{"b": 1.0, "a": {"x": [1, null], "n": null}, "c": 1.5}"#).unwrap();
        let stored: Value = serde_json::from_str(r#"{"a": {"x": [1, null]}, "b": 1, "c": 1.5}"#).unwrap();
        assert_eq!(hash(written, Some("i")), hash(stored, Some("i")));
        let large: Value = serde_json::from_str("18446744073709551615").unwrap();
        let as_go_writes_it: Value = serde_json::from_str("18446744073709552000").unwrap();
        assert_eq!(hash(large, None), hash(as_go_writes_it, None));
    }

    #[test]
    fn content_hash_differs_for_different_contents() {
        let contents = [
            (json!(null), None),
            (json!({}), None),
            (json!([]), None),
            (json!({"a": 1}), None),
            (json!({"a": "1"}), None),
            (json!({"a": 1}), Some("i")),
            (json!({"a": 2}), Some("i")),
            (json!({"a": {"b": 1}}), None),
            (json!(["a", "b"]), None),
            (json!(["a,b"]), None),
            (json!("a"), None),
        ];
        let hashes: std::collections::BTreeSet<_> =
            contents.iter().map(|(data, id)| hash(data.clone(), *id)).collect();
        assert_eq!(hashes.len(), contents.len());
        let withheld = vec![Withheld { path: "a".into(), field: "b".into() }];
        let spec = StateDeclarationSpec { data: json!(null), id: None, withheld };
        assert!(!hashes.contains(&spec.content_hash()));
    }

    #[test]
    fn a_reference_at_or_below_a_withheld_path_is_explained() {
        let of = |path: &str| Withheld { path: path.into(), field: "imageID".into() };
        let image = of("instances.ImageId");
        for path in [
            "instances.0.ImageId",
            "instances.ImageId",
            "instances[1].ImageId.x",
            "instances[\"0\"].ImageId",
            "$.instances[0].ImageId",
            "$..ImageId",
            "$.instances[?@.ImageId == 'a'].InstanceId",
            "$..['ImageId']",
        ] {
            assert!(image.explains(path), "{path}");
        }
        for path in [
            "",
            "instances",
            "instances.0.ImageIds",
            "instances.0.SubnetId",
            "a..b",
            "$.instances[0].ImageIds",
            "$.instances[*]",
        ] {
            assert!(!image.explains(path), "{path}");
        }
        assert!(of("").explains("") && !of("").explains("a"));
        assert!(of("*").explains("a.b") && of("*").explains("$.a[*]") && !of("*").explains(""));
    }
}
