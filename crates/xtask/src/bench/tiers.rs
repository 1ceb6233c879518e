//! `bench tiers`: a hundred web tiers on the simulator, each in its own namespace, applied and deleted in random order
//! within each.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Namespace;
use kraken_api::{StateDeclaration, StateDeclarationSpec};
use kraken_simulator::{Outcome, Simulator};
use kraken_testing::manifests::{self, Document, Kinds};
use kraken_testing::{Environment, paths};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use super::report::{number_of, print_writes};
use super::tally::Tally;
use super::{SETTLE, row, with_simulator};
use crate::board::{Board, View};
use crate::ui;

const SAMPLES: &str = "config/samples/web-tier";
/// The number of clients that apply and delete in parallel.
const CLIENTS: usize = 16;
/// The number of plain writes that measure the API server's speed.
const PLAIN_WRITES: usize = 2000;
const WRITES_PER_RESOURCE: f64 = 6.0;

#[derive(Args)]
pub(crate) struct Tiers {
    /// How many web tiers of 12 resources.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    n: u16,
    /// The timeout until all are Ready, and until all are deleted.
    #[arg(long, default_value = "15m", value_parser = humantime::parse_duration)]
    timeout: Duration,
}

struct Setting {
    environment: Environment,
    simulator: Simulator,
    client: Client,
    board: Board,
    /// The samples without objects that Kraken does not reconcile.
    samples: Vec<Document>,
    kinds: Kinds,
    timeout: Duration,
}

