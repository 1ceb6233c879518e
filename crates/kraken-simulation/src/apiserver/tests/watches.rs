//! Watches, through kube's own client.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kraken_simulator::hook::{Answer, Call, Hook, HookAction};
use kube::api::{WatchEvent, WatchParams};

use super::*;
use crate::apiserver::service;

fn maps(api: &Api) -> kube::Api<ConfigMap> {
    kube::Api::namespaced(api.0.client(), "default")
}

fn summary(event: &WatchEvent<ConfigMap>) -> String {
    let name = |map: &ConfigMap| map.metadata.name.clone().unwrap_or_default();
    match event {
        WatchEvent::Added(map) => format!("added {}", name(map)),
        WatchEvent::Modified(map) => format!("modified {}", name(map)),
        WatchEvent::Deleted(map) => format!("deleted {}", name(map)),
        WatchEvent::Bookmark(mark) => format!("bookmark {}", mark.metadata.resource_version),
        WatchEvent::Error(status) => format!("error {}", status.code),
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_delivers_events_after_its_version() {
    let api = Api::new();
    let start = version(&api.map("a")).to_string();
    let mut events = maps(&api).watch(&WatchParams::default(), &start).await.unwrap().boxed();
    api.map("b");
    api.merge(&format!("{MAPS}/a"), &json!({"data": {"a": "2"}}));
    api.delete(&format!("{MAPS}/b"));
    for expected in ["added b", "modified a", "deleted b"] {
        assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_sends_bookmarks_and_ends_at_its_timeout() {
    let api = Api::new();
    let start = version(&api.map("a"));
    let params = WatchParams::default().timeout(90);
    let mut events = maps(&api).watch(&params, &start.to_string()).await.unwrap().boxed();
    api.post(SECRETS, &json!({"metadata": {"name": "s"}}));
    assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), format!("bookmark {}", start + 1));
    assert!(events.try_next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_compaction_ends_watches_with_410() {
    let api = Api::new();
    let start = version(&api.map("a")).to_string();
    let mut events = maps(&api).watch(&WatchParams::default(), &start).await.unwrap().boxed();
    api.map("b");
    api.0.compact();
    assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), "error 410");
    let mut events = maps(&api).watch(&WatchParams::default(), &start).await.unwrap().boxed();
    assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), "error 410");
}

#[tokio::test(start_paused = true)]
async fn watches_can_be_cut_and_delayed() {
    let api = Api::new();
    let start = version(&api.map("a")).to_string();
    let connection = api.0.connection();
    let maps: kube::Api<ConfigMap> = kube::Api::namespaced(connection.client(), "default");
    connection.delay_watches("", "configmaps", Duration::from_secs(7));
    let mut events = maps.watch(&WatchParams::default(), &start).await.unwrap().boxed();
    let since = tokio::time::Instant::now();
    api.map("b");
    assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), "added b");
    assert_eq!(since.elapsed(), Duration::from_secs(7));
    api.0.cut_watches();
    assert!(events.try_next().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_begins_to_match_is_added_and_one_that_ceases_is_deleted() {
    let api = Api::new();
    let start = version(&api.map("a")).to_string();
    let params = WatchParams::default().labels("x=y");
    let mut events = maps(&api).watch(&params, &start).await.unwrap().boxed();
    for value in [json!("y"), json!("z")] {
        api.merge(&format!("{MAPS}/a"), &json!({"metadata": {"labels": {"x": value}}}));
    }
    assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), "added a");
    assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), "deleted a");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_changes_between_the_values_of_a_set_is_modified() {
    let api = Api::new();
    let start = version(&api.map("a")).to_string();
    let params = WatchParams::default().labels("x in (y,z)");
    let mut events = maps(&api).watch(&params, &start).await.unwrap().boxed();
    for value in [json!("y"), json!("z"), json!("other")] {
        api.merge(&format!("{MAPS}/a"), &json!({"metadata": {"labels": {"x": value}}}));
    }
    for expected in ["added a", "modified a", "deleted a"] {
        assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_with_a_lost_response_took_effect() {
    struct Lose;
    impl Hook for Lose {
        async fn before(&self, _: &Call) -> HookAction {
            HookAction::Pass
        }
        async fn after(&self, call: &Call, answer: &Answer) -> HookAction {
            assert_eq!((call.name.as_str(), answer.status), ("POST configmaps", 201));
            HookAction::Drop
        }
    }
    let api = Api::new();
    let client = kube::Client::new(service(&api.0.connection(), Arc::new(Lose)), "default");
    let maps: kube::Api<ConfigMap> = kube::Api::namespaced(client, "default");
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
    assert!(maps.create(&kube::api::PostParams::default(), &map).await.is_err());
    assert_eq!(api.code("GET", &format!("{MAPS}/a"), &Value::Null), 200);
}

#[tokio::test(start_paused = true)]
async fn the_objects_that_exist_end_with_a_bookmark() {
    let api = Api::new();
    let newest = version(&api.map("a"));
    let mut events = maps(&api).watch(&WatchParams::default(), "0").await.unwrap().boxed();
    assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), "added a");
    assert_eq!(summary(&events.try_next().await.unwrap().unwrap()), format!("bookmark {newest}"));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_stops_matching_is_shown_as_it_last_matched() {
    let api = Api::new();
    let made = api.post(MAPS, &json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"a": "1"}}));
    let params = WatchParams::default().labels("x=y");
    let mut events = maps(&api).watch(&params, &version(&made).to_string()).await.unwrap().boxed();
    let (_, other) =
        api.merge(&format!("{MAPS}/a"), &json!({"metadata": {"labels": null}, "data": {"a": "2"}}));
    let WatchEvent::Deleted(map) = events.try_next().await.unwrap().unwrap() else { panic!("another event") };
    assert_eq!(map.data.unwrap()["a"], "1");
    assert_eq!(map.metadata.resource_version.unwrap(), version(&other).to_string());
}
