//! Where the in-memory API server knowingly differs from kube-apiserver, and why; each is also in
//! `docs/performance/simulation.md`.

use serde_json::{Map, Value};

use super::steps::{Step, StepAction};

/// A response without accepted differences.
pub(super) fn without(step: &Step, mut answer: Value) -> Value {
    let Some(body) = answer.get_mut("body").and_then(Value::as_object_mut) else { return answer };
    if is_apply(step) {
        without_empty_metadata(body);
    }
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

fn is_apply(step: &Step) -> bool {
    matches!(&step.what, StepAction::Call(request) if request.content_type.as_deref() == Some("application/apply-patch+yaml"))
}

/// An apply that removes the last finalizer is answered with the empty fields that it applied, which no reader sees.
fn without_empty_metadata(body: &mut Map<String, Value>) {
    let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.retain(|field, value| {
        let is_empty = value.is_null()
            || value.as_object().is_some_and(Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty);
        !is_empty || !["labels", "annotations", "finalizers", "ownerReferences"].contains(&field.as_str())
    });
}

/// What Go's decoder says about the JSON in a Secret is not reproduced.
fn without_json_errors(body: &mut Map<String, Value>) {
    const REDACTED: &str = "Invalid value: \"<secret contents redacted>\"";
    let is_redacted = |text: &Value| text.as_str().is_some_and(|text| text.contains(REDACTED));
    if body.get("message").is_some_and(is_redacted) {
        body.insert("message".into(), REDACTED.into());
    }
    let causes = body.get_mut("details").and_then(|details| details.get_mut("causes"));
    let causes = causes.and_then(Value::as_array_mut);
    for cause in causes.into_iter().flatten().filter(|cause| is_redacted(&cause["message"])) {
        cause["message"] = REDACTED.into();
    }
}

/// Whether what a patch made of an object could not be decoded.
fn is_of_patch(body: &Map<String, Value>) -> bool {
    body.get("details").is_some_and(|details| details["causes"][0]["field"] == "patch")
}
