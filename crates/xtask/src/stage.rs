//! The environment of demo, up and bench: builds the controllers and starts everything, a line for each step.

use anyhow::Result;
use kraken_testing::assets::Assets;
use kraken_testing::{
    ControlPlane, Environment, EnvironmentOptions, Moto, Proxy, Suite, SuiteOptions, manifests, moto, paths,
    suite,
};

use crate::{cargo, ui};

/// Builds or installs prerequisites once, all at the same time. Fast if they exist.
pub(crate) async fn prepare() -> Result<()> {
    prepare_beside("Kraken", cargo::build_binaries_beside()).await
}

/// The same with these controllers only, named by their folders.
pub(crate) async fn prepare_controllers(controllers: &[&str]) -> Result<()> {
    let names = controllers.join(" and ");
    prepare_beside(&names, cargo::build_controllers_beside(controllers)).await
}

/// The control plane is compiled by Go while `build` compiles Kraken: each has phases that use one core only.
async fn prepare_beside(names: &str, build: impl Future<Output = Result<()>>) -> Result<()> {
    let what = format!(
        "building at the same time: the control plane (once), moto, the AWS mock (from PyPI, once), and {names}"
    );
    let all = async { tokio::try_join!(Assets::ensure(), moto::install(), build).map(drop) };
    ui::step(&what, all).await
}

/// With admission webhooks, as in an installation.
pub(crate) fn with_webhooks() -> EnvironmentOptions {
    let suite = SuiteOptions { webhooks: true, ..SuiteOptions::default() };
    EnvironmentOptions { suite, ..EnvironmentOptions::default() }
}

/// Starts everything; [`prepare`] comes first.
pub(crate) async fn start(options: EnvironmentOptions) -> Result<Environment> {
    let EnvironmentOptions { control_plane, suite: mut suite_options } = options;
    let (control_plane, moto) =
        ui::step("starting etcd, kube-apiserver, kube-controller-manager and moto", async {
            tokio::try_join!(ControlPlane::start_with(control_plane), Moto::start())
        })
        .await?;
    let proxy = Proxy::start(moto.endpoint())?;
    suite_options.cloud_endpoint.get_or_insert_with(|| proxy.endpoint().to_owned());
    let crds = manifests::read(&paths::workspace_root()?.join("crds"))?.len();
    ui::step(&format!("installing {crds} CRDs and the controllers' RBAC"), suite::install(&control_plane))
        .await?;
    let names = match &suite_options.only {
        Some(chosen) => chosen.clone(),
        None => paths::controllers()?,
    };
    let suite =
        ui::step(&starting(&names), Suite::start_installed(&control_plane, &moto, suite_options)).await?;
    Environment::of(suite, proxy, moto, control_plane)
}

/// Starts the controllers that the environment was started without, with admission webhooks. They must be built.
pub(crate) async fn start_others(environment: &Environment) -> Result<Suite> {
    let mut names = paths::controllers()?;
    names.retain(|name| environment.suite.controller(name).is_err());
    let what = starting(&names);
    let options = SuiteOptions {
        only: Some(names),
        cloud_endpoint: Some(environment.proxy.endpoint().to_owned()),
        webhooks: true,
        ..SuiteOptions::default()
    };
    ui::step(&what, Suite::start_installed(&environment.control_plane, &environment.moto, options)).await
}

fn starting(controllers: &[String]) -> String {
    format!("starting the controllers, each as its own service account: {}", controllers.join(", "))
}
