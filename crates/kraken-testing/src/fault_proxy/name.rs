//! The name of a request to kube-apiserver, which is the same for the same call in two runs.

use hyper::Method;
use hyper::body::Bytes;
use hyper::http::request::Parts;
use kraken_simulator::hook::Call;

/// A request to kube-apiserver, named by the verb and the plural with the subresource.
pub fn kubernetes_call(head: &Parts, body: Bytes) -> Call {
    let parts: Vec<&str> = head.uri.path().split('/').filter(|part| !part.is_empty()).collect();
    // After `api/v1` or `apis/<group>/<version>`.
    let skipped = if parts.first() == Some(&"apis") { 3 } else { 2 };
    let rest = parts.get(skipped..).unwrap_or_default();
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        rest => ("", rest),
    };
    let part = |index: usize| rest.get(index).copied().unwrap_or_default();
    let (plural, object, subresource) = (part(0), part(1), part(2));
    let slash = if subresource.is_empty() { "" } else { "/" };
    let watches = head.uri.query().is_some_and(|query| query.split('&').any(|field| field == "watch=true"));
    Call {
        number: 0,
        name: format!("{} {plural}{slash}{subresource}", head.method),
        writes: !matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS),
        watches,
        namespace: namespace.to_owned(),
        object: object.to_owned(),
        body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, uri: &str) -> Call {
        let request = hyper::Request::builder().method(method).uri(uri).body(()).unwrap();
        kubernetes_call(&request.into_parts().0, Bytes::new())
    }

    #[test]
    fn a_request_is_named_by_verb_and_resource() {
        let status = call("PATCH", "/apis/aws.example/v1/namespaces/ns/ec2instances/a/status?force=true");
        assert_eq!(
            (&*status.name, &*status.namespace, &*status.object),
            ("PATCH ec2instances/status", "ns", "a")
        );
        assert!(status.writes && !status.watches);
        let watch = call("GET", "/api/v1/configmaps?watch=true&resourceVersion=4");
        assert!(watch.watches && !watch.writes);
        assert_eq!(watch.name, "GET configmaps");
        assert_eq!(call("GET", "/api/v1/namespaces/kube-system").name, "GET namespaces");
    }
}
