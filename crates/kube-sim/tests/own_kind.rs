//! A custom kind from its CRD to its deletion, through kube's client.
#![allow(clippy::unwrap_used)] // a panic fails the test

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api,
    api::{
        ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
    },
    core::GroupVersionKind,
};
use kube_sim::{ApiServer, Kinds, Revisions};
use serde_json::{Value, json};

fn crd() -> CustomResourceDefinition {
    let spec = json!({
        "type": "object", "required": ["schedule"],
        "properties": {
            "schedule": {"type": "string", "minLength": 1},
            "keep": {"type": "integer", "default": 7},
            "size": {"type": "string"},
        },
        "x-kubernetes-validations": [
            {"rule": "self.keep > 0 && size(self.schedule) < 20", "message": "keeps at least one"},
            {"rule": "!has(self.size) || isQuantity(self.size)", "message": "is no quantity"},
            {"rule": "self.schedule == oldSelf.schedule", "message": "is immutable", "fieldPath": ".schedule"},
        ],
    });
    let status = json!({"type": "object", "properties": {"last": {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let crd = json!({
        "metadata": {"name": "backups.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Backup", "plural": "backups", "singular": "backup"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    serde_json::from_value(crd).unwrap()
}

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn server() -> ApiServer {
    ApiServer::new(Kinds::new(&[crd()]).unwrap(), 1, now)
}

fn backups(server: &ApiServer) -> Api<DynamicObject> {
    let kind =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Backup"), "backups");
    Api::default_namespaced_with(server.client(), &kind)
}

fn backup(name: &str, spec: Value) -> DynamicObject {
    let mut object = json!({"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": name}});
    object["spec"] = spec;
    serde_json::from_value(object).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_kind_has_its_defaults_rules_and_status() {
    let server = server();
    let backups = backups(&server);
    let create = |spec: Value| {
        let (backups, object) = (backups.clone(), backup("a", spec));
        async move { backups.create(&PostParams::default(), &object).await }
    };
    for (spec, why) in [
        (json!({}), "spec.schedule: Required value"),
        (json!({"schedule": "daily", "keep": 0}), "keeps at least one"),
        (json!({"schedule": "daily", "size": "big"}), "is no quantity"),
    ] {
        let refused = create(spec.clone()).await.unwrap_err().to_string();
        assert!(refused.contains(why), "{spec}: {refused}");
    }
    let created = create(json!({"schedule": "daily", "size": "1Gi", "unknown": 1})).await.unwrap();
    assert_eq!(created.data["spec"], json!({"schedule": "daily", "size": "1Gi", "keep": 7}));
    assert_eq!(created.metadata.creation_timestamp.unwrap().0, now());

    let params = PatchParams::apply("test");
    let status = json!({"status": {"last": "today"}, "spec": {"keep": 1}});
    let reported = backups.patch_status("a", &params, &Patch::Merge(&status)).await.unwrap();
    assert_eq!(
        (&reported.data["status"]["last"], &reported.data["spec"]["keep"]),
        (&json!("today"), &json!(7))
    );
    let edit = json!({"spec": {"schedule": "weekly"}});
    let refused = backups.patch("a", &PatchParams::default(), &Patch::Merge(&edit)).await.unwrap_err();
    assert!(refused.to_string().contains("spec.schedule"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_restored_snapshot_brings_an_object_back_and_owners_are_collected() {
    let server = server();
    let controllers = tokio::spawn(server.run_controllers(1, || {}));
    let backups = backups(&server);
    let owner =
        backups.create(&PostParams::default(), &backup("a", json!({"schedule": "daily"}))).await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let owned = json!({"metadata": {"name": "b", "ownerReferences": [{
        "apiVersion": "example.com/v1", "kind": "Backup", "name": "a", "uid": owner.metadata.uid,
    }]}});
    maps.create(&PostParams::default(), &serde_json::from_value(owned).unwrap()).await.unwrap();
    let snapshot = server.snapshot();

    let mut events = maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    backups.delete("a", &DeleteParams::default()).await.unwrap();
    while !matches!(events.try_next().await.unwrap().unwrap(), WatchEvent::Deleted(_)) {}
    assert!(server.objects("example.com", "backups").is_empty());

    server.restore(&snapshot, Revisions::Bumped);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(server.objects("", "configmaps").len(), 1);
    assert_eq!(backups.get("a").await.unwrap().metadata.uid, owner.metadata.uid);
    controllers.abort();
}
