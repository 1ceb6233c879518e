//! What a controller binary says about itself: its name, kinds, permissions and webhooks, and how it runs.

use std::{fmt::Debug, future::Future, time::Duration};

use clap::Args;
use k8s_openapi::{
    api::rbac::v1::PolicyRule,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kraken_webhook::Hook;

use crate::manager::Manager;

/// A controller binary.
pub trait Program: Send + 'static {
    /// The name of the binary, service account, lease and field manager: `kraken-hub`.
    const NAME: &'static str;
    /// One line for `--help`.
    const ABOUT: &'static str;
    /// The controller's own flags of `run`, in addition to [`RunArgs`](crate::RunArgs).
    type Args: Args + Debug + Clone + Send + Sync;

    /// The time to finish after the first signal. The grace period of its pod must be longer.
    const GRACE: Duration = Duration::from_secs(8);

    /// Its kinds.
    fn crds() -> Vec<CustomResourceDefinition>;

    /// Its cluster-wide permissions, in addition to those of the runtime.
    fn rules() -> Vec<PolicyRule>;

    /// Its permissions in the namespace of the controllers, in addition to those for its lease.
    fn namespace_rules() -> Vec<PolicyRule> {
        Vec::new()
    }

    /// The Secrets in the namespace of the controllers in which it keeps data of its own. The manifests contain them empty, so that
    /// no permission to create Secrets is needed.
    fn secrets() -> &'static [&'static str] {
        &[]
    }

    /// The hub's permissions on its kinds.
    fn hub_rules() -> Vec<PolicyRule> {
        Vec::new()
    }

    /// The admission webhooks. `run` mounts a validator for each in [`Manager::webhooks`].
    fn webhooks() -> Vec<Hook> {
        Vec::new()
    }

    /// Runs the controller. It may start watches at once, says when it has [registered](Manager::watches_registered) all of them, without
    /// which it is never ready, and starts workers after [`Health::ready`](crate::Health::ready) and [`Manager::leading`]. It returns
    /// soon after [`Manager::shutdown`] fires, when none of its tasks is active any more: then the lease is released.
    fn run(manager: Manager, args: Self::Args) -> impl Future<Output = anyhow::Result<()>> + Send;
}
