//! Server-side apply.

use super::*;

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let text = |entry: &Value| {
        format!("{} {} {}", entry["manager"], entry["operation"], entry["fieldsV1"]).replace('"', "")
    };
    entries.iter().map(text).collect()
}

#[tokio::test]
async fn fields_no_longer_applied_are_removed_unless_owned_by_another() {
    let api = Api::new();
    let path = format!("{MAPS}/a");
    assert_eq!(api.apply(&path, "one", false, &map(json!({"a": "1", "b": "2", "c": "3"}))).0, 201);
    assert_eq!(api.apply(&path, "two", false, &map(json!({"b": "2"}))).0, 200);
    let (code, body) = api.apply(&path, "one", false, &map(json!({"a": "1"})));
    assert_eq!((code, &body["data"]), (200, &json!({"a": "1", "b": "2"})));
    // The second apply changed nothing and has no time.
    assert_eq!(managers(&body), ["two Apply {f:data:{f:b:{}}}", "one Apply {f:data:{f:a:{}}}"]);
}

#[tokio::test]
async fn a_field_of_another_manager_conflicts_unless_forced() {
    let api = Api::new();
    let path = format!("{MAPS}/a");
    api.apply(&path, "one", false, &map(json!({"a": "1"})));
    let (code, body) = api.apply(&path, "two", false, &map(json!({"a": "2"})));
    assert_eq!(code, 409);
    assert_eq!(body["message"], "Apply failed with 1 conflict: conflict with \"one\": .data.a");
    assert_eq!(body["details"]["causes"][0]["reason"], "FieldManagerConflict");
    let (code, body) = api.apply(&path, "two", true, &map(json!({"a": "2"})));
    assert_eq!((code, &body["data"]["a"]), (200, &json!("2")));
    assert_eq!(managers(&body), ["two Apply {f:data:{f:a:{}}}"]);
}

#[tokio::test]
async fn an_apply_without_changes_does_not_write() {
    let api = Api::new();
    let path = format!("{MAPS}/a");
    let first = api.apply(&path, "one", true, &map(json!({"a": "1"}))).1;
    let second = api.apply(&path, "one", true, &map(json!({"a": "1"}))).1;
    assert_eq!(version(&first), version(&second));
}

#[tokio::test]
async fn finalizers_are_a_set_and_owners_are_keyed_by_uid() {
    let api = Api::new();
    let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid});
    let config = |finalizer: &str, uid: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "finalizers": [finalizer], "ownerReferences": [owner(uid)]}})
    };
    let path = format!("{MAPS}/a");
    api.apply(&path, "one", true, &config("x.io/a", "u-1"));
    let (_, both) = api.apply(&path, "two", true, &config("x.io/b", "u-2"));
    assert_eq!(both["metadata"]["finalizers"], json!(["x.io/a", "x.io/b"]));
    assert_eq!(both["metadata"]["ownerReferences"], json!([owner("u-1"), owner("u-2")]));
    let bare = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let (_, one) = api.apply(&path, "two", true, &bare);
    assert_eq!(one["metadata"]["finalizers"], json!(["x.io/a"]));
}

#[tokio::test]
async fn an_update_owns_the_changed_fields() {
    let api = Api::new();
    let path = format!("{MAPS}/a");
    api.apply(&path, "one", true, &map(json!({"a": "1", "b": "2"})));
    let (_, body) = api.merge(&path, &json!({"data": {"a": "9"}}));
    assert_eq!(managers(&body), ["one Apply {f:data:{f:b:{}}}", "tester Update {f:data:{f:a:{}}}"]);
    let (_, body) = api.apply(&path, "one", true, &map(json!({"b": "2"})));
    assert_eq!(body["data"], json!({"a": "9", "b": "2"}));
}

#[tokio::test]
async fn the_status_is_applied_by_key_and_apart_from_the_spec() {
    let api = Api::new();
    api.post(VPCS, &vpc("a"));
    let condition = |type_: &str| json!({"type": type_, "status": "True", "reason": "Because", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = |conditions: Value| {
        let mut object = vpc("a");
        object["spec"] = Value::Null;
        object.as_object_mut().unwrap().remove("spec");
        object["status"] = json!({"conditions": conditions});
        object
    };
    let path = format!("{VPCS}/a/status");
    api.apply(&path, "one", true, &status(json!([condition("Ready")])));
    let (code, body) = api.apply(&path, "two", true, &status(json!([condition("Synced")])));
    assert_eq!(code, 200, "{body}");
    let types: Vec<_> =
        body["status"]["conditions"].as_array().unwrap().iter().map(|c| c["type"].clone()).collect();
    assert_eq!(types, ["Ready", "Synced"]);
    assert_eq!(body["metadata"]["generation"], 1);
}

#[tokio::test]
async fn a_map_that_is_atomic_is_replaced_whole() {
    let api = Api::new();
    let path = format!("{STATES}/a");
    let state = |data: Value| {
        json!({"apiVersion": "core.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "StateDeclaration",
            "metadata": {"name": "a"}, "spec": {"data": data}})
    };
    api.apply(&path, "one", true, &state(json!({"a": 1})));
    let (_, body) = api.apply(&path, "two", true, &state(json!({"b": 2})));
    assert_eq!(body["spec"]["data"], json!({"b": 2}));
}

#[tokio::test]
async fn an_apply_needs_a_manager() {
    let api = Api::new();
    let path = format!("{MAPS}/a");
    let (code, body) = api.send("PATCH", &path, "application/apply-patch+yaml", &map(json!({})));
    assert_eq!((code, &body["reason"]), (422, &json!("Invalid")), "{body}");
}
