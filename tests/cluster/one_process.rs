//! All controllers of AWS in one process: what differs from a process for each, and moves between the two.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::{Context as _, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kraken_testing::{Environment, EnvironmentOptions, Suite, SuiteOptions, paths, suite};
use kraken_tests::TestEnv;
use kube::Api;
use serde_json::Value;

const PROCESS: &str = "aws-all";
const SPOKE: &str = "aws-vpc";

const VPC: &str = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: VPC
metadata: {name: net}
spec: {cidrBlock: {value: 10.7.0.0/16}}
";
const SUBNET: &str = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: Subnet
metadata: {name: net}
spec: {vpcID: {valueFrom: {ref: VPC/net}}, cidrBlock: {value: 10.7.1.0/24}}
";
const QUEUE: &str = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: Queue
metadata: {name: jobs}
spec: {}
";

fn only(controllers: &[&str]) -> SuiteOptions {
    let names = controllers.iter().map(|name| (*name).to_owned()).collect();
    SuiteOptions { only: Some(names), ..SuiteOptions::default() }
}

/// The identity that holds the lease of the spoke.
async fn holder(test_env: &TestEnv) -> Result<String> {
    let leases: Api<Lease> = Api::namespaced(test_env.client(), suite::NAMESPACE);
    let lease = leases.get(&format!("kraken-{SPOKE}")).await?;
    lease.spec.and_then(|spec| spec.holder_identity).context("the lease has no holder")
}

#[tokio::test]
async fn controllers_move_into_one_process_and_back_without_a_second_object() -> Result<()> {
    let options = EnvironmentOptions { suite: only(&["hub", SPOKE]), ..EnvironmentOptions::default() };
    let env = Arc::new(Environment::start(options).await?);
    let test_env = TestEnv::on(env.clone()).await?;
    test_env.apply(VPC).await?;
    let before = test_env.ready("VPC", "net").await?;
    let own_process = holder(&test_env).await?;

    // The process starts while the separate controller still works: it takes the leases that are free, and waits for the other one.
    suite::bind(&env.control_plane, "config/overlays/one-process").await?;
    let all = Suite::start_installed(&env.control_plane, &env.moto, only(&[PROCESS])).await?;
    let process = all.controller(PROCESS)?;
    test_env.apply(QUEUE).await?;
    test_env.ready("Queue", "jobs").await?;
    assert_eq!(holder(&test_env).await?, own_process);
    env.suite.controller(SPOKE)?.terminate().await?;
    // Its account has lost its rights, so that it cannot release its lease, which expires.
    let of_aws = paths::controllers()?.into_iter().filter(|name| name.starts_with("aws-"));
    let leads: Vec<String> =
        of_aws.map(|name| format!("kraken_leader{{lease=\"kraken-{name}\"}} 1")).collect();
    process.until("/metrics", |answer| leads.iter().all(|line| answer.body.contains(line))).await?;
    test_env.apply(SUBNET).await?;
    test_env.ready("Subnet", "net").await?;
    let moved = test_env.ready("VPC", "net").await?;
    assert_eq!(moved["status"]["externalIds"], before["status"]["externalIds"]);
    assert_eq!(managers(&moved), managers(&before));
    assert!(!process.log_text()?.to_lowercase().contains("forbidden"), "{}", process.log_text()?);

    // And back.
    process.terminate().await?;
    suite::bind(&env.control_plane, "config/default").await?;
    env.suite.controller(SPOKE)?.start().await?;
    test_env.apply(&VPC.replace("spec: {", "spec: {enableDNSHostnames: {value: true}, ")).await?;
    let is_observed = |vpc: &Value| vpc["status"]["observedGeneration"] == 2;
    let back = test_env.until("VPC", "net", is_observed).await?;
    assert_eq!(back["status"]["externalIds"], before["status"]["externalIds"]);
    assert_eq!(managers(&back), managers(&before));
    assert_eq!(test_env.in_cloud("DescribeVpcs", "vpcSet").await?.len(), 1);
    Ok(())
}

/// The field managers of an object.
fn managers(object: &Value) -> BTreeSet<&str> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter_map(|entry| entry["manager"].as_str()).collect()
}
