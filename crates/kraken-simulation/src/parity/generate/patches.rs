//! Patches: JSON, merge, and server-side apply.

use serde_json::{Map, Value, json};

use super::{Generator, Key};
use crate::parity::steps::{Body, StepAction};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

impl Generator<'_> {
    pub(super) fn json_patch(&mut self, status: bool) -> StepAction {
        let key = self.any_object(|kind| !status || kind.status);
        let mut operations = Vec::new();
        let step = self.version(&key);
        if step != usize::MAX && self.random.chance(60) {
            for field in ["uid", "resourceVersion"] {
                let value = format!("<<{step}/metadata/{field}>>");
                operations.push(json!({"op": "test", "path": format!("/metadata/{field}"), "value": value}));
            }
        }
        // Most have one: if one operation fails, all do.
        let sends_metadata = self.sends_metadata(&key, status);
        let more = if self.random.chance(35) { 1 + self.random.below(2) } else { 0 };
        for _ in 0..=more {
            operations.push(self.operation(&key, status, sends_metadata));
        }
        self.write("PATCH", key, status, Some(JSON_PATCH), Body::Json(operations.into()))
    }

    fn operation(&mut self, key: &Key, status: bool, sends_metadata: bool) -> Value {
        let wanted = if status { "status" } else { "spec" };
        let contents = self.contents(key.0);
        let mut known = self.objects.get(key).map(pointers).unwrap_or_default();
        let what =
            if sends_metadata { self.random.below(16) } else { [0, 1, 2, 10, 12, 14][self.random.below(6)] };
        if !sends_metadata {
            known.retain(|pointer| !pointer.starts_with("/metadata"));
        }
        match what {
            0..=4 => {
                let names: Vec<&String> = contents.keys().collect();
                match names.iter().find(|name| **name == wanted).or(names.first()) {
                    Some(name) => json!({"op": "add", "path": format!("/{name}"), "value": contents[*name]}),
                    None => json!({"op": "remove", "path": "/data"}),
                }
            }
            5 => json!({"op": "add", "path": "/metadata/labels", "value": self.labels()}),
            6 => json!({"op": "replace", "path": "/metadata/finalizers", "value": self.finalizers()}),
            7 => json!({"op": "remove", "path": "/metadata/finalizers"}),
            8 => json!({"op": "add", "path": "/metadata/annotations/note", "value": "patched"}),
            9 => json!({"op": "add", "path": "/metadata/finalizers/-", "value": super::edits::FINALIZER}),
            10 if self.random.chance(30) => {
                json!({"op": "test", "path": format!("/{wanted}"), "value": {"a": 1}})
            }
            10 => {
                let value = self.objects.get(key).map(|object| object[wanted].clone()).unwrap_or_default();
                // A test for a list with a null makes kube-apiserver close the connection.
                let value = if value.to_string().contains("null") { json!({}) } else { value };
                json!({"op": "test", "path": format!("/{wanted}"), "value": value})
            }
            11 => json!({"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/app"}),
            12 if self.random.chance(50) => {
                json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "1"})
            }
            13 if self.random.chance(20) => json!({"op": "jump", "path": "/metadata"}),
            _ if known.is_empty() => json!({"op": "remove", "path": "/nothing"}),
            _ => {
                let path = known[self.random.below(known.len())].clone();
                match self.random.below(if sends_metadata { 3 } else { 2 }) {
                    0 => json!({"op": "remove", "path": path}),
                    1 => json!({"op": "replace", "path": path, "value": "replaced"}),
                    _ => json!({"op": "move", "from": path, "path": "/metadata/annotations/moved"}),
                }
            }
        }
    }

    pub(super) fn merge_patch(&mut self, status: bool) -> StepAction {
        let key = self.any_object(|kind| !status || kind.status);
        let mut body = self.partial(&key, status);
        let sends_metadata = self.sends_metadata(&key, status);
        let mut metadata = if sends_metadata { self.metadata() } else { Map::new() };
        let step = self.version(&key);
        if step != usize::MAX && self.random.chance(40) {
            metadata.insert("resourceVersion".into(), format!("<<{step}/metadata/resourceVersion>>").into());
        }
        if step != usize::MAX && self.random.chance(15) {
            metadata.insert("uid".into(), format!("<<{step}/metadata/uid>>").into());
        }
        match self.random.below(if sends_metadata { 30 } else { 3 }) {
            0 => drop(body.insert("data".into(), json!({"small": null}))),
            1 => drop(body.insert("spec".into(), Value::Null)),
            2 => drop(metadata.insert("name".into(), "other".into())),
            3 => drop(metadata.insert("labels".into(), json!({"app": null, "tier": "x"}))),
            4 => drop(metadata.insert("managedFields".into(), json!([]))),
            5 => drop(metadata.insert("managedFields".into(), json!([{}]))),
            6 => drop(metadata.insert("generateName".into(), "x-".into())),
            7 => drop(body.insert(
                "series".into(),
                json!({"count": 3, "lastObservedTime": "2001-01-01T00:00:09.000000Z"}),
            )),
            _ => {}
        }
        if !metadata.is_empty() {
            body.insert("metadata".into(), metadata.into());
        }
        let mut what = self.write("PATCH", key, status, Some(MERGE_PATCH), Body::Json(body.into()));
        if let StepAction::Call(request) = &mut what
            && self.random.chance(8)
        {
            // As the hub restarts workloads.
            request.metadata_only = true;
        }
        what
    }

    pub(super) fn apply(&mut self, status: bool) -> StepAction {
        let key = if self.random.chance(25) && !status {
            (self.any_kind(), self.any_namespace(), self.any_name())
        } else {
            self.any_object(|kind| !status || kind.status)
        };
        let mut body = self.partial(&key, status);
        if !status {
            // See the list of differences in docs/performance/simulation.md.
            body.remove("status");
        }
        let mut metadata = if self.sends_metadata(&key, status) { self.metadata() } else { Map::new() };
        if self.random.chance(60) {
            metadata.insert("name".into(), key.2.clone().into());
        }
        match self.random.below(50) {
            0 => drop(metadata.insert("name".into(), "other".into())),
            1 => drop(metadata.insert("managedFields".into(), json!([]))),
            2 => {
                let step = self.version(&key);
                metadata
                    .insert("resourceVersion".into(), format!("<<{step}/metadata/resourceVersion>>").into());
            }
            3 => drop(metadata.insert("uid".into(), "0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0".into())),
            4 => drop(metadata.insert("namespace".into(), "elsewhere".into())),
            5..=10 => drop(metadata.insert("namespace".into(), key.1.clone().into())),
            _ => {}
        }
        body.insert("metadata".into(), metadata.into());
        body.insert("apiVersion".into(), self.kinds[key.0].api_version.clone().into());
        body.insert("kind".into(), self.kinds[key.0].name.clone().into());
        match self.random.below(60) {
            0 => drop(body.remove("apiVersion")),
            1 => drop(body.remove("kind")),
            2 => drop(body.insert("kind".into(), "Other".into())),
            _ => {}
        }
        let mut what = self.write("PATCH", key, status, Some(APPLY), Body::Json(body.into()));
        let manager = self.manager();
        if let StepAction::Call(request) = &mut what {
            request.query.retain(|(key, _)| key != "fieldManager");
            if !self.random.chance(3) {
                request.query.push(("fieldManager".into(), manager));
            }
            match self.random.below(20) {
                0..=10 => request.query.push(("force".into(), "true".into())),
                11 => request.query.push(("force".into(), "false".into())),
                _ => {}
            }
        }
        what
    }

    /// Some of what an object holds.
    fn partial(&mut self, key: &Key, status: bool) -> Map<String, Value> {
        let mut contents = self.contents(key.0);
        if status {
            contents.retain(|name, _| name == "status");
        } else if self.random.chance(85) {
            contents.remove("status");
        }
        if self.random.chance(40)
            && let Some(fields) = contents.get_mut("spec").and_then(Value::as_object_mut)
        {
            let names: Vec<String> = fields.keys().cloned().collect();
            for name in names {
                if self.random.chance(50) {
                    fields.remove(&name);
                }
            }
        }
        if self.random.chance(25) {
            contents.clear();
        }
        contents
    }
}

/// Elsewhere, the comparison would not know them for what they are.
const NOT_MOVED: [&str; 4] = ["managedFields", "kind", "apiVersion", "resourceVersion"];

/// The pointers to everything in a value, itself aside.
fn pointers(value: &Value) -> Vec<String> {
    fn collect(path: &str, value: &Value, found: &mut Vec<String>) {
        let mut visit = |part: String, value: &Value| {
            let path = format!("{path}/{part}");
            found.push(path.clone());
            collect(&path, value, found);
        };
        match value {
            Value::Object(fields) => {
                for (key, value) in fields.iter().filter(|(key, _)| !NOT_MOVED.contains(&key.as_str())) {
                    visit(key.replace('~', "~0").replace('/', "~1"), value);
                }
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, value)| visit(index.to_string(), value));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect("", value, &mut found);
    found
}
