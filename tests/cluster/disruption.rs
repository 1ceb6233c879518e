//! The budget of a disruption group: instances that a change stops are not stopped together.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kraken_tests::test_env::{TIMEOUT, condition};
use serde_json::{Value, json};

use crate::instance_changes::{CONTROLLER, alive, calls, instance, set, test_env};

#[tokio::test]
async fn instances_of_one_disruption_group_are_not_stopped_together() -> Result<()> {
    let (test_env, cloud) = test_env().await?;
    let _running = CONTROLLER.read().await;
    let names = ["a", "b", "other"];
    for name in names {
        let labels = json!({"kraken-iac.eoinfennessy.com/disruption-group": if name == "other" { "db" } else { "web" }});
        test_env.apply(&instance(name, 1, ", lifecycle: {disruption: Allow}")).await?;
        test_env.patch("EC2Instance", name, json!({"metadata": {"labels": labels}})).await?;
    }
    let mut ids = vec![];
    for name in names {
        test_env.ready("EC2Instance", name).await?;
        ids.push(alive(&test_env, &cloud, name)[0].id.clone());
    }
    let larger = json!({"instanceType": {"value": "t2.large"}});
    for name in ["a", "b"] {
        set(&test_env, name, larger.clone()).await?;
    }
    // Whichever is stopped first, the other one waits for it, and for a pause in which it gets healthy again.
    let stops = |id: &String| calls(&cloud, "StopInstances", id);
    let limit = Instant::now() + TIMEOUT;
    while ids[..2].iter().all(|id| stops(id) == 0) {
        ensure!(Instant::now() < limit, "neither was stopped");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (first, second) = if stops(&ids[0]) > 0 { (0, 1) } else { (1, 0) };
    test_env.ready("EC2Instance", names[first]).await?;
    let waits = format!("EC2Instance {} ", names[first]);
    let message =
        |object: &Value| condition(object, "Ready")["message"].as_str().unwrap_or_default().to_owned();
    let waiting = "one resource of a disruption group is stopped at a time";
    let object =
        test_env.until("EC2Instance", names[second], |object| message(object).contains(waiting)).await?;
    assert!(message(&object).contains(&waits), "{}", message(&object));
    assert_eq!(stops(&ids[second]), 0, "{}", message(&object));
    // One of another group does not wait.
    set(&test_env, "other", larger).await?;
    test_env
        .until("EC2Instance", "other", |object| {
            assert!(!message(object).contains(waiting), "{}", message(object));
            let ready = condition(object, "Ready");
            ready["status"] == "True" && ready["observedGeneration"] == object["metadata"]["generation"]
        })
        .await?;
    assert_eq!(alive(&test_env, &cloud, "other")[0].instance_type, "t2.large");
    Ok(())
}
