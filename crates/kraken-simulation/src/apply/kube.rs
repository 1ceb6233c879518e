//! Requests like those of kubectl.

use http::{Method, Request, Response};
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::apiserver::{ApiServer, Reply};
use crate::kinds::{Served, served};
use crate::schedule::{ObjectName, Propagation};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json";

/// A user with kubectl and all permissions.
#[derive(Clone, Copy, Debug)]
pub struct Kube<'a>(&'a ApiServer);

/// The result: nothing, or the error.
pub(super) type Result = std::result::Result<(), String>;

impl<'a> Kube<'a> {
    /// For this API server.
    pub fn new(api: &'a ApiServer) -> Self {
        Self(api)
    }

    /// An object, if there is one.
    pub fn get(&self, name: &ObjectName) -> Option<Value> {
        let path = path(name).ok()?;
        let response = self.call(&Method::GET, &path, JSON, None).ok()?;
        (response.status() == 200).then(|| decoded(&response))
    }

    /// Applies a manifest on the server, and takes fields over from others.
    pub(super) fn apply(&self, object: &Value) -> Result {
        let path = format!("{}?fieldManager=kubectl&force=true", path(&ObjectName::of(object))?);
        self.done(&Method::PATCH, &path, APPLY, Some(object))
    }

    /// Replaces the object by the manifest, without fields of others.
    pub(super) fn replace(&self, object: &Value) -> Result {
        let name = ObjectName::of(object);
        let live = self.get(&name).ok_or_else(|| format!("there is no {name}"))?;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        let path = format!("{}?fieldManager=kubectl-replace", path(&name)?);
        self.done(&Method::PUT, &path, JSON, Some(&object))
    }

    /// Creates an object.
    pub(super) fn create(&self, object: &Value) -> Result {
        let name = ObjectName::of(object);
        let kind = served(&name.kind).ok_or_else(|| unknown(&name.kind))?;
        let path = format!("{}?fieldManager=kubectl-create", kind.path(&name.namespace, ""));
        self.done(&Method::POST, &path, JSON, Some(object))
    }

    /// Merges a patch into an object, or into its `subresource`.
    pub(super) fn merge(&self, name: &ObjectName, subresource: &str, patch: &Value) -> Result {
        let path = format!("{}{subresource}?fieldManager=kubectl-edit", path(name)?);
        self.done(&Method::PATCH, &path, MERGE, Some(patch))
    }

    /// Deletes an object, and does not wait.
    pub(super) fn delete(&self, name: &ObjectName, propagation: Propagation) -> Result {
        let policy = match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        };
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
        self.done(&Method::DELETE, &path(name)?, JSON, Some(&options))
    }

    fn done(&self, method: &Method, path: &str, content_type: &str, body: Option<&Value>) -> Result {
        let response = self.call(method, path, content_type, body)?;
        let status = response.status().as_u16();
        if status < 300 {
            return Ok(());
        }
        Err(format!("{status}: {}", decoded(&response)["message"].as_str().unwrap_or_default()))
    }

    fn call(
        &self,
        method: &Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> std::result::Result<Response<Reply>, String> {
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .header("accept", "application/json")
            .header("user-agent", "kubectl")
            .body(body);
        let request = request.map_err(|_| format!("400: not a path: {path}"))?;
        Ok(self.0.handle(request))
    }
}

/// The object in a response; null if there is none.
fn decoded(response: &Response<Reply>) -> Value {
    serde_json::from_slice(&response.body().bytes()).unwrap_or_default()
}

fn path(name: &ObjectName) -> std::result::Result<String, String> {
    let kind: Served<'_> = served(&name.kind).ok_or_else(|| unknown(&name.kind))?;
    Ok(kind.path(&name.namespace, &name.name))
}

fn unknown(kind: &str) -> String {
    format!("there is no kind {kind}")
}
