//! Operations that need nothing but the API server.

use http::{Method, Request, header};
use hyper::body::Bytes;
use serde_json::Value;

use super::{World, crds};
use crate::schedule::{ObjectName, Operation};

impl World {
    pub(super) fn carry_out(&self, operation: &Operation) {
        match operation {
            Operation::Apply { object } => {
                let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
                let name =
                    ObjectName::new(text("/metadata/namespace"), text("/kind"), text("/metadata/name"));
                let query = "?fieldManager=kubectl&force=true";
                self.request(Method::PATCH, &name, query, "application/apply-patch+yaml", object.to_string());
            }
            Operation::Delete { object, .. } => {
                self.request(Method::DELETE, object, "", "application/json", String::new());
            }
            _ => {}
        }
    }

    /// The namespace that the leases are in.
    pub(super) fn install(&self) {
        let body = Bytes::from(r#"{"metadata": {"name": "kraken-system"}}"#);
        if let Ok(request) = Request::post("/api/v1/namespaces").body(body) {
            self.0.api.handle(request);
        }
    }

    fn request(&self, method: Method, object: &ObjectName, query: &str, form: &str, body: String) {
        let Some(crd) = crds().into_iter().find(|crd| crd.spec.names.kind == object.kind) else { return };
        let (group, plural) = (&crd.spec.group, &crd.spec.names.plural);
        let path =
            format!("/apis/{group}/v1alpha1/namespaces/{}/{plural}/{}{query}", object.namespace, object.name);
        let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, form);
        if let Ok(request) = request.body(Bytes::from(body)) {
            self.0.api.handle(request);
        }
    }
}
