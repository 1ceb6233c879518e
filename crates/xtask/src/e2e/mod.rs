//! `cargo xtask e2e`: Kraken as people install it, on a real node or on the cluster of `KUBECONFIG`, with the tests in `tests/e2e`.
//!
//! Each way to install is a run of its own: install, test, uninstall, and nothing may be left behind.

mod helm;
mod objects;
mod upgrade;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use kraken_testing::node::{NodeCluster, kubectl, requirements};
use kraken_testing::{packaging, paths};

use crate::{cargo, node, ui};
use upgrade::Previous;

/// Which servers play AWS for a cluster that is not ours: an endpoint that its pods and this machine reach.
const ENDPOINT: &str = "KRAKEN_E2E_AWS_ENDPOINT";
const KUBECONFIG: &str = "KUBECONFIG";

/// Which runs.
#[derive(clap::Args, Debug)]
pub(crate) struct Choice {
    /// Only this way to install.
    #[arg(long, value_enum)]
    install: Option<Way>,
    /// Only tests whose name contains this.
    #[arg(long)]
    test: Option<String>,
    /// Also install this commit, and upgrade it to the present one under edits.
    #[arg(long, value_name = "COMMIT")]
    upgrade_from: Option<String>,
    /// Print the packages of Debian that a node takes and that are not installed; run nothing.
    #[arg(long)]
    missing: bool,
    /// Take the images as they were built last.
    #[arg(long)]
    no_build: bool,
}

/// A way to install Kraken.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `kubectl apply -k config/default`; every test.
    Kustomize,
    /// `helm install` of each chart; the tests of what an installation must do.
    Helm,
    /// The tests of an upgrade; only with --upgrade-from.
    Upgrade,
}

/// Where it is tested.
struct Site {
    kubeconfig: PathBuf,
    aws_endpoint: String,
    /// Ours, if it is: ends with this process.
    cluster: Option<NodeCluster>,
}

pub(crate) async fn run(choice: Choice) -> Result<ExitCode> {
    if choice.missing {
        println!("{}", requirements::missing_packages().join(" "));
        return Ok(ExitCode::SUCCESS);
    }
    let own = std::env::var_os(KUBECONFIG).is_none_or(|value| value.is_empty());
    if own && !choice.no_build {
        node::prepare().await?;
    }
    let previous = match &choice.upgrade_from {
        Some(commit) => Some(upgrade::prepare(commit, choice.no_build).await?),
        None => None,
    };
    ui::step("helm (built from source the first time, then cached)", packaging::ensure_helm()).await?;
    ui::step("building the tests", build()).await?;
    let site = site(own, previous.as_ref()).await?;
    let mut failed = Vec::new();
    for way in [Way::Kustomize, Way::Helm, Way::Upgrade] {
        let is_chosen = choice.install.is_none_or(|chosen| chosen == way);
        if !is_chosen || (way == Way::Upgrade && previous.is_none()) {
            continue;
        }
        ui::headline(&format!("Installed with {way:?}"));
        if let Err(error) = installed(&site, way, choice.test.as_deref(), previous.as_ref()).await {
            eprintln!("error: {error:#}");
            failed.push(format!("{way:?}"));
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("failed: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

async fn site(own: bool, previous: Option<&Previous>) -> Result<Site> {
    if own {
        let others: Vec<PathBuf> = previous.iter().map(|previous| previous.images.clone()).collect();
        let cluster = node::start(&others).await?;
        let kubeconfig = cluster.control_plane.admin_kubeconfig();
        let aws_endpoint = cluster.moto.endpoint().to_owned();
        return Ok(Site { kubeconfig, aws_endpoint, cluster: Some(cluster) });
    }
    let kubeconfig = std::env::var_os(KUBECONFIG).map(PathBuf::from).context("KUBECONFIG is not set")?;
    let aws_endpoint = std::env::var(ENDPOINT).with_context(|| {
        format!("{ENDPOINT} has to name a moto server that the pods of this cluster reach, as http://10.0.0.1:5000")
    })?;
    Ok(Site { kubeconfig, aws_endpoint, cluster: None })
}

/// One run: what is there before is there afterwards, and nothing else.
async fn installed(site: &Site, way: Way, test: Option<&str>, previous: Option<&Previous>) -> Result<()> {
    let before = objects::list(&site.kubeconfig).await?;
    match way {
        Way::Upgrade => {
            let previous = previous.context("no commit to upgrade from")?;
            upgrade::install(&site.kubeconfig, &site.aws_endpoint, previous).await?;
        }
        Way::Kustomize => node::install(&site.kubeconfig, &site.aws_endpoint).await?,
        Way::Helm => helm::install(&site.kubeconfig, &site.aws_endpoint).await?,
    }
    let result = tests(site, way, test).await;
    ui::step("uninstalling", async {
        match way {
            Way::Kustomize | Way::Upgrade => uninstall(&site.kubeconfig).await,
            Way::Helm => helm::uninstall(&site.kubeconfig).await,
        }
    })
    .await?;
    result?; // a test that failed leaves its namespace
    ui::step("looking for what is left behind", objects::same(&site.kubeconfig, &before)).await
}

async fn uninstall(kubeconfig: &Path) -> Result<()> {
    let default = paths::workspace_root()?.join("config/default").display().to_string();
    kubectl(kubeconfig, &["delete", "-k", &default, "--timeout=120s"]).await.map(drop)
}

async fn build() -> Result<()> {
    let status = cargo::run(["test", "--quiet", "--workspace", "--test", "e2e", "--no-run"]).await?;
    if status.success() { Ok(()) } else { bail!("the tests do not compile") }
}

async fn tests(site: &Site, way: Way, test: Option<&str>) -> Result<()> {
    // One after the other: they end controllers that all of them need.
    let mut arguments = vec![
        "test",
        "--quiet",
        "--workspace",
        "--test",
        "e2e",
        "--",
        "--ignored",
        "--test-threads=1",
        "--show-output",
    ];
    match (test, way) {
        (Some(test), _) => arguments.push(test),
        (None, Way::Kustomize) => arguments.extend(["--skip", "upgrade"]),
        (None, Way::Upgrade) => arguments.push("upgrade"),
        (None, Way::Helm) => arguments.push("installed"),
    }
    let kubeconfig = site.kubeconfig.to_str().context("the kubeconfig's path is no text")?;
    let kubectl = kraken_testing::node::kubectl_program().await?;
    let kubectl = kubectl.to_str().context("kubectl's path is no text")?;
    let process = site.cluster.as_ref().map(|cluster| cluster.node.first_process()).transpose()?;
    let process = process.map(|process| process.to_string());
    let mut environment = vec![
        (KUBECONFIG, kubeconfig),
        (ENDPOINT, site.aws_endpoint.as_str()),
        ("KRAKEN_E2E_KUBECTL", kubectl),
    ];
    environment.extend(process.as_deref().map(|process| ("KRAKEN_E2E_NODE_PROCESS", process)));
    let status = cargo::run_with(arguments, &environment).await?;
    if status.success() { Ok(()) } else { bail!("tests failed") }
}
