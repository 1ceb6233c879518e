//! Edits of one field: plausible and invalid ones by kind, policies, and fields of the schema.

use serde_json::{Value, json};

use super::plausible::plausible;
use super::stack::id_path;
use crate::kinds;
use crate::random::Random;

/// An edit: a JSON pointer, and the new value, if it is not removed.
pub(crate) type Edit = (String, Option<Value>);

/// A plausible edit of a kind; not all are possible with every spec.
pub(crate) fn plausible_edit(rng: &mut Random, kind: &str) -> Option<Edit> {
    let (path, values) = rng.pick(plausible(kind))?;
    let value = rng.pick(values)?;
    let value = if *value == "-" { None } else { serde_json::from_str(value).ok() };
    Some(((*path).to_owned(), value))
}

/// A change of one policy.
pub(crate) fn policy(rng: &mut Random, kind: &str) -> Edit {
    let main = id_path(kind).unwrap_or("id");
    let (field, value) = match rng.below(13) {
        0 => ("drift", json!(rng.one(["Revert", "Report"]))),
        1 => ("ignoreChanges", json!(rng.one([["tags.Team"], ["tags"]]))),
        2 => ("deletion", json!(rng.one(["Retain", "Delete"]))),
        3 => ("protect", json!(rng.chance(40))),
        4 | 5 => ("replace", json!(rng.one(["Never", "DeleteFirst", "CreateFirst"]))),
        6 if rng.chance(25) => ("maxUnavailable", json!(rng.one([1, 2, 3]))),
        6 => ("disruption", json!(rng.one(["Forbid", "Allow"]))),
        7 => ("approval", json!(rng.one(["Automatic", "Manual"]))),
        8 => ("paused", json!(rng.chance(40))),
        9 => ("share", json!({"include": [rng.one([main, "nothing.here"])]})),
        10 => ("resyncInterval", json!(rng.one(["5s", "30s", "10m", "0"]))),
        11 => (
            "dependsOn",
            json!([{"kind": rng.one(["VPC", "EC2Instance", "Subnet"]), "name": rng.one(["a", "b"])}]),
        ),
        _ => return ("/spec/lifecycle".to_owned(), None),
    };
    let value = if rng.chance(15) { None } else { Some(value) };
    (format!("/spec/lifecycle/{field}"), value)
}

/// An invalid value of the field, which the API server may or may not detect.
pub(crate) fn invalid(rng: &mut Random, kind: &str) -> Option<Edit> {
    let (path, _) = rng.pick(plausible(kind))?;
    if path.starts_with("/spec/tags") {
        let value = rng.one([r#"{"kraken-iac.eoinfennessy.com/uid": "x"}"#, r#"{"": "x"}"#, r#"{"a": 7}"#]);
        return Some(("/spec/tags".to_owned(), serde_json::from_str(value).ok()));
    }
    let own = format!("{kind}/a");
    let value = match rng.below(14) {
        0 => json!({"value": ""}),
        1 => json!({"value": -1}),
        2 => json!({"value": "banana"}),
        3 => json!({"value": {"deep": [1]}}),
        4 => json!({"value": 1, "valueFrom": {"ref": "VPC/a"}}),
        5 => json!({}),
        6 => json!({"valueFrom": {"configMap": {"name": "settings", "key": "absent"}}}),
        7 => json!({"valueFrom": {"configMap": {"name": "absent", "key": "k1"}}}),
        8 => json!({"valueFrom": {"ref": "VPC/absent"}}),
        9 => json!({"valueFrom": {"ref": "Subnett/a"}}),
        // Refers to itself, or to what refers to it.
        10 => json!({"valueFrom": {"ref": own}}),
        11 => json!({"valueFrom": {"templateString": "{{ .VPC.a.vpc"}}),
        12 => json!({"valueFrom": {"krakenResource": {"kind": "VPC", "name": "a", "path": "vpc.CidrBlock"}}}),
        _ => json!({"valueFrom": {"secret": {"name": "creds", "key": "script"}}}),
    };
    Some(((*path).to_owned(), Some(value)))
}

/// A field of the schema, with a more or less valid value.
pub(crate) fn by_schema(rng: &mut Random, kind: &str) -> Option<Edit> {
    let mut schema = kinds::spec_schema(kind)?;
    let mut path = "/spec".to_owned();
    loop {
        let properties = schema.get("properties").and_then(Value::as_object);
        let Some(properties) = properties.filter(|all| !all.contains_key("valueFrom")) else { break };
        // Maps keep the order of their keys, so that a seed has the same meaning everywhere.
        // A random name, region or role would stop a resource for good.
        let is_edited = |name: &&String| !["account", "region", "assumeRoleARN"].contains(&name.as_str());
        let names: Vec<&String> = properties.keys().filter(is_edited).collect();
        let name = rng.pick(&names)?;
        path = format!("{path}/{name}");
        schema = properties.get(*name)?;
        if rng.chance(10) {
            break;
        }
    }
    if rng.chance(20) {
        return Some((path, None));
    }
    let value = fitting(rng, schema, 0);
    Some((path, Some(value)))
}

/// A value for a schema.
fn fitting(rng: &mut Random, schema: &Value, depth: usize) -> Value {
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return rng.pick(options).cloned().unwrap_or_default();
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    if let Some(option) = properties.filter(|all| all.contains_key("valueFrom")) {
        let value = option.get("value").map_or(json!("x"), |inner| fitting(rng, inner, depth + 1));
        return json!({ "value": value });
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => json!(rng.one([-1, 0, 1, 2, 3, 30, 443, 70000])),
        Some("boolean") => json!(rng.chance(50)),
        Some("array") => {
            let inner = schema.get("items").unwrap_or(&Value::Null);
            let count = rng.one([0, 1, 1, 2]);
            let items =
                (0..count).map(|_| if depth > 4 { Value::Null } else { fitting(rng, inner, depth + 1) });
            Value::Array(items.collect())
        }
        Some("object") if depth < 4 => {
            let Some(properties) = properties else { return json!({"a": "b"}) };
            let required: Vec<&str> = schema
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let mut object = serde_json::Map::new();
            for (name, inner) in properties {
                if required.contains(&name.as_str()) || rng.chance(25) {
                    object.insert(name.clone(), fitting(rng, inner, depth + 1));
                }
            }
            Value::Object(object)
        }
        Some("object") => json!({}),
        _ => json!(rng.one([
            "x",
            "a",
            "10.0.5.0/24",
            "10.3.0.0/16",
            "us-east-1b",
            "vpc-0123456789abcdef0",
            "t3.small",
            "web",
            "80",
            "HTTP",
        ])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::stack::KINDS;

    #[test]
    fn the_schema_gives_an_edit_of_every_kind() {
        let mut rng = Random::new(1);
        for (kind, _, _) in KINDS {
            for _ in 0..50 {
                let (path, _) = by_schema(&mut rng, kind).unwrap();
                assert!(path.starts_with("/spec/"), "{path}");
            }
        }
    }
}
