//! Requests that write.

use serde_json::{Map, Value, json};

use super::{Generator, Key};
use crate::parity::steps::{Body, Request, StepAction};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";

impl Generator<'_> {
    pub(super) fn create(&mut self) -> StepAction {
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
        StepAction::Call(request)
    }

    pub(super) fn put(&mut self, status: bool) -> StepAction {
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

    pub(super) fn scale(&mut self) -> StepAction {
        let is_known = self.objects.keys().any(|key| self.kinds.get(key.0).is_some_and(|kind| kind.scale));
        if !is_known && self.random.chance(70) {
            return self.scalable();
        }
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
        if let StepAction::Call(request) = &mut what {
            request.path.push_str("/scale");
        }
        what
    }

    /// Creates an object that can be scaled.
    fn scalable(&mut self) -> StepAction {
        let kind = self.kinds.iter().position(|kind| kind.plural == "ec2instances").unwrap_or_default();
        let (namespace, name) = (self.any_namespace(), self.any_name());
        let body = json!({
            "apiVersion": self.kinds[kind].api_version, "kind": self.kinds[kind].name, "metadata": {"name": name},
            "spec": {
                "imageID": {"value": "ami-0abc1234"}, "instanceType": {"value": "t3.micro"},
                "maxCount": {"value": self.random.below(4)}, "minCount": {"value": 0},
                "subnetID": {"value": "subnet-0abc1234"},
            },
        });
        let path = self.kinds[kind].path(&namespace);
        self.pending = Some((kind, namespace, name));
        let (query, body) = (self.write_query(), Body::Json(body));
        StepAction::Call(Request { method: "POST".into(), path, query, body, ..Request::default() })
    }

    pub(super) fn delete(&mut self) -> StepAction {
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
        StepAction::Call(Request { method: "DELETE".into(), path, body, ..Request::default() })
    }

    /// Deletes all objects of a kind in a namespace, or those that a selector matches.
    fn delete_all(&mut self, (kind, namespace, _): &Key) -> StepAction {
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
        StepAction::Call(request)
    }

    /// Malformed requests.
    pub(super) fn malformed(&mut self) -> StepAction {
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
        StepAction::Call(request)
    }

    pub(super) fn write(
        &mut self,
        method: &str,
        key: Key,
        status: bool,
        content_type: Option<&str>,
        body: Body,
    ) -> StepAction {
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
        StepAction::Call(request)
    }
}
