//! Creating, updating, deleting.

use super::*;

#[tokio::test]
async fn a_created_object_has_the_fields_of_the_system() {
    let api = Api::new();
    let made = api.post(VPCS, &vpc("a"));
    let meta = &made["metadata"];
    assert_eq!((&meta["generation"], &meta["namespace"]), (&json!(1), &json!("default")));
    assert_eq!(meta["creationTimestamp"].as_str().unwrap().len(), "2026-01-01T00:00:00Z".len());
    assert_eq!(meta["uid"].as_str().unwrap().len(), 36);
    assert_eq!(made["status"]["conditions"][0]["reason"], "Pending", "the default of the status");
    assert_eq!(made["spec"]["lifecycle"]["drift"], "Revert", "the defaults of the spec");
}

#[tokio::test]
async fn the_same_seed_gives_the_same_uids() {
    let uid = || Api::new().map("a")["metadata"]["uid"].clone();
    assert_eq!(uid(), uid());
}

#[tokio::test]
async fn a_name_that_exists_is_rejected_and_one_that_is_generated_is_not() {
    let api = Api::new();
    api.map("a");
    let (code, body) = api.send("POST", MAPS, "application/json", &json!({"metadata": {"name": "a"}}));
    assert_eq!((code, &body["reason"]), (409, &json!("AlreadyExists")));
    assert_eq!(body["message"], "configmaps \"a\" already exists");
    let made = api.post(MAPS, &json!({"metadata": {"generateName": "b-"}}));
    assert_eq!(made["metadata"]["name"].as_str().unwrap().len(), "b-12345".len());
}

#[tokio::test]
async fn a_write_without_changes_does_not_write() {
    let api = Api::new();
    let made = api.map("a");
    let (_, same) = api.merge(&format!("{MAPS}/a"), &json!({"data": {"a": "1"}}));
    assert_eq!(version(&same), version(&made));
    let (_, other) = api.merge(&format!("{MAPS}/a"), &json!({"data": {"a": "2"}}));
    assert!(version(&other) > version(&made));
}

#[tokio::test]
async fn an_old_version_conflicts_and_a_custom_resource_needs_one() {
    let api = Api::new();
    let made = api.post(VPCS, &vpc("a"));
    let path = format!("{VPCS}/a");
    api.merge(&path, &json!({"metadata": {"labels": {"x": "y"}}}));
    let (code, body) = api.put(&path, &made);
    assert_eq!((code, &body["reason"]), (409, &json!("Conflict")));
    let (code, body) = api.put(&path, &vpc("a"));
    assert_eq!((code, &body["details"]["causes"][0]["field"]), (422, &json!("metadata.resourceVersion")));
    api.map("m");
    assert_eq!(api.put(&format!("{MAPS}/m"), &json!({"metadata": {"name": "m"}})).0, 200);
}

#[tokio::test]
async fn the_generation_counts_changes_of_the_spec_alone() {
    let api = Api::new();
    api.post(VPCS, &vpc("a"));
    let path = format!("{VPCS}/a");
    let generation = |answer: (u16, Value)| answer.1["metadata"]["generation"].clone();
    assert_eq!(generation(api.merge(&path, &json!({"metadata": {"labels": {"x": "y"}}}))), 1);
    assert_eq!(generation(api.merge(&path, &json!({"status": {"observedGeneration": 9}}))), 1);
    assert_eq!(generation(api.merge(&path, &json!({"spec": {"lifecycle": {"paused": true}}}))), 2);
    assert_eq!(generation(api.merge(&format!("{path}/status"), &json!({"status": {"vpcId": "v"}}))), 2);
}

#[tokio::test]
async fn the_status_is_written_by_itself() {
    let api = Api::new();
    api.post(VPCS, &vpc("a"));
    let path = format!("{VPCS}/a");
    let patch = json!({"status": {"observedGeneration": 1}, "metadata": {"labels": {"x": "y"}}, "spec": {"paused": true}});
    let (code, body) = api.merge(&format!("{path}/status"), &patch);
    assert_eq!((code, &body["status"]["observedGeneration"]), (200, &json!(1)), "{body}");
    assert!(body["metadata"]["labels"].is_null() && body["spec"]["paused"].is_null());
}

#[tokio::test]
async fn a_json_patch_is_rejected_if_a_test_does_not_hold() {
    let api = Api::new();
    let made = api.map("a");
    let path = format!("{MAPS}/a");
    let patch = |uid: &Value| json!([{"op": "test", "path": "/metadata/uid", "value": uid}, {"op": "add", "path": "/data/b", "value": "2"}]);
    let (code, body) = api.json(&path, &patch(&json!("other")));
    assert_eq!((code, body["details"].get("causes")), (422, None), "{body}");
    let (code, body) = api.json(&path, &patch(&made["metadata"]["uid"]));
    assert_eq!((code, &body["data"]["b"]), (200, &json!("2")));
}

