//! EC2 instances on the simulator, with limited capacity and instance states: scaling, replacement, changes. All tests
//! share one control plane.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kraken_simulator::{FailureMode, FailurePoint, Instance, Simulator, SimulatorOptions};
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::{TestEnv, test_env::TIMEOUT};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::sync::RwLock;

const SPOKE: &str = "aws-ec2-instance";
/// Locked by the test that kills the controller: a launch whose response it does not live to see is waited for longer than other tests
/// wait.
pub(crate) static CONTROLLER: RwLock<()> = RwLock::const_new(());
const OWNER: &str = "kraken-iac.eoinfennessy.com/owner";

/// What these tests share, as the cloud in it.
pub(crate) struct Cloud(Arc<(Arc<Environment>, Simulator)>);

impl Deref for Cloud {
    type Target = Simulator;

    fn deref(&self) -> &Simulator {
        &self.0.1
    }
}

/// A namespace on the control plane of these tests, and their cloud: every launch gets one instance.
pub(crate) async fn test_env() -> Result<(TestEnv, Cloud)> {
    static SHARED: Shared<(Arc<Environment>, Simulator)> = Shared::new();
    let shared = SHARED
        .get(|| async {
            let cloud =
                Simulator::start(SimulatorOptions { per_launch: Some(1), ..SimulatorOptions::default() })?;
            let suite = SuiteOptions {
                only: Some(["hub", SPOKE].map(str::to_owned).to_vec()),
                cloud_endpoint: Some(cloud.endpoint().to_owned()),
                ..SuiteOptions::default()
            };
            let options = EnvironmentOptions { suite, ..EnvironmentOptions::default() };
            anyhow::Ok((Arc::new(Environment::start(options).await?), cloud))
        })
        .await?;
    Ok((TestEnv::on(shared.0.clone()).await?, Cloud(shared)))
}

pub(crate) fn instance(name: &str, count: i64, more: &str) -> String {
    format!(
        "{{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {{name: {name}}}, \
         spec: {{imageID: {{value: ami-12c6146b}}, instanceType: {{value: t2.nano}}, \
         minCount: {{value: 1}}, maxCount: {{value: {count}}}{more}}}}}"
    )
}

/// Every instance that a resource ever launched.
fn ever(test_env: &TestEnv, cloud: &Simulator, name: &str) -> Vec<Instance> {
    let owner = format!("EC2Instance/{}/{name}", test_env.ns.name);
    let all = cloud.instances().into_iter().map(|record| record.instance);
    all.filter(|instance| instance.tags.get(OWNER) == Some(&owner)).collect()
}

pub(crate) fn alive(test_env: &TestEnv, cloud: &Simulator, name: &str) -> Vec<Instance> {
    ever(test_env, cloud, name).into_iter().filter(Instance::is_alive).collect()
}

/// The calls of an action that were about an instance.
pub(crate) fn calls(cloud: &Simulator, action: &str, id: &str) -> usize {
    let journal = cloud.journal();
    journal.iter().filter(|call| call.action == action && call.ids.iter().any(|one| one == id)).count()
}

pub(crate) async fn set(test_env: &TestEnv, name: &str, spec: Value) -> Result<()> {
    test_env.patch("EC2Instance", name, json!({"spec": spec})).await
}

