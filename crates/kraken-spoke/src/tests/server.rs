//! The scripted API server. It stores one Disk, applies patches to it, and echoes every other write.

use std::{collections::BTreeMap, future::pending, sync::Arc};

use http::{Method, Request, Response};
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::service_fn;

use super::{
    disk::GROUP,
    script::{Reply, Script},
};

/// What the server stores. Clones share the same state.
#[derive(Clone, Default)]
pub(super) struct Stored {
    disk: Arc<Mutex<Value>>,
    /// The content of every other object that was applied, with its generation.
    others: Arc<Mutex<BTreeMap<String, (Value, i64)>>>,
}

impl Stored {
    pub(super) fn new(disk: Value) -> Self {
        Self { disk: Arc::new(Mutex::new(disk)), ..Self::default() }
    }

    /// The stored Disk.
    pub(super) fn disk(&self) -> Value {
        self.disk.lock().clone()
    }

    /// Replaces the Disk, as a restored backup does.
    pub(super) fn replace(&self, disk: Value) {
        *self.disk.lock() = disk;
    }

    /// Applies a patch to the Disk; `None` if a test of it fails.
    fn patch(&self, patch: &Value) -> Option<Value> {
        let mut disk = self.disk.lock();
        let mut patched = disk.clone();
        match serde_json::from_value::<json_patch::Patch>(patch.clone()) {
            Ok(operations) => json_patch::patch(&mut patched, &operations).ok()?,
            Err(_) => json_patch::merge(&mut patched, patch),
        }
        let version: u64 = patched["metadata"]["resourceVersion"].as_str()?.parse().ok()?;
        patched["metadata"]["resourceVersion"] = json!((version + 1).to_string());
        *disk = patched.clone();
        Some(patched)
    }

    /// Stores another object.
    fn apply(&self, name: &str, body: &Value) -> Value {
        let mut object = if body.is_object() { body.clone() } else { json!({"spec": {}}) };
        let mut others = self.others.lock();
        let (content, generation) = others.entry(name.to_owned()).or_insert((Value::Null, 0));
        *generation += i64::from(*content != object["spec"]);
        content.clone_from(&object["spec"]);
        let version = generation.to_string();
        let fields =
            [("uid", json!("o-1")), ("resourceVersion", json!(version)), ("generation", json!(generation))];
        for (field, value) in fields {
            object["metadata"][field] = value;
        }
        object
    }
}

/// The objects that the watches of all namespaces list, by plural. They never change.
pub(super) type Lists = Vec<(&'static str, Vec<Value>)>;

/// A client of the server.
pub(super) fn client(script: &Script, stored: &Stored, lists: Lists) -> Client {
    let (script, stored) = (script.clone(), stored.clone());
    let service = service_fn(move |request: Request<Body>| {
        let (script, stored) = (script.clone(), stored.clone());
        let listed = listed(&request, &lists);
        async move {
            if request.uri().query().is_some_and(|query| query.contains("watch=")) {
                pending::<()>().await;
            }
            if let Some(list) = listed {
                return Ok::<_, std::io::Error>(response(200, &list));
            }
            let name = name(&request);
            let body = request.into_body().collect_bytes().await.unwrap_or_default();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            Ok(answer(&name, &body, &script, &stored))
        }
    });
    Client::new(service, "ns")
}

/// The response to a list request of all namespaces, which no reconcile makes.
fn listed(request: &Request<Body>, lists: &Lists) -> Option<Value> {
    let path = request.uri().path();
    if path.contains("/namespaces/") {
        return None;
    }
    if path.ends_with("/v1") {
        return Some(kinds());
    }
    let plural = path.rsplit('/').next().unwrap_or_default();
    let items =
        lists.iter().find(|(of, _)| *of == plural).map(|(_, items)| items.clone()).unwrap_or_default();
    let number = |name: &str| -> Option<usize> {
        let query = request.uri().query()?;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?.parse().ok()
    };
    // The token is the number of the items before the page.
    let (start, limit) = (number("continue").unwrap_or(0), number("limit").unwrap_or(usize::MAX));
    let end = start.saturating_add(limit);
    let token = if end < items.len() { end.to_string() } else { String::new() };
    let page: Vec<Value> = items.into_iter().skip(start).take(limit).collect();
    Some(json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1", "continue": token},
        "items": page}))
}

/// The kinds of dependents, as discovery lists them.
fn kinds() -> Value {
    let mount = json!({"name": "mounts", "singularName": "mount", "kind": "Mount", "namespaced": true, "verbs": ["get"]});
    json!({"kind": "APIResourceList", "groupVersion": format!("{GROUP}/v1"), "resources": [mount]})
}

/// The method and the path below the namespace, such as `PATCH disks/a/status`.
fn name(request: &Request<Body>) -> String {
    let path = request.uri().path();
    let path = path.split_once("/namespaces/ns/").map_or(path, |(_, path)| path);
    format!("{} {path}", request.method())
}

fn answer(name: &str, body: &Value, script: &Script, stored: &Stored) -> Response<Body> {
    match script.reply(name, body.clone()) {
        Reply::Returned(value) => response(200, &value),
        Reply::Accepted => accept(name, body, stored),
        Reply::Rejected(code) => response(code, &status(code, &json!(null))),
        Reply::Terminating => {
            let causes =
                json!({"causes": [{"reason": "NamespaceTerminating", "message": "m", "field": "f"}]});
            response(403, &status(403, &causes))
        }
        Reply::Failed(_) | Reply::Panicked => response(500, &status(500, &json!(null))),
    }
}

fn accept(name: &str, body: &Value, stored: &Stored) -> Response<Body> {
    if name.starts_with(Method::GET.as_str()) {
        return response(404, &status(404, &json!(null)));
    }
    if name.starts_with(Method::DELETE.as_str()) {
        return response(200, &json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}));
    }
    if !name.starts_with("PATCH disks/") {
        return response(200, &stored.apply(name, body));
    }
    match stored.patch(body) {
        Some(disk) => response(200, &disk),
        None => response(422, &status(422, &json!(null))),
    }
}

fn status(code: u16, details: &Value) -> Value {
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        _ => "Rejected",
    };
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
        "message": "rejected by the script", "details": details})
}

fn response(code: u16, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
    response
}
