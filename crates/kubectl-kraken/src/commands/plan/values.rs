//! What a spec becomes when values that it refers to change: the references are replaced by literals, so that admission says what
//! the new values will do. Pure.

use kraken_options::{Dependency, KindRef, ResourceRef, Template, ValueFrom};
use serde_json::{Map, Value, json};

use crate::graph::Node;

/// The fields with maps whose values are literals or references: tags, and the literal of an option.
const MAPS: [&str; 2] = ["tags", "value"];

/// The spec with the literals in the place of references for which `literal` returns a value; `None` if there is none of them.
pub(crate) fn with_literals(spec: &Value, literal: &dyn Fn(&ValueFrom) -> Option<Value>) -> Option<Value> {
    let mut is_any = false;
    let replaced = replaced(spec, literal, &mut is_any, false);
    is_any.then_some(replaced)
}

fn replaced(
    value: &Value,
    literal: &dyn Fn(&ValueFrom) -> Option<Value>,
    is_any: &mut bool,
    is_plain: bool,
) -> Value {
    match value {
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| replaced(item, literal, is_any, true)).collect())
        }
        Value::Object(fields) => {
            let from = fields.get("valueFrom").filter(|_| fields.len() == 1);
            let from = from.and_then(|from| serde_json::from_value::<ValueFrom>(from.clone()).ok());
            if let Some(ValueFrom::TemplateString(template)) = &from {
                // The other references of the template stay.
                return match Template::filled(template, |reference| text_of(reference, literal)) {
                    Ok(Some(filled)) => {
                        *is_any = true;
                        json!({"valueFrom": {"templateString": filled}})
                    }
                    _ => value.clone(),
                };
            }
            if let Some(new) = from.as_ref().and_then(literal) {
                *is_any = true;
                // The item of a list or a map is a literal itself.
                return if is_plain {
                    new
                } else {
                    Value::Object(Map::from_iter([("value".to_owned(), new)]))
                };
            }
            let each = fields.iter().map(|(name, value)| {
                let value = match value {
                    Value::Object(map) if MAPS.contains(&name.as_str()) && !map.contains_key("valueFrom") => {
                        let each = map.iter();
                        let each = each.map(|(key, one)| (key.clone(), replaced(one, literal, is_any, true)));
                        Value::Object(each.collect())
                    }
                    other => replaced(other, literal, is_any, false),
                };
                (name.clone(), value)
            });
            Value::Object(each.collect())
        }
        other => other.clone(),
    }
}

/// The new value of a reference in a template, as text.
fn text_of(reference: &Dependency, literal: &dyn Fn(&ValueFrom) -> Option<Value>) -> Option<String> {
    let from = match reference {
        Dependency::ConfigMap(key) => ValueFrom::ConfigMap(key.clone()),
        Dependency::Resource(of) => ValueFrom::KrakenResource(of.clone()),
        Dependency::Secret(_) => return None,
    };
    literal(&from).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// The resource that a source refers to.
pub(crate) fn resource_of(from: &ValueFrom) -> Option<ResourceRef> {
    match from {
        ValueFrom::KrakenResource(of) => Some(of.clone()),
        ValueFrom::Ref(short) => short.resource(),
        ValueFrom::ConfigMap(_) | ValueFrom::Secret(_) | ValueFrom::TemplateString(_) => None,
    }
}

/// Whether a reference of `user` means this resource.
pub(crate) fn means(user: &Node, of: &ResourceRef, node: &Node) -> bool {
    node.namespace == *of.namespace.as_ref().unwrap_or(&user.namespace)
        && node.name == of.name
        && KindRef::of(&of.kind).matches(&node.kind, &node.group)
}

/// A value that nobody has yet in the form of an id: `vpc-00000000` for `vpc-12ab34cd`. It satisfies the same pattern, and differs for each
/// number: the subnets of a load balancer must be different ones.
pub(crate) fn unknown_like(id: &str, number: usize) -> String {
    // The last part is the one that the provider generated.
    let start = id.rfind(['-', '/', ':']).map_or(0, |at| at + 1);
    let (kind, generated) = id.split_at(start);
    format!("{kind}{number:0>width$x}", width = generated.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_literals_in_options_and_lists() {
        let spec = json!({
            "vpcID": {"valueFrom": {"ref": "VPC/main"}},
            "ids": {"value": ["a", {"valueFrom": {"krakenResource": {"kind": "vpc", "name": "main"}}}]},
            "other": {"valueFrom": {"configMap": {"name": "m", "key": "k"}}},
            "tags": {"Vpc": {"valueFrom": {"ref": "VPC/main"}}, "Team": "shop"},
            "metadata": {"value": {"vpc": {"valueFrom": {"ref": "VPC/main"}}}},
            "userData": {"valueFrom": {"templateString": "{{ .VPC.main }} {{ .VPC.other }}"}},
            "note": {"valueFrom": {"templateString": "{{ .VPC.other }}"}},
        });
        let literal = |from: &ValueFrom| {
            resource_of(from).filter(|of| of.name == "main" && of.is_id()).map(|_| json!("vpc-0"))
        };
        let expected = json!({
            "vpcID": {"value": "vpc-0"},
            "ids": {"value": ["a", "vpc-0"]},
            "other": {"valueFrom": {"configMap": {"name": "m", "key": "k"}}},
            "tags": {"Vpc": "vpc-0", "Team": "shop"},
            "metadata": {"value": {"vpc": "vpc-0"}},
            "userData": {"valueFrom": {"templateString": "vpc-0 {{ .VPC.other }}"}},
            "note": {"valueFrom": {"templateString": "{{ .VPC.other }}"}},
        });
        assert_eq!(with_literals(&spec, &literal), Some(expected));
        assert_eq!(with_literals(&spec, &|_| None), None);
    }

    #[test]
    fn an_unknown_id_has_the_form_of_a_known_one() {
        assert_eq!(unknown_like("vpc-12ab34cd", 0), "vpc-00000000");
        assert_eq!(unknown_like("arn:aws:x:targetgroup/web/12ab", 17), "arn:aws:x:targetgroup/web/0011");
    }
}
