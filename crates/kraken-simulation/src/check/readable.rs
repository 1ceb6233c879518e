//! What people read: conditions, plans and drift name a field, and their text is one line.

use serde_json::Value;

use super::policy::is_resource;

/// What of a resource's status cannot be read.
pub(super) fn unreadable(object: &Value) -> Vec<String> {
    if !is_resource(object) && object["kind"] != "ConfigExport" {
        return vec![];
    }
    let status = &object["status"];
    let mut wrong = vec![];
    for condition in status["conditions"].as_array().into_iter().flatten() {
        let message = condition["message"].as_str().unwrap_or_default();
        if message.chars().any(char::is_control) || names_no_field(message) {
            wrong.push(format!("the message of {} is {message:?}", condition["type"]));
        }
    }
    // A kind with one object has no field for its number.
    let counts = object["spec"]["maxCount"].is_object();
    for place in ["/plan/changes", "/drift"] {
        let fields = status.pointer(place).and_then(Value::as_array).into_iter().flatten();
        if counts && fields.clone().any(|field| field["path"] == "") {
            wrong.push(format!("status{place} has an entry without a path"));
        }
    }
    let title =
        format!("{} {}/{}", object["kind"], object["metadata"]["namespace"], object["metadata"]["name"]);
    wrong.into_iter().map(|what| format!("{}: {what}", title.replace('"', ""))).collect()
}

/// Whether a path in it is empty.
fn names_no_field(message: &str) -> bool {
    ["spec. ", "spec.:"].iter().any(|empty| message.contains(empty))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_without_a_field_is_found() {
        let object = |message: &str, path: &str| {
            json!({
                "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "EC2Instance",
                "metadata": {"namespace": "a", "name": "b"}, "spec": {"maxCount": {"value": 2}},
                "status": {
                    "conditions": [{"type": "Ready", "message": message}],
                    "plan": {"changes": [{"path": path}]},
                },
            })
        };
        assert_eq!(unreadable(&object("would create 1 instance of 2", "maxCount")), [] as [&str; 0]);
        assert_eq!(unreadable(&object("would change spec. from missing to 1", "maxCount")).len(), 1);
        assert_eq!(unreadable(&object("a\nb", "")).len(), 2);
    }
}
