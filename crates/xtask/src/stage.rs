//! Sets the stage for demo, up and bench: builds the controllers and starts everything, a line for each step.

use anyhow::Result;
use kraken_testing::assets::Assets;
use kraken_testing::{
    ControlPlane, Environment, EnvironmentOptions, Moto, Proxy, Suite, SuiteOptions, manifests, moto, paths,
    suite,
};

use crate::{cargo, ui};

/// Builds or installs prerequisites once. Fast if they exist.
pub(crate) async fn prepare() -> Result<()> {
    ui::step("control plane binaries (built from source the first time, then cached)", Assets::ensure())
        .await?;
    ui::step("moto, the AWS mock (installed from PyPI the first time, then cached)", moto::install()).await?;
    ui::step("building the controllers", cargo::build_binaries()).await
}

/// With admission webhooks, as in an installation.
pub(crate) fn with_webhooks() -> EnvironmentOptions {
    let suite = SuiteOptions { webhooks: true, ..SuiteOptions::default() };
    EnvironmentOptions { suite, ..EnvironmentOptions::default() }
}

/// Starts everything; [`prepare`] comes first.
pub(crate) async fn start(options: EnvironmentOptions) -> Result<Environment> {
    let control_plane = ui::step(
        "starting etcd, kube-apiserver and kube-controller-manager",
        ControlPlane::start_with(options.control_plane),
    )
    .await?;
    let moto = ui::step("starting moto", Moto::start()).await?;
    let proxy = Proxy::start(moto.endpoint())?;
    let mut suite_options = options.suite;
    suite_options.cloud_endpoint.get_or_insert_with(|| proxy.endpoint().to_owned());
    let crds = manifests::read(&paths::workspace_root()?.join("crds"))?.len();
    ui::step(&format!("installing {crds} CRDs and the controllers' RBAC"), suite::install(&control_plane))
        .await?;
    let names = paths::controllers()?.join(", ");
    let suite = ui::step(
        &format!("starting the controllers, each as its own service account: {names}"),
        Suite::start(&control_plane, &moto, suite_options),
    )
    .await?;
    Environment::of(suite, proxy, moto, control_plane)
}
