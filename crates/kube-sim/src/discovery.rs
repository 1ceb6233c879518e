//! Discovery: the version, groups and kinds of the server.

use serde_json::{Value, json};

use super::{
    fault::Fault,
    kinds::{Kind, Kinds},
};

/// A document by its path.
pub(super) fn document(kinds: &Kinds, path: &[String]) -> Result<Value, Fault> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["version"] => Ok(json!({
            "major": "1", "minor": "35", "gitVersion": "v1.35.4", "gitCommit": "", "gitTreeState": "",
            "buildDate": "", "goVersion": "", "compiler": "gc", "platform": "linux/amd64",
        })),
        ["healthz" | "livez" | "readyz"] => Ok("ok".into()),
        ["api"] => Ok(json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})),
        ["apis"] => {
            let mut groups: Vec<Value> = Vec::new();
            for kind in kinds.iter().filter(|kind| !kind.group.is_empty()) {
                let group = group(kind);
                if !groups.contains(&group) {
                    groups.push(group);
                }
            }
            Ok(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        ["api", version] => resources(kinds, "", version),
        ["apis", name] => {
            let kind = kinds.iter().find(|kind| kind.group == *name).ok_or_else(Fault::no_path)?;
            let mut group = group(kind);
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            Ok(group)
        }
        ["apis", group, version] => resources(kinds, group, version),
        _ => Err(Fault::no_path()),
    }
}

fn group(kind: &Kind) -> Value {
    let version = json!({"groupVersion": kind.api_version(), "version": kind.version});
    json!({"name": kind.group, "versions": [version], "preferredVersion": version})
}

fn resources(kinds: &Kinds, group: &str, version: &str) -> Result<Value, Fault> {
    let of: Vec<_> = kinds.iter().filter(|kind| kind.group == group && kind.version == version).collect();
    let first = of.first().ok_or_else(Fault::no_path)?;
    let verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
    let mut resources = Vec::new();
    for kind in &of {
        let mut resource = json!({
            "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": verbs,
        });
        for (field, names) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
            if !names.is_empty() {
                resource[field] = json!(names);
            }
        }
        resources.push(resource);
        for (is_served, name) in [(kind.status, "status"), (kind.scale.is_some(), "scale")] {
            if !is_served {
                continue;
            }
            let mut resource = json!({
                "name": format!("{}/{name}", kind.plural), "singularName": "",
                "namespaced": kind.namespaced, "kind": kind.kind, "verbs": ["get", "patch", "update"],
            });
            if name == "scale" {
                resource["kind"] = "Scale".into();
                resource["group"] = "autoscaling".into();
                resource["version"] = "v1".into();
            }
            resources.push(resource);
        }
    }
    Ok(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": first.api_version(),
        "resources": resources,
    }))
}
