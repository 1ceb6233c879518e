//! Owner references and namespaces: what controllers of Kubernetes finish later. Each step that gives them something to
//! do is followed by waiting for them.

use serde_json::{Value, json};

use super::{Generator, Key};
use crate::parity::steps::{Body, Request, StepAction};

const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

impl Generator<'_> {
    pub(super) fn owners(&mut self) -> StepAction {
        match self.random.index(&[30, 22, 10, 14, 8, 6, 10]) {
            0 => self.dependent(),
            1 => {
                self.queue.push(StepAction::Settle);
                self.delete_by_policy()
            }
            2 => {
                self.queue.push(StepAction::Settle);
                let key = self.any_object(|_| true);
                let owners = self.owners_of(&key);
                let body = json!({"metadata": {"ownerReferences": owners}});
                self.write("PATCH", key, false, Some(MERGE_PATCH), Body::Json(body))
            }
            3 => {
                self.queue.push(StepAction::Settle);
                let key = self.any_object(|_| true);
                let body = json!({"metadata": {"finalizers": if self.random.chance(60) { Value::Null } else { json!([super::edits::FINALIZER]) }}});
                self.write("PATCH", key, false, Some(MERGE_PATCH), Body::Json(body))
            }
            4 => self.get(),
            5 => self.watch(),
            _ => self.read(),
        }
    }

    /// An object with owners or without, that is valid: created or applied.
    fn dependent(&mut self) -> StepAction {
        let kind = self.plain_kind();
        let (namespace, name) = (self.any_namespace(), self.any_name());
        let key = (kind, namespace.clone(), name.clone());
        let mut metadata = json!({"name": name});
        if self.random.chance(60) {
            metadata["ownerReferences"] = self.owners_of(&key);
            self.queue.push(StepAction::Settle);
        }
        if self.random.chance(25) {
            metadata["finalizers"] = json!([super::edits::FINALIZER]);
        }
        let mut body = self.valid(kind);
        body["metadata"] = metadata;
        // As a DependencyRequest is written.
        if self.random.chance(35) {
            let mut what = self.write("PATCH", key, false, Some(APPLY), Body::Json(body));
            let manager = self.manager();
            if let StepAction::Call(request) = &mut what {
                request.query = vec![("fieldManager".into(), manager), ("force".into(), "true".into())];
            }
            return what;
        }
        self.pending = Some(key);
        let path = self.kinds[kind].path(&namespace);
        StepAction::Call(Request {
            method: "POST".into(),
            path,
            body: Body::Json(body),
            ..Request::default()
        })
    }

    fn plain_kind(&mut self) -> usize {
        let wanted =
            self.random.one(["configmaps", "secrets", "leases", "statedeclarations", "dependencyrequests"]);
        self.kinds.iter().position(|kind| kind.plural == wanted).unwrap_or_default()
    }

    fn valid(&self, kind: usize) -> Value {
        let kind = &self.kinds[kind];
        let mut body = json!({"apiVersion": kind.api_version, "kind": kind.name});
        if kind.schema.is_some() || kind.plural == "leases" {
            body["spec"] = json!({});
        }
        body
    }

    /// Up to two owners: of the same namespace mostly, sometimes absent ones.
    fn owners_of(&mut self, key: &Key) -> Value {
        let mut owners = Vec::new();
        let mut known: Vec<Key> = Vec::new();
        for _ in 0..self.random.below(3) {
            let mut owner = self.any_object(|_| true);
            if !self.random.chance(8) {
                owner.1.clone_from(&key.1);
            }
            if self.random.chance(10) {
                owner.2 = "absent".into();
            }
            if known.iter().any(|other| self.owns(other, &owner) || self.owns(&owner, other)) {
                continue;
            }
            let mut reference = self.owner(&owner);
            known.push(owner);
            if !owners.is_empty() {
                reference["controller"] = false.into();
            }
            if self.random.chance(10) {
                owners.push(reference.clone());
            }
            owners.push(reference);
        }
        owners.into()
    }

    /// Whether an object that remains because of its own finalizer has dependents that do not block: the garbage collector
    /// deletes them if it looks at them before it sees that nothing blocks their owner.
    fn may_precede_owner(&self, key: &Key) -> bool {
        let is_held = self.objects.get(key).is_some_and(|object| object["metadata"]["finalizers"].is_array());
        let is_loose = |reference: &Value| {
            reference["name"] == key.2.as_str() && reference["blockOwnerDeletion"] != true
        };
        let mut owners =
            self.objects.values().filter_map(|object| object["metadata"]["ownerReferences"].as_array());
        is_held && owners.any(|owners| owners.iter().any(is_loose))
    }

    /// Whether the first object is an owner of the second. If both own a third one, what becomes of that depends on which
    /// of them the garbage collector handles first.
    fn owns(&self, owner: &Key, object: &Key) -> bool {
        let owners = self.objects.get(object).map(|object| &object["metadata"]["ownerReferences"]);
        let is_it = |reference: &Value| reference["name"] == owner.2.as_str();
        owners.and_then(Value::as_array).into_iter().flatten().any(is_it)
    }

    fn delete_by_policy(&mut self) -> StepAction {
        let key = self.any_object(|_| true);
        let policy = self.random.one(["Background", "Foreground", "Orphan", "Foreground", ""]);
        let policy =
            if policy == "Foreground" && self.may_precede_owner(&key) { "Background" } else { policy };
        let body =
            if policy.is_empty() { Body::None } else { Body::Json(json!({"propagationPolicy": policy})) };
        let path = self.path_of(&key);
        self.pending = Some(key);
        StepAction::Call(Request { method: "DELETE".into(), path, body, ..Request::default() })
    }

    pub(super) fn namespaces(&mut self) -> StepAction {
        const PATH: &str = "/api/v1/namespaces";
        let namespace = self.random.one(["<<a>>", "<<b>>", "<<c>>"]);
        let request = |method: &str, path: String, body: Body| Request {
            method: method.into(),
            path,
            body,
            ..Request::default()
        };
        let one = format!("{PATH}/{namespace}");
        match self.random.index(&[38, 10, 8, 8, 8, 6, 12, 10, 5, 4]) {
            0 => {
                let mut what = self.dependent();
                if let StepAction::Call(request) = &mut what {
                    request.path = request.path.replace("<<a>>", namespace);
                    if let Some(key) = &mut self.pending {
                        key.1 = key.1.replace("<<a>>", namespace);
                    }
                }
                what
            }
            1 => {
                self.queue.push(StepAction::Settle);
                StepAction::Call(request("DELETE", one, Body::None))
            }
            2 => {
                let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": self.labels()}});
                StepAction::Call(request("POST", PATH.into(), Body::Json(body)))
            }
            3 => StepAction::Call(request("GET", one, Body::None)),
            4 => {
                let body = json!({"metadata": {"labels": self.labels(), "annotations": self.annotations()}});
                let mut request = request("PATCH", one, Body::Json(body));
                request.content_type = Some(MERGE_PATCH.into());
                StepAction::Call(request)
            }
            5 => {
                let mut request = request("GET", PATH.into(), Body::None);
                request
                    .query
                    .push(("labelSelector".into(), format!("kubernetes.io/metadata.name={namespace}")));
                request.metadata_only = self.random.chance(30);
                StepAction::Call(request)
            }
            6 => {
                let key = self.any_object(|_| true);
                self.queue.push(StepAction::Settle);
                let body = json!({"metadata": {"finalizers": null}});
                self.write("PATCH", key, false, Some(MERGE_PATCH), Body::Json(body))
            }
            7 => self.get(),
            8 => {
                let mut request = request("GET", PATH.into(), Body::None);
                request.query.push(("watch".into(), "true".into()));
                StepAction::Watch(request)
            }
            _ => self.read(),
        }
    }
}
