//! Kinds that are installed into and removed from a running controller, whose creations take long and cannot be searched for.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use kraken_tests::{
    KindsController, TestEnv,
    test_env::condition,
    widgets::{GROUP, Provider, Widgets},
};
use serde_json::{Value, json};

/// Longer than what a status need not report.
const LONG: Duration = Duration::from_secs(14);

fn widget(kind: &str, name: &str, spec: &Value) -> String {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind, "metadata": {"name": name}, "spec": spec,
    })
    .to_string()
}

/// Installs this kind of widgets.
async fn add(
    controller: &KindsController,
    test_env: &TestEnv,
    kind: &str,
    provider: &Provider,
) -> Result<()> {
    let widgets = Widgets::new(kind);
    controller.add(test_env, &widgets.crd(), Arc::new(widgets), Arc::new(provider.clone())).await
}

fn sized(size: i64) -> Value {
    json!({"size": {"value": size}})
}

async fn now_confirmed(test_env: &TestEnv, kind: &str) -> Result<()> {
    let annotations =
        json!({"kraken-iac.eoinfennessy.com/creation-confirmed-at": jiff::Timestamp::now().to_string()});
    test_env.patch(kind, "a", json!({"metadata": {"annotations": annotations}})).await
}

/// Ends the controller while the provider creates a widget, and starts it again.
async fn interrupted(test_env: &TestEnv, kind: &str) -> Result<(Provider, KindsController)> {
    let (provider, controller) = (Provider::default(), KindsController::start(test_env).await?);
    add(&controller, test_env, kind, &provider).await?;
    provider.takes(Duration::from_secs(4));
    test_env.apply(&widget(kind, "a", &sized(3))).await?;
    while provider.objects().is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(controller);
    provider.takes(Duration::ZERO);
    let controller = KindsController::start(test_env).await?;
    add(&controller, test_env, kind, &provider).await?;
    Ok((provider, controller))
}

#[tokio::test]
async fn kinds_are_added_and_removed_while_their_controller_runs() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (provider, controller) = (Provider::default(), KindsController::start(&test_env).await?);
    add(&controller, &test_env, "WidgetOne", &provider).await?;
    add(&controller, &test_env, "WidgetTwo", &provider).await?;
    test_env.apply(&widget("WidgetOne", "a", &sized(3))).await?;
    // Kinds that are known at run time have references like any other.
    let from = json!({"valueFrom": {"ref": "WidgetOne/a/size"}});
    test_env.apply(&widget("WidgetTwo", "b", &json!({"size": from}))).await?;
    let ready = test_env.ready("WidgetTwo", "b").await?;
    assert_eq!(ready["status"]["summary"]["size"], "3");
    test_env.patch("WidgetOne", "a", json!({"spec": sized(4)})).await?;
    test_env.until("WidgetTwo", "b", |b| b["status"]["summary"]["size"] == "4").await?;

    controller.remove(&Widgets::key("WidgetOne")).await;
    assert_eq!(controller.problems(), Vec::<String>::new());
    assert!(
        !controller.metrics().contains("kraken_resources{kind=\"WidgetOne\""),
        "{}",
        controller.metrics()
    );
    test_env.patch("WidgetOne", "a", json!({"spec": sized(5)})).await?;
    // The other kind continues.
    test_env.apply(&widget("WidgetTwo", "c", &sized(7))).await?;
    test_env.ready("WidgetTwo", "c").await?;
    assert!(provider.objects().values().all(|object| object["size"] != 5), "{:?}", provider.objects());

    add(&controller, &test_env, "WidgetOne", &provider).await?;
    test_env.until("WidgetTwo", "b", |b| b["status"]["summary"]["size"] == "5").await?;
    assert_eq!(provider.objects().len(), 3);
    test_env.delete("WidgetTwo", "b").await?;
    test_env.gone("WidgetTwo", "b").await?;
    assert_eq!(provider.objects().len(), 2);
    assert_eq!(controller.problems(), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn drift_of_a_kind_that_is_known_at_run_time_is_reverted() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (provider, controller) = (Provider::default(), KindsController::start(&test_env).await?);
    add(&controller, &test_env, "WidgetDrift", &provider).await?;
    test_env.apply(&widget("WidgetDrift", "a", &sized(3))).await?;
    test_env.ready("WidgetDrift", "a").await?;
    provider.tamper("w-1", "size", json!(9));
    let annotations = json!({"kraken-iac.eoinfennessy.com/reconcile-requested-at": "now"});
    test_env.patch("WidgetDrift", "a", json!({"metadata": {"annotations": annotations}})).await?;
    while provider.objects()["w-1"]["size"] != 3 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!((provider.calls("create"), provider.calls("update")), (1, 1));
    Ok(())
}

