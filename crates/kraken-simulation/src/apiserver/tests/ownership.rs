//! Who owns which field after special requests.

use super::*;

fn entries(object: &Value) -> Vec<Value> {
    object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default()
}

fn state(metadata: Value) -> Value {
    custom(STATES, "StateDeclaration", json!({"metadata": metadata, "spec": {}}))
}

fn instance(name: &str, count: Value) -> Value {
    let spec = json!({"imageID": {"value": "ami-0abc"}, "instanceType": {"value": "t3.micro"}, "maxCount": count,
        "minCount": {"value": 0}, "subnetID": {"value": "subnet-0abc"}});
    custom(INSTANCES, "EC2Instance", json!({"metadata": {"name": name}, "spec": spec}))
}

#[tokio::test]
async fn an_apply_that_changes_nothing_has_no_time() {
    let api = Api::new();
    api.post(STATES, &state(json!({"name": "a"})));
    let (_, applied) = api.apply(&format!("{STATES}/a"), "one", false, &state(json!({"name": "a"})));
    let entries = entries(&applied);
    assert_eq!(entries[0]["operation"], "Apply");
    assert!(entries[0]["time"].is_null() && entries[1]["time"].is_string(), "{entries:?}");
}

#[tokio::test]
async fn a_conflict_does_not_name_the_time() {
    let api = Api::new();
    api.map("a");
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "2"}});
    let (code, body) = api.apply(&format!("{MAPS}/a"), "one", false, &body);
    assert_eq!(code, 409);
    assert_eq!(body["message"], "Apply failed with 1 conflict: conflict with \"tester\" using v1: .data.a");
}

#[tokio::test]
async fn an_applied_null_leaves_a_map_as_it_is() {
    let api = Api::new();
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "y"}}});
    api.post(MAPS, &map);
    let mut null = map;
    null["metadata"]["labels"] = Value::Null;
    let (code, body) = api.apply(&format!("{MAPS}/a"), "one", false, &null);
    assert_eq!((code, &body["metadata"]["labels"]), (200, &json!({"x": "y"})), "{body}");
}

#[tokio::test]
async fn an_apply_without_its_former_metadata_keeps_the_name() {
    let api = Api::new();
    let path = format!("{STATES}/a");
    api.apply(&path, "one", false, &state(json!({"name": "a", "finalizers": ["x.io/y"]})));
    let (code, body) = api.apply(&path, "one", false, &state(json!({"name": "a"})));
    assert_eq!((code, &body["metadata"]["finalizers"]), (200, &Value::Null), "{body}");
}

#[tokio::test]
async fn empty_metadata_of_an_apply_is_always_written() {
    let api = Api::new();
    let path = format!("{STATES}/a");
    let empty = state(json!({"name": "a", "labels": {}}));
    let (_, first) = api.apply(&path, "one", false, &empty);
    let (_, second) = api.apply(&path, "one", false, &empty);
    let (_, third) = api.merge(&path, &json!({"metadata": {}}));
    let (_, fourth) = api.merge(&path, &json!({"metadata": {}}));
    let versions = [first, second, third, fourth].map(|object| version(&object));
    assert!(
        versions[0] < versions[1] && versions[1] < versions[2] && versions[2] == versions[3],
        "{versions:?}"
    );
}

#[tokio::test]
async fn empty_managed_fields_reset_them_except_for_custom_resources() {
    let api = Api::new();
    api.map("a");
    let (_, body) = api.merge(&format!("{MAPS}/a"), &json!({"metadata": {"managedFields": []}}));
    assert!(entries(&body).is_empty(), "{body}");
    api.post(VPCS, &vpc("a"));
    let reset = |fields: Value| json!({"metadata": {"managedFields": fields, "labels": {"x": "y"}}});
    let (_, body) = api.merge(&format!("{VPCS}/a"), &reset(json!([])));
    assert_eq!(entries(&body).len(), 1, "{body}");
    let (_, body) = api.merge(&format!("{VPCS}/a/status"), &reset(json!([{}])));
    assert_eq!(entries(&body).len(), 1, "{body}");
    let (_, body) = api.merge(&format!("{VPCS}/a"), &reset(json!([{}])));
    assert!(entries(&body).is_empty(), "{body}");
}

