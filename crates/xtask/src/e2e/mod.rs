//! `cargo xtask e2e`: installs Kraken on a real node, or on the cluster of `KUBECONFIG`, and runs the tests in `tests/e2e`.
//!
//! Each installation method is a separate run: install, test, uninstall, and compare the objects of the cluster with those before the
//! installation.

mod components;
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

/// The AWS endpoint (a moto server) for the cluster of `KUBECONFIG`: its pods and this machine must reach it.
const ENDPOINT: &str = "KRAKEN_E2E_AWS_ENDPOINT";
const KUBECONFIG: &str = "KUBECONFIG";

/// The runs.
#[derive(clap::Args, Debug)]
pub(crate) struct E2eArgs {
    /// Only this installation method.
    #[arg(long, value_enum)]
    install: Option<Method>,
    /// Only tests whose name contains this.
    #[arg(long)]
    test: Option<String>,
    /// Also install this commit, and upgrade it to the current one during edits.
    #[arg(long, value_name = "COMMIT")]
    upgrade_from: Option<String>,
    /// Print the Debian packages that a node requires and that are not installed, and exit.
    #[arg(long)]
    missing: bool,
    /// Use the images of the previous build.
    #[arg(long)]
    no_build: bool,
}

/// An installation method.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// `kubectl apply -k config/default`, with all tests but those of an upgrade.
    Kustomize,
    /// `helm install` of each chart, with the tests whose names contain `installed`.
    Helm,
    /// One component after the other, with a resource of each: in the usual and in the reverse order, with Kustomize and with Helm.
    Components,
    /// An upgrade, with its tests; only with --upgrade-from.
    Upgrade,
}

/// The cluster under test.
struct Site {
    kubeconfig: PathBuf,
    aws_endpoint: String,
    /// The local cluster, if it is one; it is stopped with this process.
    cluster: Option<NodeCluster>,
}

/// Why a run failed.
#[derive(Debug)]
enum Failure {
    /// Tests failed, or objects differ, and the next run is not affected.
    Failed(anyhow::Error),
    /// The installation could not be removed.
    NotUninstalled(anyhow::Error),
}

pub(crate) async fn run(args: E2eArgs) -> Result<ExitCode> {
    if args.missing {
        println!("{}", requirements::missing_packages().join(" "));
        return Ok(ExitCode::SUCCESS);
    }
    let own = std::env::var_os(KUBECONFIG).is_none_or(|value| value.is_empty());
    if own && !args.no_build {
        node::prepare().await?;
    }
    let previous = match &args.upgrade_from {
        Some(commit) => Some(upgrade::prepare(commit, args.no_build).await?),
        None => None,
    };
    ui::step("helm (built from source the first time, then cached)", packaging::ensure_helm()).await?;
    ui::step("building the tests", build()).await?;
    let site = site(own, previous.as_ref()).await?;
    let mut methods = chosen(args.install, previous.is_some()).into_iter();
    let mut failed = Vec::new();
    for method in methods.by_ref() {
        ui::headline(&format!("Installation with {method:?}"));
        match run_method(&site, method, args.test.as_deref(), previous.as_ref()).await {
            Ok(()) => {}
            Err(Failure::Failed(error)) => {
                eprintln!("error: {error:#}");
                failed.push(format!("{method:?}"));
            }
            Err(Failure::NotUninstalled(error)) => {
                eprintln!("error: {error:#}");
                failed.push(format!("{method:?}"));
                break; // the next installation would fail because of the remaining objects
            }
        }
    }
    let remaining: Vec<String> = methods.map(|method| format!("{method:?}")).collect();
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("failed: {}", failed.join(", "));
    if !remaining.is_empty() {
        eprintln!(
            "not run: {}, because the installation before could not be removed from the cluster",
            remaining.join(", ")
        );
    }
    Ok(ExitCode::FAILURE)
}

/// The methods to run, in their order.
fn chosen(only: Option<Method>, can_upgrade: bool) -> Vec<Method> {
    let mut methods = vec![Method::Kustomize, Method::Helm, Method::Components, Method::Upgrade];
    methods.retain(|method| {
        only.is_none_or(|only| only == *method) && (*method != Method::Upgrade || can_upgrade)
    });
    methods
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
        format!("{ENDPOINT} must be the endpoint of a moto server that the pods of this cluster reach, such as http://10.0.0.1:5000")
    })?;
    Ok(Site { kubeconfig, aws_endpoint, cluster: None })
}