#[tokio::test]
async fn operation_that_takes_long_is_reported_and_holds_up_no_other_resource() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (provider, controller) = (Provider::default(), KindsController::start(&test_env).await?);
    add(&controller, &test_env, "WidgetSlow", &provider).await?;
    provider.takes(LONG);
    test_env.apply(&widget("WidgetSlow", "a", &sized(3))).await?;
    while provider.calls("create") == 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    provider.takes(Duration::ZERO);
    // The controller reconciles one resource at a time.
    test_env.apply(&widget("WidgetSlow", "b", &sized(1))).await?;
    test_env.ready("WidgetSlow", "b").await?;
    assert_eq!(provider.objects().len(), 1, "the first one is not created yet");
    // Neither an edit nor a deletion interrupts it; both are due afterwards.
    test_env.patch("WidgetSlow", "a", json!({"spec": sized(8)})).await?;
    let creating = |a: &Value| condition(a, "Ready")["reason"] == "Creating";
    let reported = test_env.until("WidgetSlow", "a", creating).await?;
    let message = condition(&reported, "Ready")["message"].as_str().unwrap_or_default();
    assert!(
        message.starts_with("creating since 20") && message.ends_with("waiting for the provider's response"),
        "{message}"
    );
    test_env.until("WidgetSlow", "a", |a| a["status"]["summary"]["size"] == "8").await?;
    provider.takes(LONG);
    test_env.delete("WidgetSlow", "a").await?;
    let message = test_env.not_ready("WidgetSlow", "a", "Deleting").await?;
    assert!(message.contains("deleting w-2 since"), "{message}");
    test_env.gone("WidgetSlow", "a").await?;
    assert_eq!((provider.calls("create"), provider.objects().len()), (2, 1));
    Ok(())
}

#[tokio::test]
async fn removal_of_a_kind_waits_for_the_creation_in_progress() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (provider, controller) = (Provider::default(), KindsController::start(&test_env).await?);
    add(&controller, &test_env, "WidgetRemoved", &provider).await?;
    provider.takes(Duration::from_secs(4));
    test_env.apply(&widget("WidgetRemoved", "a", &sized(3))).await?;
    while provider.calls("create") == 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    controller.remove(&Widgets::key("WidgetRemoved")).await;
    assert_eq!(provider.answered(), 1);
    add(&controller, &test_env, "WidgetRemoved", &provider).await?;
    test_env.ready("WidgetRemoved", "a").await?;
    assert_eq!(provider.objects().len(), 1);
    Ok(())
}

#[tokio::test]
async fn interrupted_creation_is_never_repeated_and_its_object_can_be_named() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (provider, _controller) = interrupted(&test_env, "WidgetNamed").await?;
    let message = test_env.not_ready("WidgetNamed", "a", "CreationUnknown").await?;
    assert!(message.contains("the controller ended while it created a widget"), "{message}");
    assert!(message.contains("lifecycle.adopt.id") && message.contains("creation-confirmed-at"), "{message}");
    test_env.patch("WidgetNamed", "a", json!({"spec": {"lifecycle": {"adopt": {"id": "w-1"}}}})).await?;
    let ready = test_env.ready("WidgetNamed", "a").await?;
    assert_eq!(ready["status"]["externalIds"], json!(["w-1"]));
    assert_eq!((provider.calls("create"), provider.objects().len()), (1, 1));
    Ok(())
}

#[tokio::test]
async fn interrupted_creation_is_repeated_once_after_a_person_says_that_nothing_exists() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (provider, controller) = interrupted(&test_env, "WidgetDenied").await?;
    test_env.not_ready("WidgetDenied", "a", "CreationUnknown").await?;
    now_confirmed(&test_env, "WidgetDenied").await?;
    test_env.ready("WidgetDenied", "a").await?;
    assert_eq!(provider.calls("create"), 2);
    drop(controller);
    let controller = KindsController::start(&test_env).await?;
    add(&controller, &test_env, "WidgetDenied", &provider).await?;
    test_env.patch("WidgetDenied", "a", json!({"spec": sized(6)})).await?;
    test_env.until("WidgetDenied", "a", |a| a["status"]["summary"]["size"] == "6").await?;
    assert_eq!(provider.calls("create"), 2);
    Ok(())
}

#[tokio::test]
async fn resource_is_not_forgotten_while_its_creation_is_unknown() -> Result<()> {
    let test_env = TestEnv::new().await?;
    let (provider, _controller) = interrupted(&test_env, "WidgetKept").await?;
    test_env.not_ready("WidgetKept", "a", "CreationUnknown").await?;
    test_env.delete("WidgetKept", "a").await?;
    let deleting = |a: &Value| !a["metadata"]["deletionTimestamp"].is_null();
    test_env.until("WidgetKept", "a", deleting).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let message = test_env.not_ready("WidgetKept", "a", "CreationUnknown").await?;
    assert!(message.contains("if this resource is being deleted, delete it"), "{message}");
    now_confirmed(&test_env, "WidgetKept").await?;
    test_env.gone("WidgetKept", "a").await?;
    assert_eq!(provider.calls("create"), 1);
    Ok(())
}
