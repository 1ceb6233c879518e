//! Applied plans, with faults.

use std::time::Duration;

use kraken_tfplugin::{Action, CallError, ResourceState, Value};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::ktest::{BOTH, FILE, Ktest, apply, host, request, with};

#[tokio::test]
async fn an_operation_goes_on_without_its_future_and_without_a_host() {
    let ktest = Ktest::start(BOTH[1]).await;
    let plan = ktest.plan(&ResourceState::default(), &json!({"name": "web", "delay_ms": 1500})).await;
    assert!(timeout(Duration::from_millis(50), apply(&ktest.plugin, plan)).await.is_err());
    let (id, Ktest { plugin, .. }) = (ktest.plugin.process_id(), ktest);
    drop(plugin);
    sleep(Duration::from_millis(100)).await;
    assert!(std::path::Path::new(&format!("/proc/{id}")).exists());
    sleep(Duration::from_secs(2)).await;
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
}

#[tokio::test]
async fn ending_waits_for_operations() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let plan = ktest.plan(&ResourceState::default(), &json!({"name": "web", "delay_ms": 600})).await;
        let plugin = ktest.plugin.clone();
        let operation = tokio::spawn(async move { apply(&plugin, plan).await });
        sleep(Duration::from_millis(100)).await;
        ktest.plugin.end().await;
        assert!(operation.await.unwrap().unwrap().state.exists());
    }
}

#[tokio::test]
async fn an_error_with_a_state_returns_both() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let plan = ktest.plan(&ResourceState::default(), &json!({"name": "web", "fail": "after"})).await;
        let applied = ktest.apply(plan).await;
        assert!(applied.is_failed() && applied.state.exists());
        assert_eq!(applied.diagnostics[0].to_string(), "fail: ktest failed: after");
        assert_eq!(applied.state.private, b"failed");
        assert!(ktest.plugin.read(FILE, &applied.state).await.unwrap().value.exists());
    }
}

#[tokio::test]
async fn an_error_without_a_state_returns_the_prior_one() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        for (fail, objects) in [("before", 0), ("lost", 1)] {
            let plan = ktest.plan(&ResourceState::default(), &json!({"name": "web", "fail": fail})).await;
            let applied = ktest.apply(plan).await;
            assert!(applied.is_failed() && !applied.state.exists());
            assert_eq!(ktest.objects(), objects);
        }
        let state = ktest.create(&json!({"name": "web"})).await;
        let applied = ktest.apply(ktest.plan(&state, &json!({"name": "web", "fail": "before"})).await).await;
        assert!(applied.is_failed() && applied.state == state);

        let state = ktest.make(&state, &json!({"name": "web", "fail": "delete"})).await;
        let plan = ktest.plugin.plan(FILE, &state, &Value::Null).await.unwrap();
        assert_eq!(plan.action(), Action::Delete);
        let applied = ktest.apply(plan).await;
        assert!(applied.is_failed() && applied.state.value == state.value);
    }
}

#[tokio::test]
async fn a_plugin_that_ends_during_an_operation_leaves_its_result_unknown() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let config = json!({"name": "web", "delay_ms": 20000, "exit_after_ms": 1000});
        let plan = ktest.plan(&ResourceState::default(), &config).await;
        let error = apply(&ktest.plugin, plan).await.unwrap_err();
        assert_eq!(error, CallError::Ended("exit status: 3".to_owned()));
        assert!(error.may_have_changed());
        assert_eq!(ktest.objects(), 1);
        // All that follows fails at once.
        let error = ktest.plugin.read(FILE, &ResourceState::default()).await.unwrap_err();
        assert_eq!(error, CallError::Ended("exit status: 3".to_owned()));
    }
}

#[tokio::test]
async fn a_killed_plugin_is_reported_with_its_signal() {
    let ktest = Ktest::start(BOTH[1]).await;
    let plan = ktest.plan(&ResourceState::default(), &json!({"name": "web", "delay_ms": 5000})).await;
    let plugin = ktest.plugin.clone();
    let operation = tokio::spawn(async move { apply(&plugin, plan).await });
    sleep(Duration::from_millis(100)).await;
    let status =
        std::process::Command::new("kill").args(["-9", &ktest.plugin.process_id().to_string()]).status();
    assert!(status.unwrap().success());
    let error = operation.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("signal: 9"), "{error}");
}

#[tokio::test]
async fn a_plugin_that_prints_much_is_not_blocked() {
    for protocol in BOTH {
        let ktest = Ktest::start_in(&host(), with(request(protocol), "KTEST_CHATTY", "1")).await;
        let state = ktest.create(&json!({"name": "web"})).await;
        for _ in 0..5 {
            let read = timeout(Duration::from_secs(20), ktest.plugin.read(FILE, &state)).await;
            assert!(read.unwrap().unwrap().value.exists());
        }
    }
}

#[tokio::test]
async fn a_cancelled_read_does_not_disturb_others() {
    let ktest = Ktest::start(BOTH[0]).await;
    let state = ktest.create(&json!({"name": "web"})).await;
    for _ in 0..50 {
        let _ = timeout(Duration::from_micros(300), ktest.plugin.read(FILE, &state)).await;
    }
    assert!(ktest.plugin.read(FILE, &state).await.unwrap().value.exists());
}
