//! `kubectl kraken local`: the real binary, its own control plane and controllers, and moto as AWS.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kraken_testing::process::kill_at_once;
use kraken_testing::{Moto, manifests, moto, paths};
use kube::api::{Api, DynamicObject, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::{sleep, timeout};

const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";
/// Generous: a start after a kill waits for the lease of the former controllers.
const WITHIN: Duration = Duration::from_mins(3);
/// How often everything is killed; 50 by `KRAKEN_LOCAL_KILLS=50`.
const KILLS: usize = 4;

/// One installation on this machine; stopped on drop.
struct Local {
    folder: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

struct Printed {
    code: Option<i32>,
    out: String,
    errors: String,
}

impl Local {
    fn new(moto: &Moto) -> Result<Self> {
        Ok(Self { folder: tempfile::tempdir()?, environment: moto::environment(moto.endpoint()) })
    }

    /// A folder that does not exist before.
    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, line: &str) -> Result<Command> {
        let mut command = Command::new(paths::bin_dir()?.join("kubectl-kraken"));
        command
            .arg("local")
            .args(line.split_whitespace())
            .env("KRAKEN_LOCAL_FOLDER", self.data())
            .env_remove("KUBECONFIG")
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        Ok(command)
    }

    async fn run(&self, line: &str) -> Result<Printed> {
        let output = timeout(WITHIN, self.command(line)?.output()).await.context("it takes too long")??;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed =
            Printed { code: output.status.code(), out: text(&output.stdout), errors: text(&output.stderr) };
        println!("$ kubectl kraken local {line}\n{}{}-> {:?}\n", printed.out, printed.errors, printed.code);
        Ok(printed)
    }

    /// Starts it, and returns a client of its kubeconfig.
    async fn up(&self) -> Result<Client> {
        let printed = self.run("up --only hub,aws-vpc").await?;
        ensure!(printed.code == Some(0) && !printed.errors.contains("its log is"), "{}", printed.errors);
        let line = printed.out.trim();
        let kubeconfig = line.strip_prefix("export KUBECONFIG='").and_then(|rest| rest.strip_suffix('\''));
        let kubeconfig = kubeconfig.with_context(|| format!("{line:?} does not set KUBECONFIG"))?;
        kraken_local::kubeconfig::client(Path::new(kubeconfig)).await
    }

    fn pid_file(&self, process: &str) -> PathBuf {
        self.data().join(format!("{process}.pid"))
    }

    fn pid(&self, process: &str) -> Result<i32> {
        let text = fs::read_to_string(self.pid_file(process))?;
        text.trim().parse().context("a pid file without a number")
    }

    /// The port of etcd's clients, from its command line.
    fn etcd_port(&self) -> Result<u16> {
        let line = fs::read_to_string(format!("/proc/{}/cmdline", self.pid("etcd")?))?;
        let url = line.split('\0').find_map(|arg| arg.strip_prefix("--listen-client-urls="));
        url.and_then(|url| url.rsplit(':').next()?.parse().ok()).context("etcd without a URL")
    }

    /// Whether no process of it runs.
    fn is_down(&self) -> bool {
        let pids = fs::read_dir(self.data()).into_iter().flatten().flatten().filter_map(|entry| {
            let is_pid = entry.path().extension().is_some_and(|extension| extension == "pid");
            is_pid.then(|| fs::read_to_string(entry.path()).ok())?
        });
        let folder = self.data().display().to_string();
        let runs = |pid: String| {
            let line = fs::read_to_string(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
            line.contains(&folder) || line.contains("kraken-")
        };
        !pids.into_iter().any(runs)
    }

    fn supervisor(&self) -> Result<i32> {
        fs::read_to_string(self.data().join("lock"))?.trim().parse().context("a lock without a process id")
    }

    async fn exits(&self, line: &str, code: i32, texts: &[&str]) -> Result<String> {
        let printed = self.run(line).await?;
        ensure!(printed.code == Some(code), "{line}: {:?}", printed.code);
        let all = printed.out.clone() + &printed.errors;
        for text in texts {
            ensure!(all.contains(text), "{text:?} is not in the output of {line}: {all}");
        }
        Ok(printed.out)
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if let Ok(pid) = self.supervisor() {
            let _ = kill_at_once(pid); // its children end with it
        }
    }
}

fn vpc(name: &str, more: &str) -> String {
    format!(
        "{{apiVersion: {AWS}, kind: VPC, metadata: {{name: {name}}}, spec: {{cidrBlock: {{value: 10.0.0.0/16}}{more}}}}}"
    )
}

async fn apply(client: &Client, yaml: &str) -> Result<()> {
    manifests::apply(client, &manifests::parse("the test", yaml)?, "default").await.map(drop)
}

fn vpcs(client: &Client) -> Api<DynamicObject> {
    let gvk = kube::core::GroupVersionKind::gvk("aws.kraken-iac.eoinfennessy.com", "v1alpha1", "VPC");
    let resource = kube::api::ApiResource::from_gvk_with_plural(&gvk, "vpcs");
    Api::namespaced_with(client.clone(), "default", &resource)
}

/// The id of the only object of a VPC that is Ready.
async fn ready(client: &Client, name: &str) -> Result<String> {
    let started = Instant::now();
    loop {
        let object = vpcs(client).get(name).await?;
        let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True") {
            let ids = object.data["status"]["externalIds"].as_array().cloned().unwrap_or_default();
            ensure!(ids.len() == 1, "{name} has the objects {ids:?}");
            return Ok(ids[0].as_str().unwrap_or_default().to_owned());
        }
        ensure!(started.elapsed() < WITHIN, "{name} is not ready: {}", object.data["status"]);
        sleep(Duration::from_millis(200)).await;
    }
}

/// The ids of the VPCs in the cloud that a resource owns.
async fn in_cloud(moto: &Moto) -> Result<Vec<String>> {
    let answer = moto.ec2("DescribeVpcs", &[]).await?;
    let tags = |vpc: &Value| vpc["tagSet"].as_array().cloned().unwrap_or_default();
    let is_owned =
        |vpc: &&Value| tags(vpc).iter().any(|tag| tag["key"] == "kraken-iac.eoinfennessy.com/owner");
    let owned = answer["vpcSet"].as_array().into_iter().flatten().filter(is_owned);
    let mut ids: Vec<String> = owned.filter_map(|vpc| vpc["vpcId"].as_str().map(str::to_owned)).collect();
    ids.sort();
    Ok(ids)
}

#[tokio::test]
async fn kraken_runs_without_a_cluster_and_its_data_outlives_it() -> Result<()> {
    let moto = Moto::start().await?;
    let local = Local::new(&moto)?;
    local.exits("status", 1, &["nothing is running"]).await?;
    local.exits("down", 0, &["nothing is running"]).await?;
    local.exits("export", 1, &["nothing is running", "kubectl kraken local up"]).await?;
    local.exits("up --only hub,aws-vcp", 1, &["\"aws-vcp\"; there are aws-account"]).await?;
    local.exits("up --controllers /nowhere", 1, &["cannot read /nowhere"]).await?;

    let client = local.up().await?;
    apply(&client, &vpc("main", "")).await?;
    let id = ready(&client, "main").await?;
    // The webhook of the spoke answers.
    let refused = apply(&client, &vpc("odd", "").replace("10.0.0.0/16", "10.0.0.1/16")).await;
    ensure!(format!("{:#}", refused.unwrap_err()).contains("10.0.0.0/16"), "a webhook says what to write");
    // One writer.
    local.exits("up --only kraken-hub,aws-vpc", 0, &["to change them, down and up"]).await?;
    local.exits("up", 1, &["it runs with kraken-aws-vpc, kraken-hub already"]).await?;
    local.exits("serve --only hub", 1, &["already running"]).await?;
    // Nobody reads the database without the certificate, which only the owner of the folder can read.
    let answer = kraken_local::http::status(local.etcd_port()?, "/health").await;
    ensure!(!answer.is_ok_and(|(status, _)| status == 200), "etcd answers without a certificate");
    // A state that was damaged is written again.
    fs::write(local.data().join("state.json"), "{garbage")?;
    sleep(Duration::from_secs(2)).await;
    // A process that ends is started again.
    let status = local.exits("status", 0, &["kraken-aws-vpc", "etcd", "ready"]).await?;
    ensure!(!status.contains('\u{1b}'), "no colors in a pipe");
    let before = local.pid("kraken-hub")?;
    kill_at_once(before)?;
    let started = Instant::now();
    while local.pid("kraken-hub")? == before || local.run("status").await?.code != Some(0) {
        ensure!(started.elapsed() < WITHIN, "the hub was not started again");
        sleep(Duration::from_millis(500)).await;
    }
    local.exits("logs hub --tail 2000", 0, &["kraken-hub"]).await?;

    // The data is there after a stop, and nothing is made twice.
    local.exits("down", 0, &["what exists in the cloud stay"]).await?;
    for process in ["etcd", "kube-apiserver", "kraken-aws-vpc"] {
        ensure!(kill_at_once(local.pid(process)?).is_err(), "{process} outlives it");
    }
    let client = local.up().await?;
    ensure!(ready(&client, "main").await? == id && in_cloud(&moto).await? == [id], "the same VPC");
    local.exits("down", 0, &[]).await.map(drop)
}

/// What a person does in the first minute: Ctrl-C, two terminals, and the folder deleted while it runs.
#[tokio::test]
async fn an_interrupted_start_leaves_nothing_and_two_starts_are_one() -> Result<()> {
    let moto = Moto::start().await?;
    let local = Local::new(&moto)?;
    for pause in [50, 700, 2_500] {
        let child =
            local.command("up --only hub,aws-vpc")?.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        sleep(Duration::from_millis(pause)).await;
        let pid = child.id().context("it has ended already")?;
        let status = Command::new("kill").args(["-INT", &pid.to_string()]).status().await?;
        ensure!(status.success(), "kill failed");
        let started = Instant::now();
        let ended = timeout(WITHIN, child.wait_with_output()).await??;
        ensure!(!ended.status.success(), "an interrupted command succeeded");
        while !local.is_down() || local.run("down").await?.errors.contains("down after") {
            ensure!(started.elapsed() < WITHIN, "processes are left {pause} ms after the start");
            sleep(Duration::from_millis(200)).await;
        }
    }
    // At once after an interruption, while the former one is ending.
    let child =
        local.command("up --only hub,aws-vpc")?.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    sleep(Duration::from_millis(2_500)).await;
    let pid = child.id().context("it has ended already")?;
    let status = Command::new("kill").args(["-INT", &pid.to_string()]).status().await?;
    ensure!(status.success(), "kill failed");
    let printed = local.run("up --only hub,aws-vpc").await?;
    ensure!(printed.code == Some(0), "{}", printed.errors);
    timeout(WITHIN, child.wait_with_output()).await??;
    local.exits("down", 0, &["down after"]).await?;

    let (one, two) = tokio::join!(local.run("up --only hub,aws-vpc"), local.run("up --only hub,aws-vpc"));
    for printed in [one?, two?] {
        ensure!(printed.code == Some(0) && printed.out.contains("export KUBECONFIG"), "{}", printed.errors);
    }
    let supervisor = local.supervisor()?;
    fs::remove_file(local.data().join("lock"))?;
    let started = Instant::now();
    while fs::exists(format!("/proc/{supervisor}"))? || !local.is_down() {
        ensure!(started.elapsed() < WITHIN, "it outlives its lock");
        sleep(Duration::from_millis(200)).await;
    }
    local.up().await?;
    local.exits("down", 0, &["down after"]).await.map(drop)
}

#[tokio::test]
async fn an_exported_installation_moves_to_another_cluster() -> Result<()> {
    let moto = Moto::start().await?;
    let (from, to) = (Local::new(&moto)?, Local::new(&moto)?);
    let client = from.up().await?;
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {password: never-shown}}";
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: net}, data: {cidr: 10.0.0.0/16}}";
    let core = "apiVersion: core.kraken-iac.eoinfennessy.com/v1alpha1";
    let state = format!(
        "{{{core}, kind: StateDeclaration, metadata: {{name: static-shared}}, spec: {{id: vpc-shared, data: {{}}}}}}"
    );
    let grant =
        "kind: ReferenceGrant, metadata: {name: shop}, spec: {from: [{namespace: shop}], to: [{kind: VPC}]}";
    for document in [&state, &format!("{{{core}, {grant}}}")] {
        apply(&client, document).await?;
    }
    for document in [secret, map, &vpc("main", ""), &vpc("from-map", ", tags: {Team: shop}")] {
        apply(&client, document).await?;
    }
    let id = ready(&client, "main").await?;
    ready(&client, "from-map").await?;
    let printed = from.run("export").await?;
    ensure!(
        printed.code == Some(0) && printed.out.contains(&id) && printed.out.contains("cidr"),
        "{}",
        printed.errors
    );
    ensure!(
        printed.out.contains("static-shared") && printed.out.contains("kind: ReferenceGrant"),
        "objects without a state are left out: {}",
        printed.out
    );
    ensure!(printed.errors.contains("Secret default/db is not written"), "{}", printed.errors);
    ensure!(!(printed.out.clone() + &printed.errors).contains("never-shown"), "a Secret in clear");

    // As standard error says.
    for name in ["main", "from-map"] {
        let patch = kube::api::Patch::Merge(json!({"spec": {"lifecycle": {"deletion": "Retain"}}}));
        vpcs(&client).patch(name, &PatchParams::default(), &patch).await?;
        vpcs(&client).delete(name, &kube::api::DeleteParams::default()).await?;
    }
    let started = Instant::now();
    while !vpcs(&client).list(&kube::api::ListParams::default()).await?.items.is_empty() {
        ensure!(started.elapsed() < WITHIN, "the resources are not gone");
        sleep(Duration::from_millis(200)).await;
    }
    let client = to.up().await?;
    apply(&client, &printed.out).await?;
    ensure!(ready(&client, "main").await? == id, "another object");
    ready(&client, "from-map").await?;
    ensure!(in_cloud(&moto).await?.len() == 2, "two objects");
    from.exits("down", 0, &[]).await?;
    // It is deleted as before the move.
    vpcs(&client).delete("main", &kube::api::DeleteParams::default()).await?;
    let started = Instant::now();
    while in_cloud(&moto).await?.contains(&id) {
        ensure!(started.elapsed() < WITHIN, "the moved object is not deleted with its resource");
        sleep(Duration::from_millis(200)).await;
    }
    to.exits("down", 0, &[]).await.map(drop)
}