#[tokio::test]
async fn a_status_that_cannot_be_typed_drops_the_owners() {
    let api = Api::new();
    api.post(VPCS, &vpc("a"));
    let status = api.get(&format!("{VPCS}/a"))["status"].clone();
    let (code, body) = api.merge(&format!("{VPCS}/a"), &json!({"status": {"conditions": "none"}}));
    assert_eq!((code, &body["status"]), (200, &status), "it is not stored");
    assert!(entries(&body).is_empty(), "{body}");

    let mut object = vpc("b");
    let condition =
        json!({"type": "Ready", "status": "True", "reason": "a", "message": "", "lastTransitionTime": 1.25});
    object["status"] = json!({"conditions": [condition]});
    assert_eq!(entries(&api.post(VPCS, &object)).len(), 1, "a text with a format is any scalar");
}

#[tokio::test]
async fn the_system_fields_of_a_new_object_have_no_owner() {
    let mut object = vpc("a");
    object["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
    let made = Api::new().post(VPCS, &object);
    assert!(!made["metadata"]["managedFields"].to_string().contains("deletionTimestamp"), "{made}");
}

#[tokio::test]
async fn a_scale_takes_the_number_from_its_owners() {
    let api = Api::new();
    api.post(INSTANCES, &instance("a", json!({"value": 2})));
    let path = format!("{INSTANCES}/a");
    let owners = || -> Vec<(String, bool)> {
        let number = |entry: &Value| entry["fieldsV1"]["f:spec"]["f:maxCount"]["f:value"].is_object();
        let object = api.get(&path);
        let entries = entries(&object);
        entries
            .iter()
            .map(|entry| (entry["subresource"].as_str().unwrap_or_default().into(), number(entry)))
            .collect()
    };
    let scale =
        |replicas: i64| api.merge(&format!("{path}/scale"), &json!({"spec": {"replicas": replicas}})).0;
    assert_eq!(scale(3), 200);
    assert_eq!(owners(), [("scale".to_owned(), true), (String::new(), false)]);
    assert_eq!(scale(0), 200);
    assert_eq!(owners(), [(String::new(), false)], "0 counts as no number");
}

#[tokio::test]
async fn a_scale_without_a_number_cannot_be_read() {
    let api = Api::new();
    api.post(INSTANCES, &instance("a", json!({"valueFrom": {"ref": "VPC/main"}})));
    assert_eq!(api.code("GET", &format!("{INSTANCES}/a/scale"), &Value::Null), 500);
}

#[tokio::test]
async fn fields_that_go_always_writes_are_not_owned_before_the_first_apply() {
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let api = Api::new();
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {"holderIdentity": "b"}});
    api.post(LEASES, &lease);
    let path = format!("{LEASES}/a");
    api.merge(&path, &json!({"metadata": {"managedFields": [{}]}}));
    let (_, applied) = api.apply(&path, "one", true, &lease);
    assert_eq!(entries(&applied)[1]["fieldsV1"], json!({"f:spec": {"f:holderIdentity": {}}}), "{applied}");
}

#[tokio::test]
async fn an_apply_with_a_status_that_is_not_stored_has_a_time() {
    let api = Api::new();
    let path = VPCS.replace("vpcs", "accounts");
    let account = |status: Value| {
        custom(
            &path,
            "Account",
            json!({"metadata": {"name": "a"}, "spec": {"region": "us-east-1"}, "status": status}),
        )
    };
    api.post(&path, &account(Value::Null));
    let (code, applied) =
        api.apply(&format!("{path}/a"), "one", true, &account(json!({"observedGeneration": 7})));
    assert_eq!(code, 200, "{applied}");
    assert!(entries(&applied)[0]["time"].is_string(), "{applied}");
}

#[tokio::test(start_paused = true)]
async fn a_patch_of_labels_by_the_status_is_a_write_each_time() {
    let _clock = kraken_runtime::clock::simulate("2026-01-01T00:00:00Z".parse().unwrap());
    let api = Api::new();
    api.post(VPCS, &vpc("a"));
    let label = |value: &str| {
        version(&api.merge(&format!("{VPCS}/a/status"), &json!({"metadata": {"labels": {"x": value}}})).1)
    };
    let first = label("y");
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    assert!(label("z") > first);
}

#[tokio::test]
async fn named_fields_of_an_open_value_have_their_types_and_unknown_ones_are_applied() {
    let api = Api::new();
    let applied = |reference: Value| {
        let mut object = vpc("a");
        object["spec"]["tags"] = json!({"team": {"valueFrom": reference}});
        api.apply(&format!("{VPCS}/a"), "one", true, &object).0
    };
    assert_eq!(applied(json!({"configMap": ""})), 500, "not a map");
    assert_eq!(applied(json!({"ref": "VPC/main", "unknown": 1})), 201);
}
