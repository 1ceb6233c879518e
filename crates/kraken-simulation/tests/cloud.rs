//! AWS's SDK on the simulator, in one thread, without sockets and in virtual time.
#![allow(clippy::unwrap_used)] // a panic fails the test

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Result;
use kraken_aws::{Aws, AwsArgs, injected};
use kraken_kind::{FailureClass, runtime::metrics::Metrics};
use kraken_simulator::{
    FailureMode, FailurePoint, Kind, Simulator, SimulatorOptions,
    hook::{Answer, Call, Hook, HookAction},
};

/// Writes down every call and gives the orders that are prepared.
#[derive(Default)]
struct Gate {
    seen: Mutex<Vec<String>>,
    before: Mutex<Vec<HookAction>>,
    after: Mutex<Vec<HookAction>>,
}

impl Hook for Gate {
    async fn before(&self, call: &Call) -> HookAction {
        self.seen.lock().unwrap().push(call.name.clone());
        self.before.lock().unwrap().pop().unwrap_or(HookAction::Pass)
    }

    async fn after(&self, _: &Call, _: &Answer) -> HookAction {
        self.after.lock().unwrap().pop().unwrap_or(HookAction::Pass)
    }
}

fn simulator(account: &str, region: &str) -> Simulator {
    let options = SimulatorOptions { account: account.into(), region: region.into(), ..Default::default() };
    Simulator::in_process(options)
}

async fn aws(simulator: &Simulator, gate: &Arc<Gate>) -> Aws {
    let args = AwsArgs {
        aws_region: Some("eu-west-1".into()),
        http_client: Some(simulator.connector(Arc::clone(gate))),
        ..AwsArgs::default()
    };
    Aws::connect(&args, Metrics::new("test")).await
}

