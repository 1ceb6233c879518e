//! Where the in-memory API server knowingly differs from kube-apiserver, and why; each is also in
//! `docs/performance/simulation.md`.

use serde_json::{Map, Value};

use super::steps::Step;

/// A response without accepted differences.
pub(super) fn without(_step: &Step, mut answer: Value) -> Value {
    let Some(body) = answer.get_mut("body").and_then(Value::as_object_mut) else { return answer };
    let code = body.get("code").and_then(Value::as_u64).unwrap_or_default();
    // The messages of Go's decoders, which contain whole objects and Go types, are not reproduced.
    let is_undecodable = matches!(code, 400 | 415 | 500);
    let is_path =
        body.contains_key("text") || (code == 404 && body.get("details") == Some(&serde_json::json!({})));
    if is_path {
        // Some of Kubernetes' servers respond with plain text for a path that is not served.
        body.clear();
    } else if is_undecodable || is_of_patch(body) {
        body.retain(|name, _| name == "code");
    }
    without_json_errors(body);
    answer
}

/// What Go's decoder says about the JSON in a Secret is not reproduced.
fn without_json_errors(body: &mut Map<String, Value>) {
    const REDACTED: &str = "Invalid value: \"<secret contents redacted>\"";
    let is_redacted = |text: &Value| text.as_str().is_some_and(|text| text.contains(REDACTED));
    if !body.get("message").is_some_and(is_redacted) {
        return;
    }
    body.insert("message".into(), REDACTED.into());
    let causes = body.get_mut("details").and_then(|details| details["causes"].as_array_mut());
    for cause in causes.into_iter().flatten().filter(|cause| is_redacted(&cause["message"])) {
        cause["message"] = REDACTED.into();
    }
}

/// Whether what a patch made of an object could not be decoded.
fn is_of_patch(body: &Map<String, Value>) -> bool {
    body.get("details").is_some_and(|details| details["causes"][0]["field"] == "patch")
}