/// One run. Afterwards the cluster must contain the same objects as before.
async fn run_method(
    site: &Site,
    method: Method,
    test: Option<&str>,
    previous: Option<&Previous>,
) -> Result<(), Failure> {
    let before = objects::list(&site.kubeconfig).await.map_err(Failure::Failed)?;
    // A failed installation is removed too: it may have created objects.
    let result = match install(site, method, previous).await {
        Ok(()) => tests(site, method, test).await,
        Err(error) => Err(error),
    };
    let removed = ui::step("uninstalling", async {
        match method {
            Method::Kustomize | Method::Upgrade => uninstall(&site.kubeconfig).await,
            Method::Components => uninstall_all(&site.kubeconfig).await,
            Method::Helm => helm::uninstall(&site.kubeconfig).await,
        }
    })
    .await;
    outcome(result, removed)?;
    let compared = objects::same(&site.kubeconfig, &before);
    // Remaining objects make the next installation fail.
    ui::step("comparing the objects of the cluster", compared).await.map_err(Failure::NotUninstalled)
}

/// A failed test leaves its namespace, so that its objects can be inspected: the objects of the cluster are not compared then.
fn outcome(tests: Result<()>, removed: Result<()>) -> Result<(), Failure> {
    match (tests, removed) {
        (Ok(()), Ok(())) => Ok(()),
        (Err(error), Ok(())) => Err(Failure::Failed(error)),
        (Ok(()), Err(error)) => Err(Failure::NotUninstalled(error)),
        (Err(error), Err(not_removed)) => {
            Err(Failure::NotUninstalled(error.context(format!("uninstalling failed too: {not_removed:#}"))))
        }
    }
}

async fn install(site: &Site, method: Method, previous: Option<&Previous>) -> Result<()> {
    match method {
        Method::Upgrade => {
            let previous = previous.context("no commit to upgrade from")?;
            upgrade::install(&site.kubeconfig, &site.aws_endpoint, previous).await
        }
        Method::Kustomize => node::install(&site.kubeconfig, &site.aws_endpoint).await,
        Method::Helm => helm::install(&site.kubeconfig, &site.aws_endpoint).await,
        Method::Components => {
            let remove = async || uninstall_all(&site.kubeconfig).await;
            components::install(&site.kubeconfig, &site.aws_endpoint, remove).await
        }
    }
}

async fn uninstall(kubeconfig: &Path) -> Result<()> {
    let default = paths::workspace_root()?.join("config/default").display().to_string();
    kubectl(kubeconfig, &["delete", "-k", &default, "--ignore-not-found", "--timeout=120s"]).await.map(drop)
}

/// Whichever tool installed it.
async fn uninstall_all(kubeconfig: &Path) -> Result<()> {
    helm::uninstall(kubeconfig).await?;
    uninstall(kubeconfig).await
}

async fn build() -> Result<()> {
    let status = cargo::run(["test", "--workspace", "--test", "e2e", "--no-run"]).await?;
    if status.success() { Ok(()) } else { bail!("the tests do not compile") }
}

async fn tests(site: &Site, method: Method, test: Option<&str>) -> Result<()> {
    if method == Method::Components {
        return Ok(()); // its installation is the test
    }
    // Sequentially: they stop controllers that all of them need.
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
    match (test, method) {
        (Some(test), _) => arguments.push(test),
        (None, Method::Kustomize) => arguments.extend(["--skip", "upgrade"]),
        (None, Method::Upgrade) => arguments.push("upgrade"),
        (None, Method::Helm) => arguments.push("installed"),
        (None, Method::Components) => {}
    }
    let kubeconfig = site.kubeconfig.to_str().context("the path of the kubeconfig is not valid UTF-8")?;
    let kubectl = kraken_testing::node::kubectl_program().await?;
    let kubectl = kubectl.to_str().context("the path of kubectl is not valid UTF-8")?;
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

#[cfg(test)]
mod run_tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn an_upgrade_requires_a_commit_to_upgrade_from() {
        let always = [Method::Kustomize, Method::Helm, Method::Components];
        assert_eq!(chosen(None, false), always);
        assert_eq!(chosen(None, true), [&always[..], &[Method::Upgrade]].concat());
        assert_eq!(chosen(Some(Method::Helm), true), [Method::Helm]);
        assert!(chosen(Some(Method::Upgrade), false).is_empty());
    }

    #[test]
    fn an_installation_that_is_not_removed_blocks_the_next_one() {
        let failed = || Err(anyhow!("tests failed"));
        assert!(outcome(Ok(()), Ok(())).is_ok());
        assert!(matches!(outcome(failed(), Ok(())), Err(Failure::Failed(_))));
        assert!(matches!(outcome(Ok(()), Err(anyhow!("timeout"))), Err(Failure::NotUninstalled(_))));
        let Err(Failure::NotUninstalled(error)) = outcome(failed(), Err(anyhow!("timeout"))) else {
            panic!("the next installation would start");
        };
        let text = format!("{error:#}");
        assert!(text.contains("tests failed") && text.contains("timeout"), "{text}");
    }
}
