//! Each rule as a sentence.

mod apply;
mod basics;
mod controllers;
mod lists;
mod metadata;
mod ownership;
mod schemas;
mod validation;
mod watches;

use std::sync::{Arc, LazyLock};

use http::Request;
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::{ApiServer, Kinds};

/// All kinds of Kraken.
static KINDS: LazyLock<Arc<Kinds>> = LazyLock::new(|| Kinds::new(crate::kinds::definitions()).unwrap());

const STATES: &str = "/apis/core.kraken-iac.eoinfennessy.com/v1alpha1/namespaces/default/statedeclarations";
const EXPORTS: &str =
    "/apis/configexport.kraken-iac.eoinfennessy.com/v1alpha1/namespaces/default/configexports";
const VPCS: &str = "/apis/aws.kraken-iac.eoinfennessy.com/v1alpha1/namespaces/default/vpcs";
const INSTANCES: &str = "/apis/aws.kraken-iac.eoinfennessy.com/v1alpha1/namespaces/default/ec2instances";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// A server to talk to.
struct Api(ApiServer);

impl Api {
    fn new() -> Self {
        Self(ApiServer::new(KINDS.clone(), 7, kraken_runtime::clock::now))
    }

    fn send(&self, method: &str, path: &str, type_: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let request = Request::builder().method(method).uri(path).header("content-type", type_);
        let request = request.header("user-agent", "tester/1").body(body).unwrap();
        let response = self.0.handle(request);
        let code = response.status().as_u16();
        (code, serde_json::from_slice(&response.into_body().bytes()).unwrap_or_default())
    }

    fn get(&self, path: &str) -> Value {
        let (code, body) = self.send("GET", path, "", &Value::Null);
        assert_eq!(code, 200, "{body}");
        body
    }

    fn code(&self, method: &str, path: &str, body: &Value) -> u16 {
        self.send(method, path, "application/json", body).0
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (code, body) = self.send("POST", path, "application/json", body);
        assert_eq!(code, 201, "{body}");
        body
    }

    fn put(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("PUT", path, "application/json", body)
    }

    fn merge(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("PATCH", path, "application/merge-patch+json", body)
    }

    fn json(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("PATCH", path, "application/json-patch+json", body)
    }

    fn apply(&self, path: &str, manager: &str, force: bool, body: &Value) -> (u16, Value) {
        let path = format!("{path}?fieldManager={manager}&force={force}");
        self.send("PATCH", &path, "application/apply-patch+yaml", body)
    }

    fn delete(&self, path: &str) -> (u16, Value) {
        self.send("DELETE", path, "application/json", &Value::Null)
    }

    /// A ConfigMap of this name.
    fn map(&self, name: &str) -> Value {
        self.post(MAPS, &json!({"metadata": {"name": name}, "data": {"a": "1"}}))
    }
}

/// An object of a custom kind of this path.
fn custom(path: &str, kind: &str, mut object: Value) -> Value {
    let group = path.split('/').nth(2).unwrap();
    object["apiVersion"] = format!("{group}/v1alpha1").into();
    object["kind"] = kind.into();
    object
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn vpc(name: &str) -> Value {
    json!({
        "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC",
        "metadata": {"name": name}, "spec": {"cidrBlock": {"value": "10.0.0.0/16"}},
    })
}