async fn create_vpc(aws: &Aws) -> Result<String, kraken_kind::Failure> {
    let call = aws.ec2_once().create_vpc().cidr_block("10.0.0.0/16");
    let made = aws.call("CreateVpc", "failed to create a VPC", call.send()).await?;
    Ok(made.vpc.and_then(|vpc| vpc.vpc_id).unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn the_signature_of_a_call_determines_its_cloud() -> Result<()> {
    let clouds = ["us-east-1", "eu-west-1"].map(|region| Arc::new(simulator("111111111111", region)));
    let (route, gate) = (clouds.clone(), Arc::new(Gate::default()));
    let client = Simulator::routed(move |key, region| {
        assert_eq!(key, "simulated");
        (Arc::clone(&route[usize::from(region == "eu-west-1")]), Arc::clone(&gate))
    });
    let region = Some("eu-west-1".into());
    let args = AwsArgs { aws_region: region, http_client: Some(client), ..AwsArgs::default() };
    let aws = Aws::connect(&args, Metrics::new("test")).await;
    assert_eq!(aws.location().await?.region, "eu-west-1");
    create_vpc(&aws).await?;
    assert_eq!(clouds.map(|cloud| cloud.objects(Kind::Vpc).len()), [0, 1]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_sdk_calls_a_simulator_in_its_own_process() -> Result<()> {
    let (simulator, gate) = (simulator("111111111111", "eu-west-1"), Arc::new(Gate::default()));
    let aws = aws(&simulator, &gate).await;
    let place = aws.location().await?;
    assert_eq!((&*place.account, &*place.region), ("111111111111", "eu-west-1"));
    let id = create_vpc(&aws).await?;
    assert_eq!(simulator.objects(Kind::Vpc)[0].id, id);
    let zones = aws.ec2().describe_availability_zones().send().await?;
    let zones = zones.availability_zones();
    assert_eq!((zones[0].zone_name(), zones[0].zone_id()), (Some("eu-west-1a"), Some("euw1-az6")));
    assert_eq!(*gate.seen.lock().unwrap(), ["GetCallerIdentity", "CreateVpc", "DescribeAvailabilityZones"]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn two_accounts_have_no_id_in_common() -> Result<()> {
    let gate = Arc::new(Gate::default());
    let (one, other) = (simulator("111111111111", "eu-west-1"), simulator("222222222222", "eu-west-1"));
    assert_ne!(create_vpc(&aws(&one, &gate).await).await?, create_vpc(&aws(&other, &gate).await).await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_hook_decides_before_and_after_the_effect() -> Result<()> {
    let (simulator, gate) = (simulator("111111111111", "eu-west-1"), Arc::new(Gate::default()));
    let aws = aws(&simulator, &gate).await;
    for action in [HookAction::Drop, HookAction::Refuse(500)] {
        gate.before.lock().unwrap().push(action);
        assert_eq!(create_vpc(&aws).await.unwrap_err().class, FailureClass::Transient);
    }
    assert!(simulator.objects(Kind::Vpc).is_empty());
    gate.after.lock().unwrap().push(HookAction::Drop);
    assert_eq!(create_vpc(&aws).await.unwrap_err().class, FailureClass::Transient);
    assert_eq!(simulator.objects(Kind::Vpc).len(), 1, "the effect stays");
    gate.before.lock().unwrap().push(HookAction::Refuse(429));
    assert_eq!(create_vpc(&aws).await.unwrap_err().class, FailureClass::Throttled);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_moves_the_cloud_and_the_pace_of_the_sdk() -> Result<()> {
    injected::seed(7);
    let (simulator, gate) = (simulator("111111111111", "eu-west-1"), Arc::new(Gate::default()));
    simulator.configure(|options| options.pending = Duration::from_mins(10));
    let aws = aws(&simulator, &gate).await;
    let launch = aws.ec2_once().run_instances().image_id("ami-12c6146b").min_count(1).max_count(1);
    aws.call("RunInstances", "failed to launch", launch.send()).await?;
    assert_eq!(simulator.instances()[0].instance.state, "pending");
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(simulator.instances()[0].instance.state, "running");

    // A throttled read is repeated after a while of virtual time; a call that takes forever ends at its time limit.
    simulator.fail_next("DescribeVpcs", FailurePoint::Before, FailureMode::throttled());
    let before = tokio::time::Instant::now();
    aws.call("DescribeVpcs", "failed to describe VPCs", aws.ec2().describe_vpcs().send()).await?;
    assert!(before.elapsed() > Duration::ZERO);
    simulator.fail_always("DescribeVpcs", FailurePoint::Before, FailureMode::Delay(Duration::from_hours(1)));
    let failed = aws.call("DescribeVpcs", "failed to describe VPCs", aws.ec2().describe_vpcs().send()).await;
    assert_eq!(failed.unwrap_err().class, FailureClass::Transient);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_calls() -> Result<()> {
    let mut traces = vec![];
    for _ in 0..2 {
        injected::seed(1);
        let (simulator, gate) = (simulator("111111111111", "eu-west-1"), Arc::new(Gate::default()));
        let aws = aws(&simulator, &gate).await;
        for _ in 0..5 {
            simulator.fail_next("DescribeVpcs", FailurePoint::Before, FailureMode::throttled());
            let _ = aws.ec2().describe_vpcs().send().await;
            let launch = aws.ec2_once().run_instances().image_id("ami-12c6146b").min_count(1).max_count(1);
            launch.send().await?;
        }
        let journal = simulator.journal();
        let start = journal[0].at;
        let lines = journal
            .iter()
            .map(|call| format!("{:?} {} {} {:?}", call.at - start, call.action, call.parameters, call.ids));
        traces.push(lines.collect::<Vec<_>>());
    }
    assert_eq!(traces[0], traces[1]);
    Ok(())
}

#[tokio::test(start_paused = true)]
#[ignore = "a measurement"]
async fn how_long_a_client_and_a_call_take() -> Result<()> {
    let (simulator, gate) = (simulator("111111111111", "eu-west-1"), Arc::new(Gate::default()));
    let mut last = aws(&simulator, &gate).await;
    let start = std::time::Instant::now();
    for _ in 0..1000 {
        last = aws(&simulator, &gate).await;
    }
    println!("a client: {:?}", start.elapsed() / 1000);
    for (name, empty) in [("DescribeVpcs of none", true), ("DescribeVpcs of one", false)] {
        if !empty {
            create_vpc(&last).await?;
        }
        let start = std::time::Instant::now();
        for _ in 0..2000 {
            last.call("DescribeVpcs", "failed", last.ec2().describe_vpcs().send()).await?;
        }
        println!("{name}: {:?}", start.elapsed() / 2000);
    }
    let form = [("Action", "DescribeVpcs")];
    let start = std::time::Instant::now();
    for _ in 0..2000 {
        simulator.out_of_band("DescribeVpcs", &form)?;
    }
    println!("without the SDK: {:?}", start.elapsed() / 2000);
    Ok(())
}
