//! `kubectl kraken drift --accept`: the patch that makes the spec equal to what the cloud has.

use std::process::ExitCode;

use anyhow::{Result, bail};
use kraken_api::{FieldDiff, status::ABSENT};
use kraken_options::Path;
use kube::api::{Patch, PatchParams, ValidationDirective};
use serde_json::{Map, Value, json};

use crate::{
    cluster::Cluster,
    failure::explain,
    graph::walk,
    print::{clean, out},
    resource::Resource,
    target,
};

/// The texts in the place of a value that may come from a Secret.
const SECRET: [&str; 2] = ["***", "(not shown)"];
/// The text of an empty list.
const NONE: &str = "none";

/// What becomes of the spec.
#[derive(Clone, Debug, PartialEq)]
struct Accepted {
    /// A merge patch of the spec; null if nothing can be accepted.
    patch: Value,
    /// The fields that are left alone, with the reason.
    left: Vec<(String, String)>,
}

pub(super) async fn run(cluster: &Cluster, words: &[String], is_applied: bool) -> Result<ExitCode> {
    let target = target::one(words)?;
    let (kind, object) = cluster.get(&target).await?;
    let version = object.metadata.resource_version.clone();
    let Some(resource) = Resource::of(object) else { bail!("the resource cannot be read") };
    let node = &resource.node;
    if resource.status.drift.is_empty() {
        out(&format!("{node} has no drift that is reported.\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let Accepted { patch, left } =
        accepted(&resource.spec, &resource.status.drift, &resource.status.external_ids);
    for (field, why) in &left {
        eprintln!("left alone: spec.{}: {}", clean(field), clean(why));
    }
    let code = if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if patch.is_null() {
        return Ok(ExitCode::FAILURE);
    }
    let patch = json!({"spec": patch});
    if !is_applied {
        out(&format!("{patch:#}\n"))?;
        eprintln!(
            "--apply patches {} in namespace {}; it is a merge patch",
            clean(&node.argument()),
            clean(&node.namespace)
        );
        return Ok(code);
    }
    let mut versioned = patch.clone();
    versioned["metadata"] = json!({"resourceVersion": version});
    let params =
        PatchParams { field_validation: Some(ValidationDirective::Strict), ..PatchParams::default() };
    let patched =
        cluster.api(kind, Some(&node.namespace)).patch(&node.name, &params, &Patch::Merge(versioned)).await;
    match patched {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {
            bail!("{node} was changed since it was read, and is left as it is: run the command again")
        }
        Err(error) => return Err(explain(error, &format!("patch {node}"), &cluster.server)),
    }
    out(&format!("{patch:#}\n{node} patched\n"))?;
    Ok(code)
}

/// The patch for these differences. Pure.
fn accepted(spec: &Value, drift: &[FieldDiff], ids: &[String]) -> Accepted {
    let mut new = spec.clone();
    let mut left = vec![];
    for diff in drift {
        if let Err(why) = accept(&mut new, diff, ids) {
            left.push((diff.path.clone(), why));
        }
    }
    Accepted { patch: merge(spec, &new).unwrap_or_default(), left }
}

/// Makes one field of the spec equal to the observed value, or says why that is left to a person.
fn accept(spec: &mut Value, diff: &FieldDiff, ids: &[String]) -> Result<(), String> {
    let FieldDiff { path, want, have, .. } = diff;
    if SECRET.iter().any(|hidden| want == hidden || have == hidden) {
        return Err(
            "its value may come from a Secret, and is not shown: edit the Secret, or the field".to_owned()
        );
    }
    // Of several objects, each value has the id before it.
    let is_of_several = ids.len() > 1 && ids.iter().any(|id| have.contains(&format!("{id}: ")));
    let is_cut = have.ends_with('…') || (have.contains(" and ") && have.ends_with(" more"));
    if is_of_several || is_cut {
        return Err(format!("it differs between objects, or is not shown as a whole ({have}): edit it"));
    }
    let names: Vec<String> = match path.parse::<Path>() {
        Ok(path) => path.segments().unwrap_or_default().into_iter().map(str::to_owned).collect(),
        Err(_) => vec![],
    };
    let [first, rest @ ..] = names.as_slice() else {
        return Err(format!("no field of the spec: it is {have}"));
    };
    let have = (have != ABSENT).then_some(have.as_str());
    if first == "tags"
        && let [key] = rest
    {
        return tag(spec, key, have);
    }
    if let Some(referred) = referred(spec, first) {
        return Err(format!(
            "{referred}: edit what it refers to, or the field; the cloud has {}",
            have.unwrap_or(ABSENT)
        ));
    }
    let is_item = !rest.is_empty() && list(spec, first).is_some();
    if let (true, [item]) = (is_item, rest) {
        return with_item(spec, first, item, have.is_some());
    }
    let (place, present) = at(spec, &names)
        .ok_or_else(|| format!("the spec has no literal there; the cloud has {}", have.unwrap_or(ABSENT)))?;
    let new = match (&present, have) {
        (_, None) => {
            return Err("the cloud has no value, which a literal cannot say: remove the field".to_owned());
        }
        (Value::String(_), Some(text)) => Value::from(text),
        (Value::Bool(_) | Value::Number(_), Some(text)) => match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_boolean() == present.is_boolean() && !value.is_string() => value,
            _ => return Err(format!("{text} is not of the type of the field: edit it")),
        },
        (Value::Array(items), Some(text)) if items.iter().all(Value::is_string) => {
            let all = text.split(", ").filter(|_| text != NONE);
            all.map(Value::from).collect()
        }
        (_, Some(text)) => return Err(format!("it is set as a whole; the cloud has {text}: edit it")),
    };
    *place = new;
    Ok(())
}

/// A tag is a map entry: what the cloud lacks is removed.
fn tag(spec: &mut Value, key: &str, have: Option<&str>) -> Result<(), String> {
    if let Some(referred) = spec["tags"].get(key).and_then(source) {
        return Err(format!(
            "{referred}: edit what it refers to, or the tag; the cloud has {}",
            have.unwrap_or(ABSENT)
        ));
    }
    let Some(fields) = spec.as_object_mut() else { return Err("the spec is no object".to_owned()) };
    let tags = fields.entry("tags").or_insert_with(|| json!({}));
    let Some(tags) = tags.as_object_mut() else { return Err("the tags are no map".to_owned()) };
    match have {
        Some(value) => drop(tags.insert(key.to_owned(), value.into())),
        None => drop(tags.remove(key)),
    }
    Ok(())
}

/// The items of a list of literals and references.
fn list<'a>(spec: &'a mut Value, field: &str) -> Option<&'a mut Vec<Value>> {
    spec.get_mut(field)?.get_mut("value")?.as_array_mut()
}

