//! What kube-apiserver refuses, and how it says so.

use super::*;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

/// The first cause of a refusal: its field and its message.
fn refused(api: &Api, path: &str, body: &Value) -> (String, String) {
    let (code, body) = api.send("POST", path, "application/json", body);
    assert_eq!(code, 422, "{body}");
    let cause = &body["details"]["causes"][0];
    (cause["field"].as_str().unwrap().to_owned(), cause["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_secret_has_the_data_of_its_type() {
    let api = Api::new();
    let secret = |type_: &str, data: Value| json!({"metadata": {"name": "a"}, "type": type_, "data": data});
    for (type_, field) in [
        ("kubernetes.io/tls", "data[tls.crt]"),
        ("kubernetes.io/basic-auth", "data[username]"),
        ("kubernetes.io/ssh-auth", "data[ssh-privatekey]"),
        ("kubernetes.io/dockerconfigjson", "data[.dockerconfigjson]"),
    ] {
        assert_eq!(refused(&api, SECRETS, &secret(type_, json!({}))).0, field);
    }
    let text = |text: &str| json!({".dockerconfigjson": text});
    let no_object = secret("kubernetes.io/dockerconfigjson", text("W10="));
    assert!(refused(&api, SECRETS, &no_object).1.contains("<secret contents redacted>"));
    api.post(SECRETS, &secret("kubernetes.io/dockerconfigjson", text("e30=")));
}

#[tokio::test]
async fn a_key_is_in_one_of_the_two_data_of_a_config_map() {
    let twice = json!({"metadata": {"name": "a"}, "data": {"k": "a"}, "binaryData": {"k": "YQ=="}});
    assert_eq!(refused(&Api::new(), MAPS, &twice).0, "data[k]");
}

#[tokio::test]
async fn a_lease_has_a_duration_and_is_updated_at_a_version() {
    let api = Api::new();
    let lease = |seconds: i64| json!({"metadata": {"name": "a"}, "spec": {"leaseDurationSeconds": seconds}});
    assert_eq!(refused(&api, LEASES, &lease(0)).1, "Invalid value: 0: must be greater than 0");
    api.post(LEASES, &lease(15));
    assert_eq!(api.put(&format!("{LEASES}/a"), &lease(16)).0, 422, "a version must be given");
    let no_time = json!({"metadata": {"name": "b"}, "spec": {"renewTime": "yesterday"}});
    assert_eq!(api.code("POST", LEASES, &no_time), 400);
}

#[tokio::test]
async fn an_event_with_a_time_may_be_about_an_object_of_another_namespace() {
    let api = Api::new();
    let event = json!({
        "metadata": {"name": "a"}, "eventTime": "2026-01-01T00:00:00.000000Z", "action": "Create", "reason": "Created",
        "type": "Normal", "reportingController": "x.io/y", "reportingInstance": "z", "regarding": {"namespace": "other"},
    });
    api.post(EVENTS, &event);
    let mut older = event.clone();
    (older["metadata"]["name"], older["eventTime"]) = ("b".into(), Value::Null);
    assert_eq!(refused(&api, EVENTS, &older).0, "involvedObject.namespace");
    let mut counted = event;
    (counted["metadata"]["name"], counted["deprecatedCount"]) = ("c".into(), json!(2));
    assert_eq!(
        refused(&api, EVENTS, &counted),
        ("count".into(), "Invalid value: \"\": needs to be unset".into())
    );
}

#[tokio::test]
async fn all_causes_of_a_new_custom_resource_are_reported_at_once() {
    let api = Api::new();
    let mut object = vpc("Bad_Name");
    object["spec"]["cidrBlock"]["value"] = "10.0.0.1/16".into();
    let (_, body) = api.send("POST", VPCS, "application/json", &object);
    let fields: Vec<_> =
        body["details"]["causes"].as_array().unwrap().iter().map(|cause| &cause["field"]).collect();
    assert_eq!(fields, ["metadata.name", "spec.cidrBlock.value"], "{body}");
}

#[tokio::test]
async fn a_rule_about_a_text_reports_the_text() {
    let mut object = vpc("a");
    object["spec"]["cidrBlock"]["value"] = "10.0.0.1/16".into();
    assert!(
        refused(&Api::new(), VPCS, &object)
            .1
            .starts_with("Invalid value: \"10.0.0.1/16\": has host bits set")
    );
}

#[tokio::test]
async fn a_text_is_reported_for_its_length_or_its_pattern() {
    let api = Api::new();
    let path = VPCS.replace("vpcs", "accounts");
    let account = custom(
        &path,
        "Account",
        json!({"metadata": {"name": "a"}, "spec": {"allowedAccountIDs": ["1234567890123"]}}),
    );
    let (_, body) = api.send("POST", &path, "application/json", &account);
    let reasons: Vec<_> =
        body["details"]["causes"].as_array().unwrap().iter().map(|cause| &cause["reason"]).collect();
    assert_eq!(reasons[0], "FieldValueTooLong", "{body}");
    assert!(!body.to_string().contains("should match"), "{body}");
}

#[tokio::test]
async fn nulls_are_dropped_unless_the_schema_allows_them() {
    let api = Api::new();
    let mut object = vpc("a");
    object["spec"]["lifecycle"] = Value::Null;
    object["spec"]["tags"] = json!({"a": null});
    let made = api.post(VPCS, &object);
    assert_eq!(made["spec"]["tags"], json!({}));
    assert_eq!(made["spec"]["lifecycle"]["drift"], "Revert", "a null counts as absent for a default");
    object["spec"] = Value::Null;
    object["metadata"]["name"] = "b".into();
    assert_eq!(refused(&api, VPCS, &object), ("spec".into(), "Required value".into()));
}

#[tokio::test]
async fn a_custom_resource_of_another_kind_is_invalid_and_one_of_none_is_malformed() {
    let api = Api::new();
    let mut object = vpc("a");
    object["kind"] = "Other".into();
    assert_eq!(refused(&api, VPCS, &object).0, "kind");
    let mut made = api.post(VPCS, &vpc("b"));
    (made["kind"], made["spec"]["cidrBlock"]["value"]) = ("Other".into(), "10.0.0.1/16".into());
    let (_, body) = api.put(&format!("{VPCS}/b"), &made);
    assert_eq!(body["details"]["causes"].as_array().unwrap().len(), 2, "rules are evaluated: {body}");
    object.as_object_mut().unwrap().remove("kind");
    assert_eq!(api.code("POST", VPCS, &object), 400);
}

#[tokio::test]
async fn options_of_a_list_must_fit_together() {
    let api = Api::new();
    let code = |query: &str| api.code("GET", &format!("{MAPS}?{query}"), &Value::Null);
    assert_eq!(code("resourceVersionMatch=Exact"), 422);
    assert_eq!(code("resourceVersion=0&resourceVersionMatch=Exact"), 422);
    assert_eq!(code("resourceVersion=1&resourceVersionMatch=Roughly"), 422);
    assert_eq!(code("watch=true&sendInitialEvents=true"), 422);
    assert_eq!(code("labelSelector=a%3Db%3Dc"), 400);
}

#[tokio::test]
async fn the_body_of_a_deletion_hides_its_query() {
    let api = Api::new();
    api.map("a");
    let path = format!("{MAPS}/a?dryRun=All");
    api.delete(&path);
    assert_eq!(api.code("GET", &format!("{MAPS}/a"), &Value::Null), 200);
    api.send("DELETE", &path, "application/json", &json!({"propagationPolicy": "Background"}));
    assert_eq!(api.code("GET", &format!("{MAPS}/a"), &Value::Null), 404);
}

#[tokio::test]
async fn a_deletion_that_cascades_is_accepted_if_the_object_remains() {
    let api = Api::new();
    api.post(MAPS, &json!({"metadata": {"name": "a", "finalizers": ["x.io/y"]}}));
    assert_eq!(api.code("DELETE", &format!("{MAPS}/a"), &json!({"orphanDependents": false})), 202);
}

#[tokio::test]
async fn an_immutable_object_does_not_get_empty_data() {
    let api = Api::new();
    api.post(MAPS, &json!({"metadata": {"name": "a"}, "immutable": true}));
    let (code, body) = api.merge(&format!("{MAPS}/a"), &json!({"binaryData": {}}));
    assert_eq!((code, &body["details"]["causes"][0]["field"]), (422, &json!("binaryData")));
    assert_eq!(api.merge(&format!("{MAPS}/a"), &json!({"metadata": {"labels": {"x": "y"}}})).0, 200);
}

#[tokio::test]
async fn an_error_in_a_status_is_described_from_the_status_on() {
    let api = Api::new();
    api.post(VPCS, &vpc("a"));
    let (_, body) =
        api.merge(&format!("{VPCS}/a/status"), &json!({"status": {"observedGeneration": "none"}}));
    let cause = &body["details"]["causes"][0];
    assert_eq!(
        (&cause["field"], cause["message"].as_str().unwrap()),
        (
            &json!("status.observedGeneration"),
            "Invalid value: \"string\": observedGeneration in body must be of type integer: \"string\"",
        )
    );
}

#[tokio::test]
async fn all_options_of_a_patch_are_checked_at_once() {
    let (code, body) = Api::new().send(
        "PATCH",
        &format!("{MAPS}/a?dryRun=Some"),
        "application/apply-patch+yaml",
        &json!({}),
    );
    assert_eq!((code, body["details"]["causes"].as_array().unwrap().len()), (422, 2));
}

#[tokio::test]
async fn a_change_of_an_event_is_checked_as_a_whole() {
    let api = Api::new();
    let event = json!({
        "metadata": {"name": "a"}, "eventTime": "2026-01-01T00:00:00.000000Z", "action": "Create", "reason": "Created",
        "type": "Normal", "reportingController": "x.io/y", "reportingInstance": "z", "regarding": {"namespace": "other"},
    });
    api.post(EVENTS, &event);
    let (_, body) = api.merge(
        &format!("{EVENTS}/a"),
        &json!({"reportingController": "not a name", "regarding": {"name": "b"}}),
    );
    let causes = body["details"]["causes"].as_array().unwrap();
    let messages: Vec<&str> = causes.iter().map(|cause| cause["message"].as_str().unwrap()).collect();
    assert!(messages[0].contains("name part must consist of"), "{messages:?}");
    assert!(messages[1].contains(r#"{"Kind":"","Namespace":"other","Name":"b","UID":"""#), "{messages:?}");
}
