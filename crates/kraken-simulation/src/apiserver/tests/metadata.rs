//! Metadata: names, finalizers, owners, versions.

use super::*;

fn message(answer: (u16, Value)) -> (u16, String) {
    (answer.0, answer.1["message"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_finalizer_of_a_kind_of_kubernetes_has_a_domain_or_is_its_own() {
    let api = Api::new();
    api.map("a");
    let set = |finalizer: &str| {
        let body = json!({"metadata": {"finalizers": [finalizer]}});
        message(api.merge(&format!("{MAPS}/a"), &body))
    };
    assert!(set("no-slash").1.contains("metadata.finalizers[0]"));
    assert_eq!(set("orphan").0, 200);
    assert!(set("bad name!/x").1.contains("prefix part a lowercase RFC 1123 subdomain"));
    assert!(set("x.io/").1.contains("name part must be non-empty"));
    assert!(set("a/b/c").1.contains("with an optional DNS subdomain prefix"));
    api.post(VPCS, &vpc("a"));
    assert_eq!(api.merge(&format!("{VPCS}/a"), &json!({"metadata": {"finalizers": ["no-slash"]}})).0, 200);
}

#[tokio::test]
async fn an_owner_that_is_repeated_counts_once_and_an_event_is_none() {
    let api = Api::new();
    let owner =
        |kind: &str| json!({"apiVersion": "v1", "kind": kind, "name": "o", "uid": "u", "controller": true});
    let map = |owners: Value| json!({"metadata": {"name": "a", "ownerReferences": owners}});
    let (code, text) = message(api.send("POST", MAPS, "application/json", &map(json!([owner("Event")]))));
    assert_eq!(code, 422);
    let shown = r#"{"apiVersion":"v1","kind":"Event","name":"o","uid":"u","controller":true}: /v1, Kind=Event is disallowed"#;
    assert!(text.contains(shown), "{text}");
    let made = api.post(MAPS, &map(json!([owner("ConfigMap"), owner("ConfigMap")])));
    assert_eq!(made["metadata"]["ownerReferences"], json!([owner("ConfigMap")]));
    let other = json!({"apiVersion": "v1", "kind": "Secret", "name": "p", "uid": "v", "controller": true});
    let (_, text) = message(api.merge(&format!("{MAPS}/a"), &map(json!([owner("ConfigMap"), other]))));
    assert!(text.contains("Only one reference can have Controller set to true"), "{text}");
}

#[tokio::test]
async fn a_version_is_a_number_and_a_new_object_has_none() {
    let api = Api::new();
    api.map("a");
    let body = json!({"metadata": {"resourceVersion": "abc"}});
    assert_eq!(api.merge(&format!("{MAPS}/a"), &body).0, 500);
    let versioned = json!({"metadata": {"name": "b", "resourceVersion": "5"}});
    assert_eq!(api.code("POST", &format!("{MAPS}?dryRun=All"), &versioned), 201);
    assert_eq!(api.code("POST", MAPS, &versioned), 500);
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": versioned["metadata"]});
    assert_eq!(api.apply(&format!("{MAPS}/b"), "one", true, &applied).0, 201);
}

#[tokio::test]
async fn a_name_that_was_generated_is_reported_as_such() {
    let api = Api::new();
    api.map("a");
    let body = json!({"metadata": {"name": "a", "generateName": "b-"}});
    let (code, body) = api.send("POST", MAPS, "application/json", &body);
    assert_eq!((code, &body["details"]["retryAfterSeconds"]), (409, &json!(1)));
    assert!(body["message"].as_str().unwrap().ends_with("generate a unique name for the object"));
}

#[tokio::test]
async fn the_name_in_the_body_is_required() {
    let api = Api::new();
    api.map("a");
    assert_eq!(api.put(&format!("{MAPS}/a"), &json!({"data": {}})).0, 400);
    assert_eq!(api.json(&format!("{MAPS}/a"), &json!([{"op": "remove", "path": "/metadata"}])).0, 400);
    // The name in the path of a custom resource's POST is not used.
    api.post(&format!("{VPCS}/other"), &vpc("a"));
    assert_eq!(api.code("GET", &format!("{VPCS}/a"), &Value::Null), 200);
}

#[tokio::test]
async fn an_unknown_uid_is_a_conflict_and_a_time_is_a_time() {
    let api = Api::new();
    api.map("a");
    let (code, text) =
        message(api.put(&format!("{MAPS}/a"), &json!({"metadata": {"name": "a", "uid": "other"}})));
    assert_eq!(code, 409);
    assert!(text.contains("Key: /registry/configmaps/default/a"), "{text}");
    let (code, text) = message(api.json(
        &format!("{MAPS}/a"),
        &json!([{"op": "add", "path": "/metadata/creationTimestamp", "value": "x"}]),
    ));
    assert_eq!(code, 422, "{text}");
}

#[tokio::test]
async fn a_generation_that_is_sent_stays_except_for_custom_resources() {
    let api = Api::new();
    let made = api.post(MAPS, &json!({"metadata": {"name": "a", "generation": 9}}));
    assert_eq!(made["metadata"]["generation"], 9);
    let mut object = vpc("a");
    object["metadata"]["generation"] = json!(9);
    assert_eq!(api.post(VPCS, &object)["metadata"]["generation"], 1);
}

#[tokio::test]
async fn a_scale_of_a_kind_without_one_is_not_found() {
    let api = Api::new();
    api.post(VPCS, &vpc("a"));
    let (code, body) = api.send("GET", &format!("{VPCS}/a/scale"), "", &Value::Null);
    assert_eq!((code, &body["details"]["name"]), (404, &json!("a")));
}

#[tokio::test]
async fn another_namespace_is_refused_before_an_old_version() {
    let api = Api::new();
    let mut old = api.post(VPCS, &vpc("a"));
    api.merge(&format!("{VPCS}/a"), &json!({"metadata": {"labels": {"x": "y"}}}));
    old["metadata"]["namespace"] = "other".into();
    assert_eq!(api.put(&format!("{VPCS}/a"), &old).0, 400);
}
