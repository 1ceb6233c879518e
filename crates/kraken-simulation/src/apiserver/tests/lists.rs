//! Lists.

use super::*;

#[tokio::test]
async fn a_list_is_read_page_by_page_at_one_version() {
    let api = Api::new();
    for name in ["a", "b", "c"] {
        api.map(name);
    }
    let first = api.get(&format!("{MAPS}?limit=2"));
    assert_eq!(first["items"].as_array().unwrap().len(), 2);
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    let token = first["metadata"]["continue"].as_str().unwrap();
    api.delete(&format!("{MAPS}/c"));
    let second = api.get(&format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!(second["items"][0]["metadata"]["name"], "c", "as it was when the first page was read");
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    api.0.compact();
    api.map("d");
    api.0.compact();
    assert_eq!(api.code("GET", &format!("{MAPS}?limit=2&continue={token}"), &Value::Null), 410);
}

#[tokio::test]
async fn a_version_of_the_past_can_be_listed_and_one_of_the_future_cannot() {
    let api = Api::new();
    let old = version(&api.map("a"));
    api.map("b");
    let exact = api.get(&format!("{MAPS}?resourceVersion={old}&resourceVersionMatch=Exact"));
    assert_eq!(exact["items"].as_array().unwrap().len(), 1);
    let path = format!("{MAPS}?resourceVersion=999&resourceVersionMatch=NotOlderThan");
    assert_eq!(api.code("GET", &path, &Value::Null), 504);
}

#[tokio::test(start_paused = true)]
async fn a_list_at_version_zero_may_be_of_the_past() {
    let api = Api::new();
    api.map("a");
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    api.map("b");
    api.0.set_cache_lag(Some(std::time::Duration::from_secs(5)));
    let count = |query: &str| api.get(&format!("{MAPS}{query}"))["items"].as_array().unwrap().len();
    assert_eq!((count("?resourceVersion=0"), count("")), (1, 2));
}

#[tokio::test]
async fn metadata_alone_is_returned_if_requested() {
    let api = Api::new();
    api.map("a");
    let get = |path: &str, kind: &str| {
        let request =
            Request::get(path).header("accept", format!("application/json;as={kind};g=meta.k8s.io;v=v1"));
        let response = api.0.handle(request.body(Bytes::new()).unwrap());
        serde_json::from_slice::<Value>(&response.into_body().bytes()).unwrap()
    };
    let one = get(&format!("{MAPS}/a"), "PartialObjectMetadata");
    assert_eq!((&one["kind"], &one["metadata"]["name"]), (&json!("PartialObjectMetadata"), &json!("a")));
    assert!(one["data"].is_null());
    let all = get(MAPS, "PartialObjectMetadataList");
    assert_eq!(all["kind"], "PartialObjectMetadataList");
    assert!(all["items"][0]["data"].is_null());
}

#[tokio::test]
async fn kinds_are_discovered() {
    let api = Api::new();
    let groups = api.get("/apis");
    let names: Vec<_> =
        groups["groups"].as_array().unwrap().iter().map(|group| group["name"].clone()).collect();
    assert!(names.contains(&json!("aws.kraken-iac.eoinfennessy.com")), "{names:?}");
    let resources = api.get("/apis/aws.kraken-iac.eoinfennessy.com/v1alpha1");
    assert!(
        resources["resources"].as_array().unwrap().iter().any(|resource| resource["name"] == "vpcs/status")
    );
}

#[tokio::test]
async fn a_limit_and_a_version_mean_that_version_unless_one_object_is_selected() {
    let api = Api::new();
    let old = version(&api.map("a"));
    api.merge(&format!("{MAPS}/a"), &json!({"data": {"a": "2"}}));
    let data = |query: &str| {
        api.get(&format!("{MAPS}?limit=1&resourceVersion={old}{query}"))["items"][0]["data"]["a"].clone()
    };
    assert_eq!(data(""), "1");
    assert_eq!(data("&resourceVersionMatch=NotOlderThan"), "2");
    assert_eq!(data("&fieldSelector=metadata.name%3Da"), "2");
}

#[tokio::test]
async fn a_list_at_version_zero_has_no_limit() {
    let api = Api::new();
    for name in ["a", "b"] {
        api.map(name);
    }
    let list = api.get(&format!("{MAPS}?limit=1&resourceVersion=0"));
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_page_does_not_show_whether_later_objects_are_selected() {
    let api = Api::new();
    api.post(MAPS, &json!({"metadata": {"name": "a", "labels": {"x": "y"}}}));
    api.map("b");
    let list = api.get(&format!("{MAPS}?limit=1&labelSelector=x"));
    let token = list["metadata"]["continue"].as_str().unwrap();
    let rest = api.get(&format!("{MAPS}?limit=1&labelSelector=x&continue={token}"));
    assert_eq!((rest["items"].clone(), &rest["metadata"]["continue"]), (json!([]), &Value::Null));
}
