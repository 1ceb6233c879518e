//! Requests that write.

use serde_json::{Map, Value, json};

use super::{Generator, Key};
use crate::parity::steps::{Body, Request, What};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

impl Generator<'_> {
    pub(super) fn create(&mut self) -> What {
        let kind = self.any_kind();
        let (namespace, name) = (self.any_namespace(), self.any_name());
        let mut body = self.contents(kind);
        let mut metadata = self.metadata();
        let mut key = (kind, namespace.clone(), name.clone());
        match self.random.below(20) {
            0 | 1 => {
                // The order of names must not depend on what is generated.
                let prefix = format!("{name}-{}-", self.next);
                metadata.insert("generateName".into(), prefix.into());
                key.2 = format!("<<{}/metadata/name>>", self.next - 1);
            }
            2 => drop(metadata.insert("generateName".into(), "unused-".into())),
            _ => {}
        }
        if !key.2.starts_with("<<") {
            let name = match self.random.below(60) {
                0 => Value::from("Bad_Name"),
                1 => Value::from("x".repeat(254)),
                2 => Value::from(""),
                3 => json!(5),
                _ => Value::from(name),
            };
            metadata.insert("name".into(), name);
        }
        match self.random.below(40) {
            0 => drop(metadata.insert("resourceVersion".into(), "5".into())),
            1 => drop(metadata.insert("uid".into(), "mine".into())),
            2 => drop(metadata.insert("namespace".into(), "elsewhere".into())),
            3 => drop(metadata.insert("generation".into(), json!(9))),
            4 => drop(metadata.insert("deletionTimestamp".into(), "2001-01-01T00:00:00Z".into())),
            5 => drop(metadata.insert("creationTimestamp".into(), "2001-01-01T00:00:00Z".into())),
            6..=14 => drop(metadata.insert("namespace".into(), namespace.clone().into())),
            15 => drop(metadata.insert("unknown".into(), 1.into())),
            _ => {}
        }
        body.insert("apiVersion".into(), self.kinds[kind].api_version.clone().into());
        body.insert("kind".into(), self.kinds[kind].name.clone().into());
        body.insert("metadata".into(), metadata.into());
        self.pending = Some(key);
        let request = Request {
            method: "POST".into(),
            path: self.kinds[kind].path(&namespace),
            query: self.write_query(),
            body: Body::Json(body.into()),
            ..Request::default()
        };
        What::Call(request)
    }

    pub(super) fn put(&mut self, status: bool) -> What {
        let key = self.any_object(|kind| !status || kind.status);
        let step = self.version(&key);
        let edits = self.edits(&key, status);
        let body = if step == usize::MAX {
            let mut body = self.contents(key.0);
            body.insert("apiVersion".into(), self.kinds[key.0].api_version.clone().into());
            body.insert("kind".into(), self.kinds[key.0].name.clone().into());
            body.insert("metadata".into(), json!({"name": key.2}));
            Body::Json(body.into())
        } else {
            Body::Edited { step, edits }
        };
        self.write("PUT", key, status, None, body)
    }

    pub(super) fn json_patch(&mut self, status: bool) -> What {
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

    pub(super) fn merge_patch(&mut self, status: bool) -> What {
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
        if let What::Call(request) = &mut what
            && self.random.chance(8)
        {
            // As the hub restarts workloads.
            request.metadata_only = true;
        }
        what
    }

    pub(super) fn apply(&mut self, status: bool) -> What {
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
        if let What::Call(request) = &mut what {
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

    pub(super) fn scale(&mut self) -> What {
        let key = self.any_object(|kind| kind.scale);
        let replicas = self.random.below(5);
        let step = self.version(&key);
        let mut what = match self.random.below(3) {
            0 => {
                let body = json!({"spec": {"replicas": replicas}});
                self.write("PATCH", key, false, Some(MERGE_PATCH), Body::Json(body))
            }
            1 => {
                let body = json!({
                    "apiVersion": "autoscaling/v1", "kind": "Scale",
                    "metadata": {"name": key.2, "namespace": key.1, "resourceVersion": format!("<<{step}/metadata/resourceVersion>>")},
                    "spec": {"replicas": replicas},
                });
                self.write("PUT", key, false, None, Body::Json(body))
            }
            _ => {
                let body = json!([{"op": "replace", "path": "/spec/replicas", "value": replicas}]);
                self.write("PATCH", key, false, Some(JSON_PATCH), Body::Json(body))
            }
        };
        self.pending = None;
        if let What::Call(request) = &mut what {
            request.path.push_str("/scale");
        }
        what
    }

    pub(super) fn delete(&mut self) -> What {
        let key = self.any_object(|_| true);
        let step = self.version(&key);
        let mut options = Map::new();
        if self.random.chance(40) {
            options.insert("propagationPolicy".into(), "Background".into());
        }
        if step != usize::MAX && self.random.chance(40) {
            let mut preconditions = Map::new();
            for field in ["uid", "resourceVersion"] {
                if self.random.chance(60) {
                    preconditions.insert(field.into(), format!("<<{step}/metadata/{field}>>").into());
                }
            }
            options.insert("preconditions".into(), preconditions.into());
        }
        match self.random.below(30) {
            0 => drop(options.insert("dryRun".into(), json!(["All"]))),
            1 => drop(options.insert("propagationPolicy".into(), "Sideways".into())),
            2 => drop(options.insert("gracePeriodSeconds".into(), json!(0))),
            3 => drop(
                options
                    .insert("preconditions".into(), json!({"uid": "0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0"})),
            ),
            4 => drop(options.insert("orphanDependents".into(), json!(false))),
            _ => {}
        }
        let body = if options.is_empty() && self.random.chance(50) {
            Body::None
        } else {
            Body::Json(options.into())
        };
        if self.random.chance(8) {
            return self.delete_all(&key);
        }
        let path = self.path_of(&key);
        self.pending = Some(key);
        What::Call(Request { method: "DELETE".into(), path, body, ..Request::default() })
    }

    /// Deletes all objects of a kind in a namespace, or those that a selector matches.
    fn delete_all(&mut self, (kind, namespace, _): &Key) -> What {
        let path = self.kinds[*kind].path(namespace);
        let mut request = Request { method: "DELETE".into(), path, ..Request::default() };
        let is_dry = self.random.chance(12);
        if self.random.chance(80) {
            let dry_run = if is_dry { json!(["All"]) } else { json!([]) };
            request.body = Body::Json(json!({"propagationPolicy": "Background", "dryRun": dry_run}));
        } else if is_dry {
            request.query.push(("dryRun".into(), "All".into()));
        }
        match self.random.below(8) {
            0 | 1 => request.query.push(("labelSelector".into(), "app=web".into())),
            2 => request.query.push(("fieldSelector".into(), "metadata.name!=a".into())),
            _ if is_dry => {}
            _ => self.objects.retain(|other, _| (other.0, &other.1) != (*kind, namespace)),
        }
        What::Call(request)
    }

    /// Malformed requests.
    pub(super) fn malformed(&mut self) -> What {
        let key = self.any_object(|_| true);
        let (object, collection) = (self.path_of(&key), self.kinds[key.0].path(&key.1));
        let text = |method: &str, path: &str, content_type: &str, body: &str| Request {
            method: method.into(),
            path: path.into(),
            content_type: Some(content_type.into()),
            body: Body::Text(body.into()),
            ..Request::default()
        };
        let request = match self.random.below(9) {
            0 => text("POST", &collection, "application/json", "{"),
            1 => text("POST", &collection, "application/json", ""),
            2 => text("PATCH", &object, MERGE_PATCH, "{]"),
            3 => text("PATCH", &object, JSON_PATCH, "{}"),
            4 => text("PATCH", &object, "application/json", "{}"),
            5 => text("PUT", &object, "application/json", "[]"),
            6 => text("POST", &object, "application/json", "{}"),
            7 => Request {
                method: "GET".into(),
                path: collection.replace("/namespaces/<<a>>/", "/namespaces/<<a>>/un"),
                ..Request::default()
            },
            _ => text("PATCH", &object, MERGE_PATCH, "[]"),
        };
        What::Call(request)
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

    pub(super) fn write(
        &mut self,
        method: &str,
        key: Key,
        status: bool,
        content_type: Option<&str>,
        body: Body,
    ) -> What {
        let suffix = if status { "/status" } else { "" };
        let request = Request {
            method: method.into(),
            path: format!("{}{suffix}", self.path_of(&key)),
            query: self.write_query(),
            content_type: content_type.map(str::to_owned),
            body,
            ..Request::default()
        };
        self.pending = Some(key);
        What::Call(request)
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