fn with_item(spec: &mut Value, field: &str, item: &str, is_there: bool) -> Result<(), String> {
    let Some(items) = list(spec, field) else { return Err("it is no list".to_owned()) };
    if is_there {
        items.push(item.into());
        return Ok(());
    }
    let before = items.len();
    items.retain(|one| one != item);
    if items.len() == before {
        return Err(format!(
            "{item} is the value of one of its references, and the cloud lacks it: remove that reference"
        ));
    }
    Ok(())
}

/// The literal of a field, with a copy: below an option, the path omits `value`.
fn at<'a>(spec: &'a mut Value, names: &[String]) -> Option<(&'a mut Value, Value)> {
    let mut place = spec;
    for name in names {
        if place.get("value").is_some() && place.get(name).is_none() {
            place = place.get_mut("value")?;
        }
        place = match place {
            Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?)?,
            other => other.get_mut(name)?,
        };
    }
    if place.is_object() {
        place = place.get_mut("value")?;
    }
    let present = place.clone();
    Some((place, present))
}

/// What a field refers to, if it does anywhere.
fn referred(spec: &Value, field: &str) -> Option<String> {
    let of = spec.get(field)?;
    if of.get("value").is_some_and(Value::is_array) {
        // The items of a list are looked at one by one.
        return None;
    }
    source(of)
}

fn source(value: &Value) -> Option<String> {
    let references = walk::references(&json!({"x": value}));
    references.first().map(|reference| format!("it refers to {}", reference.dependency))
}