/// Measures, and reports missed targets.
pub(crate) async fn run(tiers: Tiers) -> Result<ExitCode> {
    let mut setting = Setting::new(&tiers).await?;
    // The first one includes one-time work.
    for what in ["warming up with one tier", "measuring one tier alone"] {
        let name = [what.replace(' ', "-")];
        ui::step(what, setting.alone(&name)).await?;
    }
    let chain = setting.alone(&["chain".to_owned()]).await?;
    let speed = ui::step("measuring the API server with plain writes", setting.plain_writes()).await?;

    let namespaces: Vec<String> = (0..tiers.n).map(|number| format!("tier-{number:03}")).collect();
    setting.make(&namespaces).await?;
    setting.simulator.clear_journal();
    let before = setting.environment.control_plane.writes()?.len();
    let resources = setting.resources() * namespaces.len();
    let what = format!("applying {} tiers of {} resources", namespaces.len(), setting.resources());
    let started = Instant::now();
    ui::step(&what, setting.apply(&namespaces)).await?;
    ui::step("waiting until all are Ready", setting.ready(resources)).await?;
    let took = started.elapsed();
    tokio::time::sleep(SETTLE).await;
    let writes = setting.environment.control_plane.writes()?;
    let tally = Tally::of(writes.get(before..).unwrap_or_default());
    let calls = setting.calls();

    let deleting = Instant::now();
    ui::step("deleting all of it", setting.delete(&namespaces)).await?;
    let gone_after = deleting.elapsed();
    let violations = setting.refused_deletions();

    let applied = resources + namespaces.len();
    let server = number_of(tally.total + applied as u64) / speed;
    let bound = 3.0 * chain.as_secs_f64() + server;
    // One event per resource reports it as in place; events of actions on the cloud are not counted.
    let of_actions = tally.events.saturating_sub(resources as u64);
    let per_resource = number_of(tally.total.saturating_sub(of_actions)) / number_of(resources as u64);
    ui::headline(&format!("{} web tiers, {resources} resources", tiers.n));
    print!("{}", ui::table(&["call", "number"], calls.iter().map(|(name, n)| [name.clone(), n.to_string()])));
    println!("Writes to Kubernetes, by our service accounts");
    print_writes(&tally, resources as u64);
    for call in &violations {
        println!("refused: {call}");
    }
    println!(
        "one tier alone {:.1} s; plain writes {speed:.0}/s; all deleted after {:.1} s",
        chain.as_secs_f64(),
        gone_after.as_secs_f64()
    );
    let rows = [
        row("writes to Kubernetes per resource", per_resource, WRITES_PER_RESOURCE),
        row("seconds until all are Ready", took.as_secs_f64(), bound),
        row("deletions that the cloud rejected", number_of(violations.len() as u64), 0.0),
    ];
    print!("{}", ui::table(&["", "measured", "target", ""], rows));
    let kept = per_resource <= WRITES_PER_RESOURCE && took.as_secs_f64() <= bound && violations.is_empty();
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Setting {
    async fn new(tiers: &Tiers) -> Result<Self> {
        let (simulator, environment) = with_simulator("1h").await?;
        let client = environment.control_plane.client().await?;
        let mut samples = manifests::read(&paths::workspace_root()?.join(SAMPLES))?;
        samples.retain(|sample| sample.gvk.kind != "Deployment");
        let mut followed: Vec<_> =
            samples.iter().filter(|s| !s.gvk.group.is_empty()).map(|s| s.gvk.clone()).collect();
        followed.sort_by(|a, b| a.kind.cmp(&b.kind));
        followed.dedup();
        let board = Board::start(&client, None, &followed, |_| ());
        let kinds = Kinds::of(&client, &samples).await?;
        Ok(Self { environment, simulator, client, board, samples, kinds, timeout: tiers.timeout })
    }

    /// How many of a tier's objects are Kraken's.
    fn resources(&self) -> usize {
        self.samples.iter().filter(|sample| !sample.gvk.group.is_empty()).count()
    }

    async fn make(&self, namespaces: &[String]) -> Result<()> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        for name in namespaces {
            let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
            api.create(&PostParams::default(), &namespace).await.context("cannot create a namespace")?;
        }
        Ok(())
    }

    /// All objects of all namespaces: one tier after the other, like users apply them, each in a fixed order that is
    /// independent of the references.
    fn shuffled<'a>(&'a self, namespaces: &'a [String]) -> Vec<(&'a String, &'a Document)> {
        let mut all: Vec<_> = namespaces
            .iter()
            .flat_map(|name| self.samples.iter().map(move |sample| (name, sample)))
            .collect();
        all.sort_by_key(|(namespace, sample)| {
            let hash = |text: &str| {
                text.bytes()
                    .fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()).rotate_left(7))
            };
            (hash(namespace), hash(&format!("{namespace}/{}/{}", sample.name, sample.gvk.kind)))
        });
        all
    }

    async fn apply(&self, namespaces: &[String]) -> Result<()> {
        futures::stream::iter(self.shuffled(namespaces))
            .map(|(namespace, sample)| async move {
                let api = self.kinds.known(&self.client, sample, namespace)?;
                manifests::apply_one(&api, sample).await.map(drop)
            })
            .buffer_unordered(CLIENTS)
            .try_collect()
            .await
    }

    async fn ready(&mut self, resources: usize) -> Result<()> {
        let all = |views: &[View]| views.iter().filter(|view| view.is_ready()).count() == resources;
        self.board.wait("all being Ready", Instant::now() + self.timeout, all).await
    }

    async fn delete(&mut self, namespaces: &[String]) -> Result<()> {
        let (client, kinds) = (&self.client, &self.kinds);
        futures::stream::iter(self.shuffled(namespaces))
            .map(|(namespace, sample)| async move {
                manifests::delete_one(&kinds.known(client, sample, namespace)?, sample).await
            })
            .buffer_unordered(CLIENTS)
            .try_collect::<()>()
            .await?;
        self.board
            .wait("the deletion of all resources", Instant::now() + self.timeout, <[View]>::is_empty)
            .await
    }

    /// One tier from apply to Ready: the longest chain of references, without other load.
    async fn alone(&mut self, namespace: &[String; 1]) -> Result<Duration> {
        self.make(namespace).await?;
        let started = Instant::now();
        self.apply(namespace).await?;
        self.ready(self.resources()).await?;
        let took = started.elapsed();
        self.delete(namespace).await?;
        Ok(took)
    }

    /// Writes per second of the API server without Kraken: custom resources of the size of a VPC's state, to which nothing
    /// refers.
    async fn plain_writes(&self) -> Result<f64> {
        let api: &Api<StateDeclaration> = &Api::namespaced(self.client.clone(), "default");
        let started = Instant::now();
        futures::stream::iter(0..PLAIN_WRITES)
            .map(|number| async move {
                let name = format!("plain-{}", number % 200);
                let vpc = json!({
                    "VpcId": format!("vpc-{number:017x}"), "CidrBlock": "10.0.0.0/16", "State": "available",
                    "OwnerId": "123456789012", "IsDefault": false, "InstanceTenancy": "default",
                    "CidrBlockAssociationSet": [{"AssociationId": "vpc-cidr-assoc-1", "CidrBlock": "10.0.0.0/16"}],
                    "Tags": {"Name": "web", "kraken-iac.eoinfennessy.com/owner": format!("VPC/default/{name}")},
                });
                let spec = StateDeclarationSpec { data: json!({"vpc": vpc}), id: None, withheld: vec![] };
                let state = StateDeclaration::new(&name, spec);
                let params = PatchParams::apply("bench").force();
                api.patch(&name, &params, &Patch::Apply(&state)).await.map(drop)
            })
            .buffer_unordered(CLIENTS)
            .try_collect::<()>()
            .await?;
        Ok(number_of(PLAIN_WRITES as u64) / started.elapsed().as_secs_f64())
    }

    fn calls(&self) -> BTreeMap<String, u64> {
        let mut calls = BTreeMap::new();
        for call in self.simulator.journal() {
            *calls.entry(call.action).or_default() += 1;
        }
        calls
    }

    /// The calls that were made too early.
    fn refused_deletions(&self) -> Vec<String> {
        let refused = |outcome: &Outcome| matches!(outcome, Outcome::Refused(code) if code == "DependencyViolation" || code == "ResourceInUse");
        let calls = self.simulator.journal();
        let calls = calls.iter().filter(|call| refused(&call.outcome));
        calls.map(|call| format!("{} {}", call.action, call.parameters)).collect()
    }
}