#[tokio::test]
async fn a_type_changes_by_stop_and_start_if_allowed() -> Result<()> {
    let (test_env, cloud) = test_env().await?;
    let _running = CONTROLLER.read().await;
    // An instance that was stopped out of band must not prevent Kraken from starting the one that it stopped.
    test_env.apply(&instance("a", 1, ", lifecycle: {ignoreChanges: [state]}")).await?;
    test_env.ready("EC2Instance", "a").await?;
    let id = alive(&test_env, &cloud, "a")[0].id.clone();
    set(&test_env, "a", json!({"instanceType": {"value": "t2.large"}})).await?;
    let message = test_env.not_ready("EC2Instance", "a", "ImmutableField").await?;
    assert!(message.contains("stop") && message.contains("lifecycle.disruption"), "{message}");
    assert_eq!(calls(&cloud, "StopInstances", &id), 0);

    set(&test_env, "a", json!({"lifecycle": {"disruption": "Allow"}})).await?;
    test_env.ready("EC2Instance", "a").await?;
    let after = alive(&test_env, &cloud, "a").remove(0);
    assert_eq!(
        (after.id.as_str(), after.state.as_str(), after.instance_type.as_str()),
        (&*id, "running", "t2.large")
    );
    for action in ["StopInstances", "ModifyInstanceAttribute", "StartInstances"] {
        assert_eq!(calls(&cloud, action, &id), 1, "{action}");
    }
    assert!(!after.tags.contains_key("kraken-iac.eoinfennessy.com/disruption"), "{:?}", after.tags);

    // A rejected change must neither leave the instance stopped nor stop it repeatedly.
    let refusal = FailureMode::error(400, "InvalidParameterValue", "not on this host");
    cloud.fail_next("ModifyInstanceAttribute", FailurePoint::Before, refusal);
    set(&test_env, "a", json!({"instanceType": {"value": "t2.huge"}})).await?;
    let message = test_env.not_ready("EC2Instance", "a", "ImmutableField").await?;
    assert!(message.contains("AWS rejected it"), "{message}");
    let after = alive(&test_env, &cloud, "a").remove(0);
    assert_eq!((after.state.as_str(), after.instance_type.as_str()), ("running", "t2.large"));
    assert_eq!(calls(&cloud, "StopInstances", &id), 2);
    set(&test_env, "a", json!({"instanceType": {"value": "t2.large"}})).await?;
    test_env.ready("EC2Instance", "a").await?;

    // An invalid type does not stop a running instance.
    cloud.configure(|options| {
        options.instance_types = Some(["t2.nano", "t2.large"].map(str::to_owned).into());
    });
    set(&test_env, "a", json!({"instanceType": {"value": "t2.lagre"}})).await?;
    let message = test_env.not_ready("EC2Instance", "a", "CloudRefused").await?;
    cloud.configure(|options| options.instance_types = None);
    assert!(message.contains("t2.lagre"), "{message}");
    assert_eq!(calls(&cloud, "StopInstances", &id), 2);
    Ok(())
}

