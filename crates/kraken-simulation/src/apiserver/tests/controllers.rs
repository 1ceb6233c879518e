//! The garbage collector and the namespace controller.

use std::time::Duration;

use super::*;

fn owned(name: &str, owner: &Value, blocks: bool) -> Value {
    let meta = &owner["metadata"];
    json!({"metadata": {"name": name, "ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], "blockOwnerDeletion": blocks,
    }]}})
}

async fn after(api: &Api, time: Duration) {
    let controllers = api.0.run_controllers(1, || {});
    tokio::select! {
        () = controllers => {}
        () = tokio::time::sleep(time) => {}
    }
}

fn names(api: &Api, path: &str) -> Vec<String> {
    let list = api.get(path);
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn owned_objects_are_deleted_after_their_owner() {
    let api = Api::new();
    let owner = api.map("owner");
    api.post(SECRETS, &owned("a", &owner, false));
    after(&api, Duration::from_secs(1)).await;
    assert_eq!(names(&api, SECRETS), ["a"]);
    api.delete(&format!("{MAPS}/owner"));
    after(&api, Duration::from_secs(1)).await;
    assert_eq!(names(&api, SECRETS), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_owner_with_another_uid_counts_as_missing() {
    let api = Api::new();
    let mut owner = api.map("owner");
    owner["metadata"]["uid"] = "another".into();
    api.post(SECRETS, &owned("a", &owner, false));
    after(&api, Duration::from_secs(1)).await;
    assert_eq!(names(&api, SECRETS), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_and_a_foreground_deletion_waits() {
    let api = Api::new();
    let owner = api.map("owner");
    api.post(SECRETS, &owned("a", &owner, true));
    let policy = |policy: &str| json!({"propagationPolicy": policy});
    api.send("DELETE", &format!("{MAPS}/owner"), "application/json", &policy("Orphan"));
    after(&api, Duration::from_secs(2)).await;
    assert_eq!((names(&api, SECRETS), names(&api, MAPS)), (vec!["a".to_owned()], vec![]));
    assert!(api.get(&format!("{SECRETS}/a"))["metadata"]["ownerReferences"].is_null());

    let owner = api.map("owner");
    let mut held = owned("b", &owner, true);
    held["metadata"]["finalizers"] = json!(["x.io/y"]);
    api.post(SECRETS, &held);
    api.send("DELETE", &format!("{MAPS}/owner"), "application/json", &policy("Foreground"));
    after(&api, Duration::from_secs(2)).await;
    assert_eq!(names(&api, MAPS), ["owner"]);
    assert!(api.get(&format!("{SECRETS}/b"))["metadata"]["deletionTimestamp"].is_string());
    api.merge(&format!("{SECRETS}/b"), &json!({"metadata": {"finalizers": null}}));
    after(&api, Duration::from_secs(2)).await;
    assert_eq!(names(&api, MAPS), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_is_deleted_when_it_is_empty() {
    let api = Api::new();
    api.post("/api/v1/namespaces", &json!({"metadata": {"name": "team"}}));
    let path = "/api/v1/namespaces/team/configmaps";
    api.post(path, &json!({"metadata": {"name": "a", "finalizers": ["x.io/y"]}}));
    api.delete("/api/v1/namespaces/team");
    after(&api, Duration::from_mins(1)).await;
    assert!(api.get(&format!("{path}/a"))["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(api.code("GET", "/api/v1/namespaces/team", &Value::Null), 200);
    api.merge(&format!("{path}/a"), &json!({"metadata": {"finalizers": null}}));
    after(&api, Duration::from_secs(10)).await;
    assert_eq!(api.code("GET", "/api/v1/namespaces/team", &Value::Null), 404);
}

#[tokio::test(start_paused = true)]
async fn a_foreground_deletion_takes_dependents_that_do_not_block_it() {
    let api = Api::new();
    let owner = json!({"metadata": {"name": "owner", "finalizers": ["x.io/y"]}});
    let owner = api.post(MAPS, &owner);
    api.post(SECRETS, &owned("a", &owner, false));
    let policy = json!({"propagationPolicy": "Foreground"});
    api.send("DELETE", &format!("{MAPS}/owner"), "application/json", &policy);
    after(&api, Duration::from_secs(2)).await;
    assert_eq!(names(&api, SECRETS), Vec::<String>::new(), "although the owner remains");
    assert_eq!(names(&api, MAPS), ["owner"]);
}

#[tokio::test(start_paused = true)]
async fn a_dependent_between_two_foreground_deletions_stops_blocking() {
    let api = Api::new();
    let held = |mut object: Value| {
        object["metadata"]["finalizers"] = json!(["x.io/y"]);
        api.post(MAPS, &object)
    };
    let owner = held(json!({"metadata": {"name": "owner"}}));
    let between = api.post(MAPS, &owned("between", &owner, true));
    let last = held(owned("last", &between, true));
    held(owned("lock", &last, true));
    let policy = json!({"propagationPolicy": "Foreground"});
    for name in ["last", "owner"] {
        api.send("DELETE", &format!("{MAPS}/{name}"), "application/json", &policy);
        after(&api, Duration::from_secs(3)).await;
    }
    let between = api.get(&format!("{MAPS}/between"))["metadata"].clone();
    assert_eq!(between["ownerReferences"][0]["blockOwnerDeletion"], false, "{between}");
    assert!(between["deletionTimestamp"].is_null(), "{between}");
    assert_eq!(api.get(&format!("{MAPS}/owner"))["metadata"]["finalizers"], json!(["x.io/y"]));
}

#[tokio::test(start_paused = true)]
async fn dependents_with_other_owners_forget_one_that_goes_in_the_foreground() {
    let api = Api::new();
    let (stays, goes) = (api.map("stays"), api.map("goes"));
    let both = |name: &str, one: &Value, kind: &str, blocks: bool| {
        let mut object = owned(name, one, true);
        object["metadata"]["ownerReferences"][0]["kind"] = kind.into();
        let mut other = owned(name, &goes, blocks)["metadata"]["ownerReferences"][0].clone();
        if !blocks {
            other.as_object_mut().unwrap().remove("blockOwnerDeletion");
        }
        object["metadata"]["ownerReferences"].as_array_mut().unwrap().push(other);
        object["metadata"]["finalizers"] = json!(["x.io/y"]);
        api.post(SECRETS, &object)
    };
    let first = both("first", &stays, "ConfigMap", true);
    both("second", &first, "Secret", false);
    let policy = json!({"propagationPolicy": "Foreground"});
    api.send("DELETE", &format!("{MAPS}/goes"), "application/json", &policy);
    after(&api, Duration::from_secs(5)).await;
    assert_eq!(names(&api, MAPS), ["stays"]);
    for name in ["first", "second"] {
        let metadata = api.get(&format!("{SECRETS}/{name}"))["metadata"].clone();
        assert_eq!(metadata["ownerReferences"].as_array().unwrap().len(), 1, "{metadata}");
    }
}