/// The merge patch from one value to another; `None` if they are equal.
fn merge(from: &Value, to: &Value) -> Option<Value> {
    if from == to {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (from, to) else { return Some(to.clone()) };
    let mut patch = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in new {
        let before = old.get(name).cloned().unwrap_or_default();
        patch.extend(merge(&before, value).map(|value| (name.clone(), value)));
    }
    Some(patch.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spec: Value, drift: &[(&str, &str, &str)]) -> (Value, Vec<String>) {
        let drift: Vec<_> =
            drift.iter().map(|(path, want, have)| FieldDiff::new(*path, *want, *have)).collect();
        let Accepted { patch, left } = accepted(&spec, &drift, &["i-1".to_owned(), "i-2".to_owned()]);
        (patch, left.into_iter().map(|(field, why)| format!("{field}: {why}")).collect())
    }

    #[test]
    fn literals_get_the_observed_value_in_their_type() {
        let spec = json!({"size": {"value": "t3.small"}, "count": {"value": 2}, "dns": {"value": true},
            "metadata": {"value": {"httpTokens": "required", "hops": 1}}, "ids": {"value": ["a", "b"]}, "sets": {"value": ["a"]}});
        let (patch, left) = of(
            spec,
            &[
                ("size", "t3.small", "t3.large"),
                ("count", "2", "3"),
                ("dns", "true", "false"),
                ("metadata.httpTokens", "required", "optional"),
                ("ids[\"c\"]", ABSENT, "c"),
                ("ids[\"a\"]", "a", ABSENT),
                ("sets", "a", "x, y"),
            ],
        );
        assert_eq!(left, [""; 0]);
        assert_eq!(
            patch,
            json!({"size": {"value": "t3.large"}, "count": {"value": 3}, "dns": {"value": false},
                "metadata": {"value": {"httpTokens": "optional"}}, "ids": {"value": ["b", "c"]}, "sets": {"value": ["x", "y"]}})
        );
    }

    #[test]
    fn tags_are_changed_added_and_removed() {
        let spec = json!({"tags": {"Team": "net", "Old": "x"}});
        let drift =
            [("tags.Team", "net", "other"), ("tags.Old", "x", ABSENT), ("tags[\"a.b\"]", ABSENT, "new")];
        let (patch, left) = of(spec, &drift);
        assert_eq!(left, [""; 0]);
        assert_eq!(patch, json!({"tags": {"Team": "other", "Old": null, "a.b": "new"}}));
        assert_eq!(of(json!({}), &[("tags.New", ABSENT, "x")]).0, json!({"tags": {"New": "x"}}));
    }

    #[test]
    fn references_secrets_and_what_is_no_literal_are_left_alone() {
        let spec = json!({
            "cidr": {"valueFrom": {"configMap": {"name": "c", "key": "k"}}},
            "tags": {"Team": {"valueFrom": {"ref": "VPC/main"}}},
            "ids": {"value": [{"valueFrom": {"ref": "Subnet/a"}}]},
            "ingress": [{"protocol": {"value": "tcp"}}],
            "userData": {"value": "x"},
            "size": {"value": "s"},
        });
        let (patch, left) = of(
            spec,
            &[
                ("cidr", "10.0.0.0/16", "10.1.0.0/16"),
                ("tags.Team", "vpc-1", "x"),
                ("ids[\"subnet-1\"]", "subnet-1", ABSENT),
                ("ingress", ABSENT, "tcp 22 from 0.0.0.0/0"),
                ("userData", "***", "***"),
                ("size", "s", "i-1: m, i-2: l"),
                ("unset", "a", "b"),
                ("", "1 VPC", "vpc-2 in addition"),
            ],
        );
        assert_eq!(patch, Value::Null);
        let expected = [
            "cidr: it refers to ConfigMap c key \"k\"",
            "tags.Team: it refers to the id of vpc main",
            "ids[\"subnet-1\"]: subnet-1 is the value of one of its references",
            "ingress: ",
            "userData: its value may come from a Secret",
            "size: it differs between objects",
            "unset: the spec has no literal there; the cloud has b",
            ": no field of the spec",
        ];
        assert_eq!(left.len(), expected.len(), "{left:#?}");
        for (found, start) in left.iter().zip(expected) {
            assert!(found.starts_with(start), "{found} does not start with {start}");
        }
    }
}