#[tokio::test]
async fn an_instance_that_kraken_stopped_is_started_after_a_crash() -> Result<()> {
    let (test_env, cloud) = test_env().await?;
    let _alone = CONTROLLER.write().await;
    test_env.apply(&instance("crash", 1, ", lifecycle: {ignoreChanges: [state], disruption: Allow}")).await?;
    test_env.ready("EC2Instance", "crash").await?;
    let id = alive(&test_env, &cloud, "crash")[0].id.clone();
    // Slow enough to be killed in between.
    cloud.configure(|options| options.stopping = Duration::from_secs(2));
    set(&test_env, "crash", json!({"ebsOptimized": {"value": true}})).await?;
    let started = Instant::now();
    while alive(&test_env, &cloud, "crash")[0].state != "stopping" {
        assert!(started.elapsed() < TIMEOUT, "it is not stopped");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let controller = test_env.env.suite.controller(SPOKE)?;
    controller.kill().await?;
    cloud.configure(|options| options.stopping = Duration::from_millis(50));
    test_env
        .api("EC2Instance")
        .patch("crash", &PatchParams::default(), &Patch::Merge(json!({"spec": {"ebsOptimized": null}})))
        .await?;
    controller.start().await?;
    test_env.ready("EC2Instance", "crash").await?;
    let after = alive(&test_env, &cloud, "crash").remove(0);
    assert_eq!((after.id.as_str(), after.state.as_str()), (&*id, "running"));
    Ok(())
}

#[tokio::test]
async fn an_instance_that_kraken_stopped_is_named_while_paused_and_started_with_an_invalid_spec() -> Result<()>
{
    let (test_env, cloud) = test_env().await?;
    let _running = CONTROLLER.read().await;
    test_env.apply(&instance("halfway", 1, "")).await?;
    test_env.ready("EC2Instance", "halfway").await?;
    let id = alive(&test_env, &cloud, "halfway")[0].id.clone();
    set(&test_env, "halfway", json!({"lifecycle": {"paused": true}})).await?;
    test_env.not_ready("EC2Instance", "halfway", "Paused").await?;
    // The state if Kraken is paused between the stop and the change.
    cloud.tag_out_of_band(&id, "kraken-iac.eoinfennessy.com/disruption", Some("stop"))?;
    cloud.stop_out_of_band(&id)?;
    set(
        &test_env,
        "halfway",
        json!({"lifecycle": {"paused": true, "protect": false, "resyncInterval": "1h"}}),
    )
    .await?;
    let is_stopped = |object: &Value| {
        let message =
            kraken_tests::test_env::condition(object, "Ready")["message"].as_str().unwrap_or_default();
        message.contains(&id) && message.contains("stopped for a change")
    };
    test_env.until("EC2Instance", "halfway", is_stopped).await?;
    assert_eq!(calls(&cloud, "StartInstances", &id), 0, "no object of a paused resource is changed");

    let absent = json!({"value": null, "valueFrom": {"configMap": {"name": "absent", "key": "type"}}});
    set(&test_env, "halfway", json!({"instanceType": absent, "lifecycle": {"paused": false}})).await?;
    test_env.not_ready("EC2Instance", "halfway", "DependenciesNotReady").await?;
    let started = Instant::now();
    while alive(&test_env, &cloud, "halfway")[0].state != "running" {
        assert!(started.elapsed() < TIMEOUT, "it is not started");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    test_env.event("halfway", |_, note| note.contains("cannot be made now")).await?;
    set(&test_env, "halfway", json!({"instanceType": {"value": "t2.nano", "valueFrom": null}})).await?;
    test_env.ready("EC2Instance", "halfway").await?;
    let after = alive(&test_env, &cloud, "halfway").remove(0);
    assert!(!after.tags.contains_key("kraken-iac.eoinfennessy.com/disruption"), "{:?}", after.tags);
    Ok(())
}

#[tokio::test]
async fn a_profile_changes_in_place_and_a_removed_key_is_reported() -> Result<()> {
    let (test_env, cloud) = test_env().await?;
    let _running = CONTROLLER.read().await;
    test_env.apply(&instance("a", 1, ", keyName: {value: ops}, iamInstanceProfile: {value: web}")).await?;
    test_env.ready("EC2Instance", "a").await?;
    let id = alive(&test_env, &cloud, "a")[0].id.clone();
    let profile = async || {
        let state = test_env.get("StateDeclaration", "ec2instance.aws.a").await?;
        anyhow::Ok(state["spec"]["data"]["instances"][0]["IamInstanceProfile"]["Arn"].clone())
    };
    for (name, arn) in [("db", json!("arn:aws:iam::123456789012:instance-profile/db")), ("", Value::Null)] {
        set(&test_env, "a", json!({"iamInstanceProfile": {"value": name}})).await?;
        test_env.ready("EC2Instance", "a").await?;
        assert_eq!(profile().await?, arn);
    }
    assert_eq!(calls(&cloud, "StopInstances", &id), 0);

    set(&test_env, "a", json!({"keyName": null})).await?;
    let message = test_env.not_ready("EC2Instance", "a", "ImmutableField").await?;
    assert!(message.contains("spec.keyName") && message.contains("at creation only"), "{message}");
    set(&test_env, "a", json!({"keyName": {"value": "ops"}, "rootVolume": {"value": {"sizeGiB": 20}}}))
        .await?;
    let message = test_env.not_ready("EC2Instance", "a", "ImmutableField").await?;
    assert!(message.contains("spec.rootVolume"), "{message}");
    assert_eq!(alive(&test_env, &cloud, "a")[0].id, id);
    Ok(())
}

#[tokio::test]
async fn kubectl_scale_sets_the_number_down_to_none() -> Result<()> {
    let (test_env, cloud) = test_env().await?;
    let _running = CONTROLLER.read().await;
    let api = test_env.api("EC2Instance");
    test_env.apply(&instance("a", 1, "")).await?;
    test_env.ready("EC2Instance", "a").await?;
    let scale = async |replicas: i32| {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        api.patch_scale("a", &PatchParams::default(), &patch).await
    };
    scale(3).await?;
    let object = test_env.ready("EC2Instance", "a").await?;
    assert_eq!((&object["status"]["replicas"], alive(&test_env, &cloud, "a").len()), (&json!(3), 3));
    scale(0).await?;
    let object = test_env.ready("EC2Instance", "a").await?;
    assert_eq!((&object["status"]["replicas"], alive(&test_env, &cloud, "a").len()), (&json!(0), 0));

    let dependent = instance(
        "b",
        1,
        ", privateIPAddress: {valueFrom: {krakenResource: {kind: ec2instance, name: a, \
         path: instances.0.PrivateIpAddress}}}",
    );
    test_env.apply(&dependent).await?;
    let message = test_env.not_ready("EC2Instance", "b", "DependenciesNotReady").await?;
    assert!(message.contains("instances.0"), "{message}");

    scale(1).await?;
    test_env.ready("EC2Instance", "a").await?;
    assert_eq!(api.get_scale("a").await?.status.context("a scale without a status")?.replicas, 1);

    let too_many = scale(501).await.unwrap_err().to_string();
    assert!(too_many.contains("maxCount"), "{too_many}");
    test_env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: sizes}, data: {count: '1'}}").await?;
    let from =
        json!({"maxCount": {"value": null, "valueFrom": {"configMap": {"name": "sizes", "key": "count"}}}});
    set(&test_env, "a", from).await?;
    test_env.ready("EC2Instance", "a").await?;
    let refusal = scale(2).await.unwrap_err().to_string();
    assert!(refusal.contains("maxCount"), "{refusal}");
    assert_eq!(alive(&test_env, &cloud, "a").len(), 1);
    Ok(())
}

