//! A spoke: the list of its kinds, with what they share.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kraken_api::{FOLLOWS_ANNOTATION, import_request::IMPORTABLE_CATEGORY};
use kraken_runtime::Manager;

use crate::{
    account::{KnownAccounts, with_account},
    dynamic::{Calls, Kind},
    exchange::SpokeKind,
};

/// A spoke: one binary that manages one or more kinds.
pub trait Spoke: Send + 'static {
    /// The name of the binary, its service account and its lease: `kraken-<folder of the controller>`.
    const NAME: &'static str;
    /// One line for `--help`.
    const ABOUT: &'static str;
    /// The spoke's own flags, such as the endpoint of the provider.
    type Args: clap::Args + std::fmt::Debug + Clone + Send + Sync;
    /// What the kinds of the spoke share, such as the client of the provider.
    type Context: SpokeContext;

    /// Creates the shared context. It must not fail because of missing credentials: they are reported as a condition of
    /// each resource.
    ///
    /// # Errors
    /// Only errors that prevent the management of every resource.
    fn connect(
        args: Self::Args,
        manager: &Manager,
    ) -> impl Future<Output = anyhow::Result<Self::Context>> + Send;

    /// Registers every kind, by `registry.kind::<K>()`.
    fn kinds(registry: &mut impl Registry<Self::Context>);
}

/// What the kinds of a spoke share.
pub trait SpokeContext: Clone + Send + Sync + 'static {
    /// The accounts of the provider, if it has any.
    fn provider_accounts(&self) -> Option<Arc<dyn KnownAccounts>> {
        None
    }
}

/// A kind that is compiled in: its calls are created from the shared context of a spoke's kinds.
pub trait FromContext<C>: Calls + Sized {
    /// The custom resource.
    type Resource: SpokeKind;

    /// The pure functions.
    fn kind() -> Arc<dyn Kind>;

    /// The calls.
    fn from_context(context: &C) -> Self;
}

/// Registers the kinds of a spoke.
pub trait Registry<C> {
    /// Adds a kind.
    fn kind<E: FromContext<C>>(&mut self);
}

/// The CRD of a kind that is compiled in.
pub fn crd<C, E: FromContext<C>>() -> CustomResourceDefinition {
    let features = E::kind().info().features;
    let columns: Vec<&str> = features.summary.iter().map(|(column, _)| *column).collect();
    let mut crd = if features.looks_up {
        kraken_api::crd::lookup_kind::<E::Resource>(&columns)
    } else {
        kraken_api::crd::summarised_kind::<E::Resource>(&columns)
    };
    if features.imports {
        // By the categories, kubectl kraken knows what to ask for.
        crd.spec.names.categories.get_or_insert_default().push(IMPORTABLE_CATEGORY.to_owned());
    }
    if let Some(accounts) = &features.accounts {
        with_account(&mut crd, accounts);
    }
    if !features.follows.is_empty() {
        let annotations = crd.metadata.annotations.get_or_insert_default();
        annotations.insert(FOLLOWS_ANNOTATION.to_owned(), features.follows.join(","));
    }
    crd
}
