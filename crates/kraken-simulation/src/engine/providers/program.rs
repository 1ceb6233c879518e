//! The controller of the simulated provider's types: the loop, without the installation of providers.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, anyhow};
use k8s_openapi::{
    api::rbac::v1::PolicyRule,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kraken_kind::dynamic::Served;
use kraken_runtime::{Manager, Program};
use kraken_spoke::{LoopArgs, controller::Kinds};
use kraken_tfplugin::HostLink;
use kraken_tofu::{Config, Program as ProviderProgram, ProgramOptions, Provider, TofuExternal, TofuKind};
use tokio::time::sleep;

use super::part_of;
use crate::provider_types::{crds, kinds};

/// The time between two looks at all resources, at most.
const LOOKS: Duration = Duration::from_secs(40);
/// The time between attempts to start the provider.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct SimulatedTofu;

/// The way to the host, and the flags of the loop.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::engine) struct Args {
    #[arg(skip)]
    pub(in crate::engine) host: Option<HostLink>,
    #[command(flatten)]
    pub(in crate::engine) common: LoopArgs,
}

impl Program for SimulatedTofu {
    const NAME: &'static str = "kraken-tofu";
    const ABOUT: &'static str = "A simulated provider";
    type Args = Args;

    fn crds() -> Vec<CustomResourceDefinition> {
        crds()
    }

    fn rules() -> Vec<PolicyRule> {
        vec![]
    }

    async fn run(manager: Manager, args: Args) -> Result<()> {
        let host = args.host.ok_or_else(|| anyhow!("there is no way to a host"))?;
        let program = loop {
            match ProviderProgram::load(host.clone(), ProgramOptions::default()).await {
                Ok(program) => break Arc::new(program),
                Err(_) if manager.shutdown.is_cancelled() => return Ok(()),
                Err(_) => sleep(RETRY).await,
            }
        };
        let provider = Arc::new(Provider::new(program, Config::default()));
        let served = |kind: TofuKind| -> Served {
            let (client, name) = (manager.client.clone(), manager.name);
            let external = TofuExternal::new(provider.clone(), &kind, client, name);
            (Arc::new(kind), Arc::new(external))
        };
        let served: Vec<Served> = kinds().into_iter().map(served).collect();
        let running = Kinds::new(manager.clone(), args.common);
        manager.watches_registered();
        running.add(served.clone());
        // Plans are asked for at any time.
        let looks = async {
            loop {
                sleep(part_of(LOOKS)).await;
                for one in &served {
                    running.previews(one.clone()).await;
                }
            }
        };
        manager.shutdown.run_until_cancelled(looks).await;
        running.ended().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kraken_kind::dynamic::Kind as _;

    use super::*;
    use crate::schedule::Controller;

    #[test]
    fn the_controller_reconciles_the_kinds_of_the_schedules() {
        let kinds = kinds();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.info().name).collect();
        assert_eq!(names, ["KtestFile", "KtestNote"]);
        assert!(names.iter().all(|name| Controller::of(name) == Controller::Tofu));
    }
}