#[tokio::test]
async fn adopting_an_instance_does_not_change_its_metadata_service() -> Result<()> {
    let (test_env, cloud) = test_env().await?;
    let _running = CONTROLLER.read().await;
    let id = cloud.launch_out_of_band("ami-12c6146b", "t2.nano", &[])?;
    test_env.apply(&instance("a", 1, &format!(", lifecycle: {{adopt: {{id: {id}}}}}"))).await?;
    test_env.ready("EC2Instance", "a").await?;
    assert_eq!(calls(&cloud, "ModifyInstanceMetadataOptions", &id), 0);
    Ok(())
}

#[tokio::test]
async fn a_replacement_with_limited_capacity_never_exceeds_the_explained_number() -> Result<()> {
    let (test_env, cloud) = test_env().await?;
    let _running = CONTROLLER.read().await;
    test_env.apply(&instance("a", 2, ", lifecycle: {replace: CreateFirst}")).await?;
    test_env.ready("EC2Instance", "a").await?;
    assert_eq!(alive(&test_env, &cloud, "a").len(), 2);
    set(&test_env, "a", json!({"imageID": {"value": "ami-0b301ce3ce3475b4f"}})).await?;
    test_env.ready("EC2Instance", "a").await?;
    let left = alive(&test_env, &cloud, "a");
    assert!(left.len() == 2 && left.iter().all(|one| one.image_id == "ami-0b301ce3ce3475b4f"), "{left:?}");
    // Two old and two new instances, and never more.
    assert_eq!(ever(&test_env, &cloud, "a").len(), 4);
    Ok(())
}
