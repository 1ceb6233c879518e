//! Starts the controllers of a spoke: the spoke lists its kinds once, and its CRDs, its RBAC and its controllers are
//! derived from the list.

use std::{collections::BTreeSet, process::ExitCode, sync::Arc};

use k8s_openapi::{
    api::rbac::v1::PolicyRule,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kraken_api::{ConfigExport, HUB_NAME};
use kraken_kind::{FromContext, Registry, Spoke, SpokeContext, account::AccountKind, crd};
use kraken_runtime::{Manager, Program, rbac::rule, webhook::Hook};
use kube::Resource;

use crate::{
    args::LoopArgs,
    controller::{self, Served},
};

/// The body of a spoke's `main`.
pub fn main<S: Spoke>() -> ExitCode {
    kraken_runtime::main::<SpokeProgram<S>>()
}

/// The flags of every spoke, and the spoke's own.
#[derive(Clone, Debug, clap::Args)]
pub struct SpokeArgs<A: clap::Args> {
    #[command(flatten)]
    own: A,
    #[command(flatten)]
    common: LoopArgs,
}

impl<A: clap::Args> SpokeArgs<A> {
    /// The spoke's own flags and those of the loop.
    pub fn new(own: A, common: LoopArgs) -> Self {
        Self { own, common }
    }

    /// The spoke's own flags.
    pub fn own(&self) -> &A {
        &self.own
    }
}

/// A spoke as a [`Program`].
#[derive(Debug)]
pub struct SpokeProgram<S>(std::marker::PhantomData<S>);

impl<S: Spoke> Program for SpokeProgram<S> {
    const NAME: &'static str = S::NAME;
    const ABOUT: &'static str = S::ABOUT;
    type Args = SpokeArgs<S::Args>;

    fn crds() -> Vec<CustomResourceDefinition> {
        Self::definitions().crds.iter().map(|crd| crd()).collect()
    }

    fn rules() -> Vec<PolicyRule> {
        let (kinds, crds) = (Self::definitions(), Self::crds());
        let mut rules = loop_rules();
        // Referenced Secrets are read one by one; list is not granted.
        rules.push(rule(&[""], &["secrets"], if kinds.make_secrets { &["get", "create"] } else { &["get"] }));
        if let Some(accounts) = kinds.accounts {
            // To put a finalizer on an account while resources use it.
            rules.push(rule(&[accounts.group], &[accounts.plural], &["get", "list", "watch", "patch"]));
        }
        // Before a replaced object is deleted, the dependents are read, whichever spoke of the group manages them.
        let groups: BTreeSet<&str> = crds.iter().map(|crd| &*crd.spec.group).collect();
        rules.extend(groups.into_iter().map(|group| rule(&[group], &["*"], &["get"])));
        let exports = ConfigExport::plural(&());
        rules.push(rule(&[&ConfigExport::group(&())], &[&exports], &["list"]));
        for crd in crds {
            let plural = &crd.spec.names.plural;
            let (status, finalizers) = (format!("{plural}/status"), format!("{plural}/finalizers"));
            rules.push(rule(&[&crd.spec.group], &[plural], &["get", "list", "watch", "patch"]));
            rules.push(rule(&[&crd.spec.group], &[&status], &["patch"]));
            rules.push(rule(&[&crd.spec.group], &[&finalizers], &["update"]));
        }
        rules
    }

    fn namespace_rules() -> Vec<PolicyRule> {
        hub_lease_rules()
    }

    fn hub_rules() -> Vec<PolicyRule> {
        let crds = Self::crds();
        // The hub checks whether a referenced resource exists, as long as the resource has published no state.
        let mut rules: Vec<_> =
            crds.iter().map(|crd| rule(&[&crd.spec.group], &[&crd.spec.names.plural], &["get"])).collect();
        // The hub's webhook reads the type of each field of a kind from the schema.
        let schemas = rule(&["apiextensions.k8s.io"], &["customresourcedefinitions"], &["get"]);
        let names = crds.into_iter().filter_map(|crd| crd.metadata.name).collect();
        rules.push(PolicyRule { resource_names: Some(names), ..schemas });
        rules
    }

    fn webhooks() -> Vec<Hook> {
        Self::definitions().hooks
    }

    async fn run(manager: Manager, args: Self::Args) -> anyhow::Result<()> {
        let context = S::connect(args.own, &manager).await?;
        let accounts = context.provider_accounts();
        let mut served = Compiled { context, kinds: vec![] };
        S::kinds(&mut served);
        let Compiled { kinds: served, .. } = served;
        let mut kinds = controller::Kinds::new(manager, args.common);
        let kind = served.iter().find_map(|(kind, _)| kind.info().accounts);
        if let Some((kind, accounts)) = kind.zip(accounts) {
            kinds = kinds.with_accounts(kind, accounts);
        }
        for hook in Self::webhooks() {
            kinds.mount(&hook);
        }
        kinds.run(served).await
    }
}

impl<S: Spoke> SpokeProgram<S> {
    /// What is derived from the list of kinds.
    fn definitions() -> Definitions {
        let mut kinds = Definitions::default();
        S::kinds(&mut kinds);
        kinds
    }
}

/// The permissions of the loop on Kraken's internal kinds.
pub fn loop_rules() -> Vec<PolicyRule> {
    vec![
        // The spoke accesses only its own objects; RBAC cannot distinguish them, so labels do.
        rule(
            &["core.kraken-iac.eoinfennessy.com"],
            &["dependencyrequests", "statedeclarations"],
            &["get", "list", "watch", "create", "patch", "delete"],
        ),
        // Questions of users what exists at the provider. Old ones are deleted.
        rule(&["core.kraken-iac.eoinfennessy.com"], &["importrequests"], &["get", "list", "watch", "delete"]),
        rule(&["core.kraken-iac.eoinfennessy.com"], &["importrequests/status"], &["patch"]),
    ]
}

/// The permission to check whether the hub is running, in the namespace of the controllers.
pub fn hub_lease_rules() -> Vec<PolicyRule> {
    let lease = rule(&["coordination.k8s.io"], &["leases"], &["get"]);
    vec![PolicyRule { resource_names: Some(vec![HUB_NAME.to_owned()]), ..lease }]
}

/// The CRDs, the webhooks and the rights that follow from the list of kinds.
#[derive(Default)]
struct Definitions {
    /// Each makes one. A controller that starts needs none of them, and they take seconds in a build that is not optimized.
    crds: Vec<fn() -> CustomResourceDefinition>,
    hooks: Vec<Hook>,
    make_secrets: bool,
    accounts: Option<AccountKind>,
}

impl<C> Registry<C> for Definitions {
    fn kind<E: FromContext<C>>(&mut self) {
        let features = E::kind().info().features;
        self.crds.push(crd::<C, E>);
        self.accounts = self.accounts.or(features.accounts);
        self.hooks.push(Hook::of_kind::<E::Resource>());
        self.make_secrets |= features.makes_secrets;
    }
}

/// The kinds of a spoke with their calls.
struct Compiled<C> {
    context: C,
    kinds: Vec<Served>,
}

impl<C> Registry<C> for Compiled<C> {
    fn kind<E: FromContext<C>>(&mut self) {
        self.kinds.push((E::kind(), Arc::new(E::from_context(&self.context))));
    }
}
