//! A resource type of a provider, with what its calls share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kraken_kind::dynamic::Kind as _;
use kraken_tfplugin::schema::Schema;
use kube::{Client, core::ApiResource};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    config::OfInstall, journal::Journals, kind::TofuKind, marker, provider::Provider, review::Reviewer,
};

/// The number of resources that are read at the same time.
pub(crate) const READS: usize = 16;

/// The Secrets of the resources of one kind.
pub(crate) struct Secrets {
    pub(crate) client: Client,
    /// The field manager.
    pub(crate) manager: &'static str,
    pub(crate) resource: ApiResource,
}

/// The calls of one resource type.
#[derive(Clone)]
pub struct TofuExternal {
    pub(super) provider: Arc<Provider>,
    pub(super) type_name: String,
    pub(super) schema: Arc<Schema>,
    pub(super) is_marked: bool,
    pub(super) journals: Arc<Journals>,
    pub(super) secrets: Arc<Secrets>,
    /// Since when nothing was found of the creations without a response, by UID.
    pub(super) nothing_since: Arc<Mutex<BTreeMap<String, Instant>>>,
    /// The objects whose states were upgraded, by the UID of their resource and their launch.
    pub(super) upgraded: Arc<Mutex<BTreeSet<(String, i64)>>>,
    /// The configurations of namespaces, with which calls are made instead.
    pub(super) configs: Option<OfInstall>,
    pub(super) reviewer: Option<Reviewer>,
}

impl TofuExternal {
    /// The calls of the type of this kind. `manager` is the field manager of the journals.
    pub fn new(provider: Arc<Provider>, kind: &TofuKind, client: Client, manager: &'static str) -> Self {
        let (type_name, schema, info) = (kind.type_name().to_owned(), kind.schema().clone(), kind.info());
        Self {
            is_marked: marker::is_marked(provider.schema(), &type_name),
            secrets: Arc::new(Secrets { client: client.clone(), manager, resource: info.resource.clone() }),
            journals: Arc::new(Journals::new(client, manager, info.resource.clone(), info.key.clone())),
            nothing_since: Arc::default(),
            upgraded: Arc::default(),
            provider,
            type_name,
            schema,
            configs: None,
            reviewer: None,
        }
    }

    /// The same with the validations of the provider.
    #[must_use]
    pub(crate) fn reviewed_by(self, reviewer: Reviewer) -> Self {
        Self { reviewer: Some(reviewer), ..self }
    }

    /// The same, whose calls are made with the ProviderConfigs of namespaces.
    #[must_use]
    pub(crate) fn configured_by(self, configs: OfInstall) -> Self {
        Self { configs: Some(configs), ..self }
    }

    /// Whether a creation without a response is found again.
    pub fn is_marked(&self) -> bool {
        self.is_marked
    }
}

impl std::fmt::Debug for TofuExternal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TofuExternal").field("type_name", &self.type_name).finish_non_exhaustive()
    }
}
