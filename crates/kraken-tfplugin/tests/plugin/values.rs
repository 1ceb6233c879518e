//! Blocks, nested attributes and special values, through a plugin and back.

use kraken_tfplugin::{Action, Number, Value};
use serde_json::json;

use crate::ktest::{BOTH, FILE, Ktest, paths};

#[tokio::test]
async fn elements_of_a_list_of_blocks_keep_what_was_computed() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let config = json!({"name": "web", "rule": [{"port": 80}, {"port": 53, "protocol": "udp"}]});
        let state = ktest.create(&config).await;
        assert_eq!(ktest.plan(&state, &config).await.action(), Action::None);
        let plan = ktest.plan(&state, &json!({"name": "web", "rule": [{"port": 443}]})).await;
        assert_eq!(paths(&plan), ["revision", "rule[0].port", "rule[1]"]);
        assert_eq!(plan.differences[2].before, json!({"port": 53, "protocol": "udp"}));
        assert!(plan.differences[2].after.is_null());
    }
}

#[tokio::test]
async fn elements_of_a_set_of_blocks_keep_what_was_computed() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let state =
            ktest.create(&json!({"name": "web", "disk": [{"name": "a"}, {"name": "b", "size": 5}]})).await;
        // In another order.
        let config = json!({"name": "web", "disk": [{"name": "b", "size": 5}, {"name": "a"}]});
        assert_eq!(ktest.plan(&state, &config).await.action(), Action::None);
        let plan = ktest.plan(&state, &json!({"name": "web", "disk": [{"name": "a"}, {"name": "c"}]})).await;
        assert_eq!(paths(&plan), ["revision", "disk"]);
        let disks = plan.planned.attribute("disk");
        let Value::Set(disks) = disks else { panic!("{disks:?}") };
        let unknown: Vec<_> = disks.as_slice().iter().filter(|disk| !disk.is_known()).collect();
        assert_eq!(unknown.iter().map(|disk| disk.attribute("name")).collect::<Vec<_>>(), [&"c".into()]);
    }
}

#[tokio::test]
async fn nested_attributes_are_merged_and_hide_their_secrets() {
    let ktest = Ktest::start(BOTH[1]).await;
    let config = json!({"name": "web", "endpoints": [{"host": "a", "key": "hidden"}, {"host": "b"}]});
    let state = ktest.create(&config).await;
    assert_eq!(ktest.plan(&state, &config).await.action(), Action::None);
    let config = json!({"name": "web", "endpoints": [{"host": "a", "key": "hidden2"}, {"host": "b"}]});
    let plan = ktest.plan(&state, &config).await;
    assert_eq!(paths(&plan), ["endpoints[0].key", "revision"]);
    assert!(!format!("{plan:?}").contains("hidden"), "{plan:?}");
}

#[tokio::test]
async fn dynamic_values_and_numbers_of_any_size_survive() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        for number in [
            "123456789012345678901234567890",
            "-0.1",
            "9007199254740993",
            "0.5",
            "1e40",
            "18446744073709551615",
        ] {
            let config =
                json!({"name": "web", "size": number, "anything": {"list": [1, "a", null], "flag": true}});
            let state = ktest.create(&config).await;
            assert_eq!(state.value.attribute("size"), &Value::Number(number.parse::<Number>().unwrap()));
            let stored = state.value.to_json().unwrap();
            let upgraded = ktest.plugin.upgrade(FILE, 1, &stored).await.unwrap().value;
            assert_eq!(upgraded, state.value);
            let read = ktest.plugin.read(FILE, &state).await.unwrap().value;
            let plan = ktest.plan(&read, &config).await;
            assert_eq!((plan.action(), paths(&plan)), (Action::None, vec![]), "{number}");
        }
    }
}

#[tokio::test]
async fn values_that_are_only_written_are_in_no_state() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let state = ktest.create(&json!({"name": "web", "password": "hidden"})).await;
        assert_eq!(state.value.attribute("password"), &Value::Null);
    }
}
