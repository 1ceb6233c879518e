//! The simulator with the real EC2Instance controller and AWS's own SDK.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kraken_simulator::{FailureMode, FailurePoint, InstanceRecord, Outcome, Simulator, SimulatorOptions};
use kraken_testing::{ControlPlane, Moto, Suite, SuiteOptions, TestNamespace, manifests, namespace};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

struct TestEnv {
    // The controllers are dropped first, while their servers still respond.
    _suite: Suite,
    _control_plane: ControlPlane,
    simulator: Simulator,
    namespace: TestNamespace,
}

impl TestEnv {
    async fn start(options: SimulatorOptions) -> Result<Self> {
        let simulator = Simulator::start(options)?;
        let control_plane = ControlPlane::start().await?;
        let options = SuiteOptions {
            only: Some(vec!["aws-ec2-instance".to_owned(), "hub".to_owned()]),
            cloud_endpoint: Some(simulator.endpoint().to_owned()),
            ..SuiteOptions::default()
        };
        // The suite requires a moto server, which these tests do not call.
        let suite = Suite::start(&control_plane, Moto::shared().await?, options).await?;
        let namespace = namespace(&control_plane.client().await?).await?;
        Ok(Self { _suite: suite, _control_plane: control_plane, simulator, namespace })
    }

    fn api(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("aws.kraken-iac.eoinfennessy.com", "v1alpha1", "EC2Instance");
        let resource = ApiResource::from_gvk(&kind);
        Api::namespaced_with(self.namespace.client.clone(), &self.namespace.name, &resource)
    }

    async fn apply(&self, spec: &Value) -> Result<()> {
        let object = json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "EC2Instance",
            "metadata": {"name": "a"}, "spec": spec,
        });
        let documents = manifests::parse("the test's resource", &object.to_string())?;
        manifests::apply(&self.namespace.client, &documents, &self.namespace.name).await.map(drop)
    }

    async fn patch(&self, spec: Value) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.api().patch("a", &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Waits until the resource is ready and the live instances are the expected ones.
    async fn ready(&self, wanted: impl Fn(&[InstanceRecord]) -> bool) -> Result<Vec<InstanceRecord>> {
        let started = Instant::now();
        loop {
            let object = self.api().get("a").await?;
            let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().any(|condition| {
                condition["type"] == "Ready"
                    && condition["status"] == "True"
                    && condition["observedGeneration"] == json!(object.metadata.generation)
            });
            let alive = self.alive();
            if ready && wanted(&alive) {
                return Ok(alive);
            }
            if started.elapsed() > Duration::from_mins(1) {
                let calls = self.simulator.journal();
                bail!("not as expected: {alive:#?}\n{}\n{calls:#?}", serde_json::to_string_pretty(&object)?);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn alive(&self) -> Vec<InstanceRecord> {
        self.simulator.instances().into_iter().filter(|record| record.instance.is_alive()).collect()
    }

    async fn delete(&self) -> Result<()> {
        self.api().delete("a", &DeleteParams::default()).await?;
        let started = Instant::now();
        while self.api().get_opt("a").await?.is_some() {
            if started.elapsed() > Duration::from_mins(1) {
                bail!("it is not deleted: {:#?}", self.simulator.journal());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

fn tag<'a>(record: &'a InstanceRecord, key: &str) -> Option<&'a str> {
    record.instance.tags.get(key).map(String::as_str)
}

#[tokio::test]
async fn the_controller_takes_the_simulator_for_aws() -> Result<()> {
    let env = TestEnv::start(SimulatorOptions::default()).await?;
    let spec = json!({
        "imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": "t3.micro"},
        "minCount": {"value": 1}, "maxCount": {"value": 1}, "tags": {"Team": "web"},
        "userData": {"value": "#!/bin/sh\necho <hello> & \"bye\"\n"},
        "rootVolume": {"value": {"sizeGiB": 8}}, "associatePublicIPAddress": {"value": false},
    });
    env.apply(&spec).await?;
    let alive = env.ready(|alive| alive.len() == 1).await?;
    assert_eq!(tag(&alive[0], "Team"), Some("web"));
    assert!(alive[0].token.as_ref().is_some_and(|token| !token.is_empty()), "{alive:?}");

    env.patch(json!({"maxCount": {"value": 3}})).await?;
    env.ready(|alive| alive.len() == 3).await?;
    env.patch(json!({"tags": {"Team": "shop", "New": "a & b"}, "monitoring": {"value": true}})).await?;
    let changed =
        |record: &InstanceRecord| tag(record, "Team") == Some("shop") && tag(record, "New") == Some("a & b");
    env.ready(|alive| alive.iter().all(changed)).await?;
    env.patch(json!({"tags": {"New": null}, "maxCount": {"value": 1}})).await?;
    let left = env.ready(|alive| alive.len() == 1 && tag(&alive[0], "New").is_none()).await?;
    assert_eq!(left[0].instance.id, alive[0].instance.id, "the newest are deleted first");

    env.delete().await?;
    assert!(env.alive().is_empty());
    let journal = env.simulator.journal();
    let refused: Vec<_> = journal.iter().filter(|call| call.outcome != Outcome::Done).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let launches = journal.iter().filter(|call| call.action == "RunInstances");
    assert_eq!(launches.map(|call| call.ids.len()).sum::<usize>(), 3);
    for action in
        ["DescribeImages", "DescribeInstanceAttribute", "MonitorInstances", "DeleteTags", "CreateTags"]
    {
        assert!(env.simulator.count(action) > 0, "{action} was never called");
    }
    let first = journal.first().context("a call")?;
    assert!(!first.action.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_lost_response_and_lagging_reads_launch_nothing_twice() -> Result<()> {
    let lag = Duration::from_millis(1500);
    let env =
        TestEnv::start(SimulatorOptions { describe_lag: lag, tag_lag: lag, ..SimulatorOptions::default() })
            .await?;
    // The SDK repeats a call once: after two lost responses, the controller does not know the result.
    env.simulator.fail_next("RunInstances", FailurePoint::After, FailureMode::Drop);
    env.simulator.fail_next(
        "RunInstances",
        FailurePoint::After,
        FailureMode::error(500, "InternalError", "lost"),
    );
    let spec = json!({
        "imageID": {"value": "ami-12c6146b"}, "instanceType": {"value": "t3.micro"},
        "minCount": {"value": 2}, "maxCount": {"value": 2},
    });
    env.apply(&spec).await?;
    let alive = env.ready(|alive| alive.len() == 2).await?;
    assert_eq!(env.simulator.instances().len(), 2, "{alive:#?}");
    assert_eq!(env.simulator.pending_failures(), 0);
    env.delete().await?;
    assert!(env.alive().is_empty() && env.simulator.instances().len() == 2);
    Ok(())
}
