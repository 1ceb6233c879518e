//! The controllers of the kinds of a ProviderInstall.

use std::sync::Arc;

use kraken_kind::{dynamic::Served, runtime::patch::ApiError};
use tracing::info;

use super::{
    Inner, Loaded,
    choose::{Chosen, Of},
    crds::{self, Crds},
};
use crate::{
    config::OfInstall,
    data::DataExternal,
    external::TofuExternal,
    provider::{Config, Program, Provider},
    review::Reviewer,
};

impl Inner {
    /// The kinds and their calls to this program.
    pub(super) fn calls(&self, name: &str, program: &Arc<Program>, chosen: Vec<Chosen>) -> Vec<Served> {
        let own = Arc::new(Provider::new(program.clone(), Config::default()));
        let configs = OfInstall { configs: self.configs.clone(), install: name.into() };
        let configs = program.has_options().then_some(configs);
        let served = |one: Chosen| -> Served {
            let reviewer = Reviewer { configs: self.configs.clone(), program: program.clone() };
            match one.of {
                Of::Resource(kind) => {
                    let (client, manager) = (self.manager.client.clone(), self.manager.name);
                    let external = TofuExternal::new(own.clone(), &kind, client, manager);
                    let external = configs.clone().into_iter().fold(external, TofuExternal::configured_by);
                    (kind, Arc::new(external.reviewed_by(reviewer)))
                }
                Of::Data(kind) => {
                    let external = DataExternal::new(own.clone(), &kind, configs.clone(), reviewer);
                    (kind, Arc::new(external))
                }
            }
        };
        chosen.into_iter().map(served).collect()
    }

    /// Starts the controllers of these kinds. Those that run with another program, or another schema, are stopped before, after their
    /// operations.
    pub(super) async fn serve(
        &self,
        name: &str,
        program: &Arc<Program>,
        chosen: Vec<Chosen>,
        is_complete: bool,
    ) {
        let before = self.loaded(name);
        let is_other = before.as_ref().is_some_and(|before| !Arc::ptr_eq(&before.program, program));
        let mut kinds = before.map(|before| before.kinds).unwrap_or_default();
        if is_other {
            info!(provider = name, "the program of the provider changed");
            futures::future::join_all(kinds.values().map(|key| self.kinds.remove(key))).await;
            // Those that are not chosen any more have no resources: their CRDs are deleted next.
            kinds.clear();
        }
        let mut added = vec![];
        for one in chosen {
            let key = one.key().to_owned();
            if kinds.insert(crds::name(&one.crd), key).is_none() {
                added.push(one);
            }
        }
        let added = self.calls(name, program, added);
        self.started.lock().remove(name);
        self.compared.lock().remove(name);
        self.loaded.lock().insert(name.to_owned(), Loaded { program: program.clone(), kinds, is_complete });
        if !added.is_empty() {
            self.kinds.add(added);
        }
    }

    /// Removes these kinds, which have no resources. Their controllers run until the CRDs are gone: a resource that was created a
    /// moment ago is deleted with its CRD, as any other. Returns whether all are gone.
    pub(super) async fn remove(&self, name: &str, former: &Crds) -> Result<bool, ApiError> {
        if self.leads() {
            for crd in former.values() {
                crds::delete(&self.manager, crd).await?;
            }
        }
        let existing = if former.is_empty() { Crds::new() } else { crds::existing(&self.manager).await? };
        let loaded = self.loaded(name).map(|loaded| loaded.kinds).unwrap_or_default();
        let mut are_gone = true;
        for crd in former.keys() {
            if existing.contains_key(crd) {
                are_gone = false;
            } else if let Some(key) = loaded.get(crd) {
                self.kinds.remove(key).await;
                if let Some(loaded) = self.loaded.lock().get_mut(name) {
                    loaded.kinds.remove(crd);
                }
            }
        }
        Ok(are_gone)
    }
}
