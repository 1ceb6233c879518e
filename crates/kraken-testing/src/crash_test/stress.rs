//! Tests without an injection point: many resources with a throttling cloud, and an outage of the control plane.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hyper::Request;
use kraken_simulator::Limit;
use kube::Client;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;

use super::checks::UID;
use super::desired::Desired;
use super::outage::KilledProgram;
use super::run::{CONVERGED_WITHIN, Run, run_result};
use super::scenario::{Scenario, Step};
use super::settled::ready;
use super::{RunResult, SharedEnvironment};

/// AWS's limits of `RunInstances` and of reads are of this size; with one launch in 2 s, the test would take 400 s.
const LAUNCHES: Limit = Limit { burst: 5.0, per_second: 8.0 };
const OTHERS: Limit = Limit { burst: 10.0, per_second: 5.0 };
const ALL_WITHIN: Duration = Duration::from_mins(2);

/// 200 resources are created and deleted at once, while the cloud rejects most calls with `RequestLimitExceeded`.
pub(super) async fn throttle(
    stage: &SharedEnvironment,
    scenario: &Scenario,
    resources: usize,
) -> Result<RunResult> {
    let started = Instant::now();
    let mut run = Run::start(stage, scenario, None).await?;
    let result = throttled(&run, resources, &wanted(scenario)).await;
    run_result(&mut run, scenario, None, result.map(Some), started).await
}

/// The manifests of a stress test.
fn wanted(scenario: &Scenario) -> Desired {
    let applied = scenario.steps.iter().find_map(|step| match step {
        Step::Apply(desired) => Some(desired.clone()),
        _ => None,
    });
    applied.unwrap_or_default()
}

async fn throttled(run: &Run, resources: usize, desired: &Desired) -> Result<Duration> {
    let (started, objects) = (Instant::now(), run.api("EC2Instance"));
    let Some(manifest) = desired.manifests.first() else { bail!("there is no manifest") };
    run.recorder.cloud.simulator.configure(|options| {
        options.limits = BTreeMap::from([("RunInstances".to_owned(), LAUNCHES), ("*".to_owned(), OTHERS)]);
    });
    for number in 0..resources {
        let mut object = manifest.clone();
        let name = format!("a{number}");
        object["metadata"]["name"] = json!(name);
        let params = PatchParams::apply("crash-test").force();
        objects.patch(&name, &params, &Patch::Apply(object)).await.context("cannot apply")?;
    }
    let list =
        || async { objects.list(&ListParams::default()).await.context("cannot list").map(|list| list.items) };
    loop {
        let objects = list().await?;
        let up = objects.iter().filter(|object| ready(&json!(object))["status"] == "True").count();
        if up == resources {
            break;
        }
        if started.elapsed() > ALL_WITHIN {
            let waiting =
                objects.iter().map(|object| ready(&json!(object))).find(|ready| ready["status"] != "True");
            bail!(
                "{up} of {} are Ready after {} s; one reports {waiting:?}",
                resources,
                ALL_WITHIN.as_secs()
            );
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let calls = run.recorder.cloud.simulator.count("*");
    run.recorder.note(format!("all Ready after {:.1} s, {calls} calls", started.elapsed().as_secs_f64()));
    let alive = run.recorder.cloud.simulator.alive_by_tag(UID);
    if alive.len() != resources || alive.values().any(|live| *live != 1) {
        bail!("{} resources have {} instances", alive.len(), alive.values().sum::<usize>());
    }
    let deleted = Instant::now();
    objects.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    while !list().await?.is_empty() {
        if deleted.elapsed() > ALL_WITHIN {
            bail!("{} still exist {} s after their deletion", list().await?.len(), ALL_WITHIN.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let left = run.recorder.cloud.simulator.alive_by_tag(UID);
    if !left.is_empty() {
        bail!("left behind: {left:?}");
    }
    run.recorder.note(format!("all deleted after {:.1} s more", deleted.elapsed().as_secs_f64()));
    Ok(started.elapsed())
}

/// etcd and kube-apiserver are killed (SIGKILL) during a launch, and restarted. No other test may run at the same time.
pub(super) async fn outage(stage: &mut SharedEnvironment, scenario: &Scenario) -> Result<RunResult> {
    let started = Instant::now();
    let mut run = Run::start(stage, scenario, None).await?;
    let result = async {
        let desired = wanted(scenario);
        run.recorder.bound(scenario.bounds.clone());
        run.recorder.arm();
        run.apply(&desired).await?;
        run.called("cloud RunInstances").await?;
        run.recorder.note("etcd and kube-apiserver are killed");
        for name in ["kube-apiserver", "etcd"] {
            stage.killed.push(KilledProgram::kill(&stage.folder, name)?);
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        for killed in stage.killed.iter_mut().rev() {
            killed.restart()?;
        }
        let back = Instant::now();
        while !is_ready(&stage.client).await {
            if back.elapsed() > ALL_WITHIN {
                bail!("kube-apiserver does not become ready");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        run.recorder.note("they are running again");
        let back = Instant::now();
        run.settle(&desired, Duration::from_mins(1)).await?;
        let took = back.elapsed();
        let nothing = Desired::nothing();
        run.apply(&nothing).await?;
        run.settle(&nothing, CONVERGED_WITHIN).await?;
        Ok(took)
    }
    .await;
    run_result(&mut run, scenario, None, result.map(Some), started).await
}

async fn is_ready(client: &Client) -> bool {
    let Ok(request) = Request::get("/readyz").body(Vec::new()) else { return false };
    client.request_text(request).await.is_ok()
}