#[tokio::test]
async fn an_object_is_deleted_with_its_last_finalizer() {
    let api = Api::new();
    let mut object = vpc("a");
    object["metadata"]["finalizers"] = json!(["x.io/a", "x.io/b"]);
    api.post(VPCS, &object);
    let path = format!("{VPCS}/a");
    let (code, body) = api.delete(&path);
    assert_eq!((code, &body["metadata"]["generation"]), (200, &json!(2)));
    assert!(body["metadata"]["deletionTimestamp"].is_string());
    let again = api.delete(&path).1;
    assert_eq!(version(&again), version(&body), "it is being deleted already");
    let (code, body) = api.merge(&path, &json!({"metadata": {"finalizers": ["x.io/a", "x.io/b", "x.io/c"]}}));
    assert_eq!((code, &body["details"]["causes"][0]["reason"]), (422, &json!("FieldValueForbidden")));
    assert_eq!(api.merge(&path, &json!({"metadata": {"finalizers": ["x.io/a"]}})).0, 200);
    assert_eq!(api.merge(&path, &json!({"metadata": {"finalizers": []}})).0, 200);
    assert_eq!(api.code("GET", &path, &Value::Null), 404);
}

#[tokio::test]
async fn a_deletion_has_preconditions() {
    let api = Api::new();
    let made = api.map("a");
    let path = format!("{MAPS}/a");
    let with =
        |uid: &Value| api.send("DELETE", &path, "application/json", &json!({"preconditions": {"uid": uid}}));
    assert_eq!(with(&json!("other")).0, 409);
    let (code, body) = with(&made["metadata"]["uid"]);
    assert_eq!(
        (code, &body["status"], &body["details"]["kind"]),
        (200, &json!("Success"), &json!("configmaps"))
    );
}

#[tokio::test]
async fn a_dry_run_stores_nothing() {
    let api = Api::new();
    let body = json!({"metadata": {"name": "a"}});
    assert_eq!(api.code("POST", &format!("{MAPS}?dryRun=All"), &body), 201);
    assert_eq!(api.code("GET", &format!("{MAPS}/a"), &Value::Null), 404);
}

#[tokio::test]
async fn creation_fails_in_a_missing_or_terminating_namespace() {
    let api = Api::new();
    let path = "/api/v1/namespaces/team/configmaps";
    let object = json!({"metadata": {"name": "a"}});
    let (code, body) = api.send("POST", path, "application/json", &object);
    assert_eq!((code, &body["message"]), (404, &json!("namespaces \"team\" not found")));
    api.post("/api/v1/namespaces", &json!({"metadata": {"name": "team"}}));
    api.post(path, &object);
    let (code, body) = api.delete("/api/v1/namespaces/team");
    assert_eq!((code, &body["status"]["phase"]), (200, &json!("Terminating")));
    for name in ["a", "b"] {
        let path = format!("{path}/{name}");
        let config =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "y"}});
        let (code, body) = api.apply(&path, "m", true, &config);
        if name == "a" {
            assert_eq!(code, 200, "what is there can be changed: {body}");
        } else {
            assert_eq!(
                (code, &body["details"]["causes"][0]["reason"]),
                (403, &json!("NamespaceTerminating"))
            );
        }
    }
}

#[tokio::test]
async fn a_secret_takes_texts_keeps_its_type_and_can_be_immutable() {
    let api = Api::new();
    let made =
        api.post(SECRETS, &json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}, "immutable": true}));
    assert_eq!((&made["data"]["a"], &made["type"]), (&json!("Yg=="), &json!("Opaque")));
    assert!(made["stringData"].is_null());
    let path = format!("{SECRETS}/s");
    let (code, body) = api.merge(&path, &json!({"stringData": {"a": "c"}}));
    assert_eq!((code, &body["reason"]), (422, &json!("Invalid")));
    let (code, body) = api.merge(&path, &json!({"type": "other"}));
    assert_eq!((code, &body["details"]["causes"][0]["field"]), (422, &json!("type")));
}

#[tokio::test]
async fn a_lease_is_created_by_a_put_and_guarded_by_its_version() {
    let api = Api::new();
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let (code, made) = api.put(path, &json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}));
    assert_eq!(code, 201, "{made}");
    let mut next = made.clone();
    next["spec"]["holderIdentity"] = "b".into();
    assert_eq!(api.put(path, &next).0, 200);
    assert_eq!(api.put(path, &next).0, 409);
}

#[tokio::test]
async fn a_scale_changes_the_number_in_the_spec() {
    let api = Api::new();
    let spec = json!({"imageID": {"value": "ami-0123456789abcdef0"}, "instanceType": {"value": "t2.nano"},
        "minCount": {"value": 1}, "maxCount": {"value": 1}});
    api.post(INSTANCES, &custom(INSTANCES, "EC2Instance", json!({"metadata": {"name": "a"}, "spec": spec})));
    let path = format!("{INSTANCES}/a/scale");
    assert_eq!(api.get(&path)["spec"]["replicas"], 1);
    let (code, body) = api.merge(&path, &json!({"spec": {"replicas": 3}}));
    assert_eq!((code, &body["spec"]["replicas"]), (200, &json!(3)), "{body}");
    assert_eq!(api.get(&format!("{INSTANCES}/a"))["spec"]["maxCount"]["value"], 3);
}

#[tokio::test]
async fn a_backup_restores_the_objects() {
    let api = Api::new();
    let before = api.map("a");
    let backup = api.0.snapshot();
    api.delete(&format!("{MAPS}/a"));
    api.map("b");
    api.0.restore(&backup, super::super::Revisions::GoBack);
    assert_eq!(api.get(&format!("{MAPS}/a")), before);
    assert_eq!(api.code("GET", &format!("{MAPS}/b"), &Value::Null), 404);
    assert_eq!(version(&api.map("c")), version(&before) + 1, "versions go back too");
}
