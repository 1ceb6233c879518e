//! The controller: its kinds, its permissions and its tasks.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Result;
use k8s_openapi::{
    api::rbac::v1::PolicyRule,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kraken_kind::{
    api::crd::hub_kind_with,
    runtime::{
        Manager, Program,
        queue::{Lane, Queue},
        rbac::rule,
        watch::{Change, ObjectKey},
        webhook::{Hook, Operation},
        work,
    },
};
use kraken_spoke::{
    LoopArgs,
    controller::Kinds,
    program::{hub_lease_rules, loop_rules},
};
use kube::Resource;
use tracing::warn;

use crate::{
    api::{self, ProviderConfig, ProviderInstall},
    config::{self, Configs},
    host,
    install::Installs,
    names,
};

/// The maximum number of ProviderConfigs in progress: each check starts a process.
const IN_FLIGHT: usize = 4;
const CRDS: &str = "customresourcedefinitions";

/// The flags of the controller.
#[derive(Clone, Debug, clap::Args)]
pub struct TofuArgs {
    /// The folder with the programs of providers; spec.path of a ProviderInstall is relative to it
    #[arg(long, env = "KRAKEN_PROVIDERS_FOLDER", value_name = "FOLDER", default_value = "/providers")]
    pub providers_folder: PathBuf,

    /// The Unix socket of the process that runs providers (kraken-tofu host); without it, they run in this process
    #[arg(long, env = "KRAKEN_TOFU_HOST_SOCKET", value_name = "PATH")]
    pub host_socket: Option<PathBuf>,

    /// The flags of the loop.
    #[command(flatten)]
    pub common: LoopArgs,
}

/// The controller of OpenTofu providers.
#[derive(Clone, Copy, Debug)]
pub struct TofuController;

/// The webhook of the kinds of all providers.
fn hook() -> Hook {
    Hook {
        name: format!("kinds.{}", names::GROUP),
        groups: vec![names::GROUP.to_owned()],
        version: names::VERSION.to_owned(),
        resources: vec!["*".to_owned()],
        operations: vec![Operation::Create, Operation::Update, Operation::Delete],
    }
}

impl Program for TofuController {
    const NAME: &'static str = "kraken-tofu";
    const ABOUT: &'static str = "Makes the resource types of OpenTofu providers kinds of Kraken";
    type Args = TofuArgs;

    /// An operation of a provider is never interrupted: an interrupted creation leaves an object of which nobody knows.
    const GRACE: Duration = Duration::from_secs(30 * 60 - 30);

    fn crds() -> Vec<CustomResourceDefinition> {
        let of_install = [
            ("Protocol", ".status.protocol", "integer"),
            ("Kinds", ".status.kinds", "integer"),
            ("Marked", ".status.marked", "integer"),
            ("By Hand", ".status.byHand", "integer"),
        ];
        let of_config =
            [("Provider", ".spec.provider", "string"), ("Location", ".status.location", "string")];
        vec![hub_kind_with::<ProviderInstall>(&of_install), hub_kind_with::<ProviderConfig>(&of_config)]
    }

    fn rules() -> Vec<PolicyRule> {
        let (read, own) = (["get", "list", "watch"], ["get", "list", "watch", "patch"]);
        let mut rules = vec![
            rule(&[api::GROUP], &["providerinstalls", "providerconfigs"], &own),
            rule(&[api::GROUP], &["providerinstalls/status", "providerconfigs/status"], &["patch"]),
            rule(&[api::GROUP], &["providerinstalls/finalizers", "providerconfigs/finalizers"], &["update"]),
            // The kinds of all providers, which are not known yet. The status and the finalizers are subresources of them.
            rule(&[names::GROUP], &["*"], &[own.as_slice(), &["update"]].concat()),
            // Their CRDs; the policy `crds` allows those of this group only.
            rule(
                &["apiextensions.k8s.io"],
                &[CRDS],
                &[read.as_slice(), &["create", "patch", "delete"]].concat(),
            ),
        ];
        rules.extend(loop_rules());
        rules.extend([
            rule(&["configexport.kraken-iac.eoinfennessy.com"], &["configexports"], &["list"]),
            // The Secrets of ProviderConfigs, one by one, the journals and the sensitive outputs; the policy `secrets` allows to write those two only.
            rule(&[""], &["secrets"], &["get", "create", "patch", "delete"]),
        ]);
        rules
    }

    fn namespace_rules() -> Vec<PolicyRule> {
        hub_lease_rules()
    }

    fn hub_rules() -> Vec<PolicyRule> {
        vec![
            // While no state is published, the hub checks whether a referenced resource exists; and it reads the schemas of the kinds,
            // whose names are not known yet.
            rule(&[names::GROUP], &["*"], &["get"]),
            rule(&[api::GROUP], &["providerconfigs"], &["get"]),
            rule(&["apiextensions.k8s.io"], &[CRDS], &["get"]),
        ]
    }

    fn webhooks() -> Vec<Hook> {
        vec![hook()]
    }

    async fn run(manager: Manager, args: TofuArgs) -> Result<()> {
        if !manager.args.namespaces.names().is_empty() {
            warn!(
                "CRDs belong to the whole cluster, and this controller is limited to namespaces: it does nothing; remove --namespaces, or do not \
                 install it"
            );
            manager.watches_registered();
            manager.shutdown.cancelled().await;
            return Ok(());
        }
        let queues = Queues { installs: Queue::new(1), configs: Queue::new(IN_FLIGHT) };
        let configs = Configs::watch(&manager);
        let kinds = Kinds::new(manager.clone(), args.common)
            .with_accounts(config::kind("default"), Arc::new(configs.clone()));
        kinds.release_accounts();
        kinds.mount(&hook());
        let known = manager.watches().cluster_objects("ProviderInstall", {
            let queue = queues.installs.clone();
            move |change: Change<ProviderInstall>| {
                if is_edit(&change) {
                    queue.add(ObjectKey::of(change.meta()), Lane::Edit);
                }
            }
        });
        let folder = args.providers_folder;
        let (host, close_host) = host::of_controller(args.host_socket)?;
        let installs = Installs::new(manager.clone(), kinds.clone(), configs.clone(), folder, host, known);
        configs.released_if({
            let installs = installs.clone();
            move |install| installs.is_served(install)
        });
        configs.on_change(Arc::new({
            let queue = queues.configs.clone();
            move |key: &ObjectKey| queue.add(key.clone(), Lane::Edit)
        }));
        manager.watches_registered();
        if manager.shutdown.run_until_cancelled(manager.health.ready()).await.is_none() {
            return Ok(());
        }
        tokio::join!(
            install(&manager, &installs, &configs, &queues),
            lead(&manager, &installs, &configs, &queues)
        );
        kinds.ended().await;
        close_host.await;
        Ok(())
    }
}

/// The keys to reconcile.
struct Queues {
    installs: Queue<ObjectKey>,
    configs: Queue<ObjectKey>,
}

/// Loads providers, on standbys too.
async fn install(manager: &Manager, installs: &Installs, configs: &Configs, queues: &Queues) {
    let (metrics, shutdown) = (manager.metrics.clone(), manager.shutdown.clone());
    let (installs, configs, of_configs) = (installs.clone(), configs.clone(), queues.configs.clone());
    work::run(queues.installs.clone(), 1, "ProviderInstall", metrics, shutdown, move |key, _| {
        let (installs, configs, of_configs) = (installs.clone(), configs.clone(), of_configs.clone());
        async move {
            let was_loaded = installs.program(&key.name).is_some();
            let requeue = installs.reconcile(&key).await;
            if was_loaded != installs.program(&key.name).is_some() {
                let all = configs.all().into_iter().filter(|config| *config.spec.provider == *key.name);
                for config in all {
                    of_configs.add(ObjectKey::of(&config.metadata), Lane::Edit);
                }
            }
            requeue
        }
    })
    .await;
}

/// What only the leader does: it writes, and checks ProviderConfigs.
async fn lead(manager: &Manager, installs: &Installs, configs: &Configs, queues: &Queues) {
    if !manager.leading().await {
        return;
    }
    installs.lead();
    // What a standby did without writing, and what the watches delivered before there were listeners.
    for key in installs.all() {
        queues.installs.add(key, Lane::Edit);
    }
    for config in configs.all() {
        queues.configs.add(ObjectKey::of(&config.metadata), Lane::Edit);
    }
    let counted = configs.clone();
    manager.metrics.count_resources(api::CONFIG, move |tally| {
        for config in counted.all() {
            let conditions = config.status.as_ref().map_or(&[][..], |status| &status.conditions);
            tally.add(config.metadata.namespace.as_deref(), conditions);
        }
    });
    let (metrics, shutdown) = (manager.metrics.clone(), manager.shutdown.clone());
    let (manager, installs, configs) = (manager.clone(), installs.clone(), configs.clone());
    work::run(queues.configs.clone(), IN_FLIGHT, api::CONFIG, metrics, shutdown, move |key, _| {
        let (manager, configs, installs) = (manager.clone(), configs.clone(), installs.clone());
        async move { config::check(&manager, &configs, &key, |install| installs.program(install)).await }
    })
    .await;
}

/// Whether a change is not one of the status, or one of the program in use, which standbys follow.
fn is_edit(change: &Change<ProviderInstall>) -> bool {
    let Change::Applied(now, Some(before)) = change else { return true };
    let in_use =
        |install: &ProviderInstall| install.status.as_ref().and_then(|status| status.program.clone());
    let is_switched = in_use(now) != in_use(before);
    let (now, before) = (now.meta(), before.meta());
    is_switched
        || now.uid != before.uid
        || now.generation != before.generation
        || now.deletion_timestamp != before.deletion_timestamp
        || now.finalizers != before.finalizers
}