/// The supervisor alone, or all processes at once as when power is lost, at any moment of the creation of resources.
#[tokio::test]
async fn nothing_is_lost_or_doubled_by_kills() -> Result<()> {
    let kills = std::env::var("KRAKEN_LOCAL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let moto = Moto::start().await?;
    let local = Local::new(&moto)?;
    let mut client = local.up().await?;
    for kill in 0..kills {
        apply(&client, &vpc(&format!("vpc-{kill}"), "")).await?;
        sleep(Duration::from_millis(pause_of(kill))).await;
        let mut pids = vec![local.supervisor()?];
        if kill % 2 == 1 {
            for process in
                ["etcd", "kube-apiserver", "kube-controller-manager", "kraken-hub", "kraken-aws-vpc"]
            {
                pids.push(local.pid(process)?);
            }
        }
        for pid in &pids {
            let _ = kill_at_once(*pid); // a child may have ended with the supervisor
        }
        while fs::exists(format!("/proc/{}", pids[0]))? {
            sleep(Duration::from_millis(1)).await;
        }
        let started = Instant::now();
        client = local.up().await?;
        println!("up again {:.1} s after kill {kill}", started.elapsed().as_secs_f64());
    }
    let mut ids = vec![];
    for kill in 0..kills {
        ids.push(ready(&client, &format!("vpc-{kill}")).await?);
    }
    ids.sort();
    ensure!(in_cloud(&moto).await? == ids, "{:?} in the cloud, {ids:?} in resources", in_cloud(&moto).await?);
    let names: Vec<String> = vpcs(&client)
        .list(&kube::api::ListParams::default())
        .await?
        .items
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    ensure!(names.len() == kills, "{names:?}");
    local.exits("down", 0, &[]).await.map(drop)
}

/// A pause in milliseconds that differs between kills: before, during and after the creation in the cloud.
fn pause_of(kill: usize) -> u64 {
    [0, 120, 300, 60, 700, 30, 200, 1500][kill % 8] + (kill as u64 * 17) % 50
}
