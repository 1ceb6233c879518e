//! The provider of times: a provider of others, with plugin-framework, which needs no service.

use kraken_tfplugin::{Action, Plugin, ResourceState, Value};
use serde_json::json;

use crate::ktest::{apply, host, request_of};
use crate::programs;

#[tokio::test]
#[ignore = "its build takes a minute"]
async fn times_are_created_moved_and_imported() {
    let plugin = Plugin::start(&host(), request_of(&programs::time())).await.unwrap();
    let schema = plugin.schema().clone();
    plugin.configure(&Value::object([])).await.unwrap();
    let offset = &schema.resources["time_offset"];
    let config = |json| Value::from_config(&json, &offset.value_type).unwrap();
    let first =
        config(json!({"base_rfc3339": "2026-01-01T00:00:00Z", "offset_days": 7, "triggers": {"a": "b"}}));
    plugin.validate("time_offset", &first).await.unwrap();
    let plan = plugin.plan("time_offset", &ResourceState::default(), &first).await.unwrap();
    assert_eq!(plan.action(), Action::Create);
    let state = apply(&plugin, plan).await.unwrap().state;
    assert_eq!(state.value.attribute("rfc3339"), &"2026-01-08T00:00:00Z".into());

    let read = plugin.read("time_offset", &state).await.unwrap().value;
    let stored = read.value.to_json().unwrap();
    let upgraded = plugin.upgrade("time_offset", offset.version, &stored).await.unwrap().value;
    assert_eq!(upgraded, read.value);
    assert_eq!(plugin.plan("time_offset", &read, &first).await.unwrap().action(), Action::None);

    let moved =
        config(json!({"base_rfc3339": "2026-01-01T00:00:00Z", "offset_days": 8, "triggers": {"a": "b"}}));
    assert_eq!(plugin.plan("time_offset", &read, &moved).await.unwrap().action(), Action::Update);
    let other =
        config(json!({"base_rfc3339": "2026-01-01T00:00:00Z", "offset_days": 7, "triggers": {"a": "c"}}));
    let plan = plugin.plan("time_offset", &read, &other).await.unwrap();
    assert_eq!(plan.action(), Action::Replace);
    assert_eq!(plan.requires_replace[0].to_string(), "triggers");

    let imported = plugin.import("time_static", "2026-01-01T00:00:00Z").await.unwrap().value;
    assert_eq!(imported.value.attribute("year"), &2026.into());
}
