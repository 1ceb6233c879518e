//! ProviderInstalls: loads the program of a provider, and makes its resource types kinds of the cluster and of this process.
//!
//! Every replica adds the kinds, so that it can review objects and take over; only the leader writes. Nothing that is in use is removed:
//! a type whose resources exist, a field that a resource has, a ProviderInstall with resources.

mod choose;
mod compared;
mod crds;
mod lost;
mod outcome;
mod program;
mod serving;
mod switch;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use choose::{Chosen, choose};
use compared::Compared;
use crds::Crds;
use kraken_kind::runtime::{
    Manager,
    patch::{ApiError, set_finalizer},
    queue::Requeue,
    report::report,
    watch::{ObjectKey, Store},
};
use kraken_spoke::controller::Kinds;
use kraken_tfplugin::{HostLink, StartError};
use kube::{Api, ResourceExt};
use outcome::{Installed, Outcome};
use parking_lot::Mutex;
use tracing::warn;

use crate::{
    api::ProviderInstall,
    config::Configs,
    provider::{Program, ProgramOptions},
};

/// Removed only when no resources of its kinds exist.
const FINALIZER: &str = "providers.kraken-iac.eoinfennessy.com/kinds";
/// What a process has loaded of one ProviderInstall.
#[derive(Clone)]
struct Loaded {
    program: Arc<Program>,
    /// The keys of its kinds, by the names of their CRDs.
    kinds: BTreeMap<String, String>,
    /// Whether these are all kinds of the ProviderInstall.
    is_complete: bool,
}

/// The ProviderInstalls of the cluster. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Installs(Arc<Inner>);

struct Inner {
    manager: Manager,
    kinds: Kinds,
    configs: Configs,
    /// The folder of programs.
    folder: PathBuf,
    /// What runs programs.
    host: HostLink,
    known: Store<ProviderInstall>,
    loaded: Mutex<BTreeMap<String, Loaded>>,
    /// The programs that were started and do not serve, by the name of their ProviderInstall.
    started: Mutex<BTreeMap<String, Arc<Program>>>,
    /// The plans of programs that do not serve.
    compared: Mutex<BTreeMap<String, Compared>>,
    leads: AtomicBool,
    /// Held during each reconcile: two installs can want the same type.
    one: tokio::sync::Mutex<()>,
}

impl Installs {
    pub(crate) fn new(
        manager: Manager,
        kinds: Kinds,
        configs: Configs,
        folder: PathBuf,
        host: HostLink,
        known: Store<ProviderInstall>,
    ) -> Self {
        let (loaded, started, compared) = Default::default();
        let (leads, one) = (AtomicBool::new(false), tokio::sync::Mutex::default());
        let inner =
            Inner { manager, kinds, configs, folder, host, known, loaded, started, compared, leads, one };
        Self(Arc::new(inner))
    }

    /// This process leads from now on.
    pub(crate) fn lead(&self) {
        self.0.leads.store(true, Ordering::SeqCst);
    }

    /// All that exist.
    pub(crate) fn all(&self) -> Vec<ObjectKey> {
        self.0.known.all().iter().map(|install| ObjectKey::of(&install.metadata)).collect()
    }

    /// The program of the ProviderInstall with this name, if it is loaded.
    pub(crate) fn program(&self, install: &str) -> Option<Arc<Program>> {
        self.0.loaded.lock().get(install).map(|loaded| loaded.program.clone())
    }

    /// Whether all resources of the kinds of this ProviderInstall are known, or there is none.
    pub(crate) fn is_served(&self, install: &str) -> bool {
        match self.0.loaded(install) {
            Some(loaded) => {
                loaded.is_complete && self.0.kinds.are_listed(loaded.kinds.values().map(String::as_str))
            }
            None => self.0.known.get(&ObjectKey::new("", install)).is_none(),
        }
    }

    /// One reconcile of one ProviderInstall.
    pub(crate) async fn reconcile(&self, key: &ObjectKey) -> Requeue {
        let _one = self.0.one.lock().await;
        let Some(install) = self.0.known.get(key) else {
            // Its finalizer was removed by somebody else: the kinds stay as long as the process runs, with their resources.
            return Requeue::Never;
        };
        let is_deleted = install.metadata.deletion_timestamp.is_some();
        let outcome =
            if is_deleted { self.0.uninstall(&install).await } else { self.0.install(&install).await };
        let outcome = outcome.unwrap_or_else(Outcome::Kubernetes);
        let requeue = outcome.requeue();
        if !self.0.leads() || matches!(outcome, Outcome::Gone) {
            return requeue;
        }
        let (manager, status) = (&self.0.manager, outcome.status(&install));
        let api = Api::all(manager.client.clone());
        match report(manager, &api, &*install, install.status.as_ref(), &status, "Install").await {
            Ok(()) => requeue,
            Err(error) if error.is_not_found() => Requeue::Never,
            Err(error) => {
                if !error.is_conflict() {
                    warn!(%error, "failed to report on a ProviderInstall; retrying");
                }
                Requeue::Backoff
            }
        }
    }
}

impl Inner {
    fn leads(&self) -> bool {
        self.leads.load(Ordering::SeqCst)
    }

    fn loaded(&self, install: &str) -> Option<Loaded> {
        self.loaded.lock().get(install).cloned()
    }

    /// The program with these options, which is started unless it was.
    async fn program(&self, name: &str, options: ProgramOptions) -> Result<Arc<Program>, StartError> {
        let serving = self.loaded(name).map(|loaded| loaded.program);
        let started = self.started.lock().get(name).cloned();
        let mut known = [serving, started].into_iter().flatten();
        if let Some(program) = known.find(|program| *program.options() == options) {
            return Ok(program);
        }
        let program = Arc::new(Program::load(self.host.clone(), options).await?);
        self.started.lock().insert(name.to_owned(), program.clone());
        Ok(program)
    }

    /// Loads the program, and makes its types kinds.
    async fn install(&self, install: &ProviderInstall) -> Result<Outcome, ApiError> {
        let (name, options) =
            (install.name_any(), program::options(&self.folder, &program::wanted(&install.spec)));
        if self.leads() && !install.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
            let api: Api<ProviderInstall> = Api::all(self.manager.client.clone());
            set_finalizer(&api, self.manager.name, &install.metadata, FINALIZER, true).await?;
            return Ok(Outcome::Again); // the watch returns it with its new version
        }
        let existing = crds::existing(&self.manager).await?;
        let former_program = program::former(install);
        if let Some(used) = &former_program {
            self.continue_with(install, used, &existing).await;
            if !self.leads() {
                return Ok(Outcome::Again); // the leader decides when the other one takes over
            }
        }
        let before = self.loaded(&name);
        let program = match self.program(&name, options).await {
            Ok(program) => program,
            Err(error) => {
                return Ok(Outcome::NotStarted(format!("failed to start the provider: {error}")));
            }
        };
        let config = program.has_options().then_some(name.as_str());
        let chosen = match choose(program.schema(), &install.spec, config) {
            Ok(chosen) => chosen,
            Err(problems) => return Ok(Outcome::Invalid(problems)),
        };
        let taken = taken(&name, &chosen, &existing);
        if !taken.is_empty() {
            return Ok(Outcome::Invalid(taken));
        }
        let kept: BTreeSet<String> = chosen.iter().map(|one| crds::name(&one.crd)).collect();
        let of_install = existing.iter().filter(|(_, crd)| crds::install_of(crd) == Some(&name));
        let (former, current): (Crds, Crds) = of_install
            .map(|(name, crd)| (name.clone(), crd.clone()))
            .partition(|(crd, _)| !kept.contains(crd));
        let mut in_use = self.removed_in_use(&former).await?;
        let lost = self.lost_in_use(&current, &chosen).await?;
        let affected: BTreeSet<String> = lost.keys().cloned().collect();
        in_use.extend(lost.into_values().flatten());
        if !in_use.is_empty() {
            if before.is_none() && former_program.is_none() {
                // This process just started: what the change does not concern is managed meanwhile.
                let mut safe = chosen;
                safe.retain(|one| {
                    let crd = crds::name(&one.crd);
                    current.contains_key(&crd) && !affected.contains(&crd)
                });
                self.serve(&name, &program, safe, false).await;
            }
            return Ok(Outcome::InUse(in_use));
        }
        if former_program.is_some() {
            return self.switch(install, &program, chosen, &current).await;
        }
        let mut is_changed = false;
        if self.leads() {
            let wanted = chosen.iter().map(|one| crds::labelled(one.crd.clone(), &name)).collect();
            is_changed = crds::write(&self.manager, wanted, &existing).await?;
        }
        let installed = Installed::of(&program, &chosen);
        self.serve(&name, &program, chosen, true).await;
        if !self.remove(&name, &former).await? {
            return Ok(Outcome::Removing(former.len()));
        }
        let existing = if is_changed { crds::existing(&self.manager).await? } else { existing };
        let unserved = crds::unserved(&kept, &existing);
        if unserved > 0 {
            return Ok(Outcome::Waiting(unserved));
        }
        Ok(Outcome::Installed(installed))
    }

    /// The kinds that would be removed although they are in use.
    async fn removed_in_use(&self, former: &Crds) -> Result<Vec<String>, ApiError> {
        let mut all = vec![];
        // One that is being deleted had no resources.
        for crd in former.values().filter(|crd| crd.metadata.deletion_timestamp.is_none()) {
            all.extend(crds::in_use(&self.manager, crd).await?);
        }
        Ok(all)
    }

    /// The kinds that would lose a field that is in use, by the names of their CRDs, with what uses it.
    async fn lost_in_use(
        &self,
        current: &Crds,
        chosen: &[Chosen],
    ) -> Result<BTreeMap<String, Vec<String>>, ApiError> {
        let mut all = BTreeMap::new();
        for Chosen { crd, .. } in chosen {
            let name = crds::name(crd);
            let Some(before) = current.get(&name) else { continue };
            let using = crds::using(&self.manager, before, &lost::lost(before, crd)).await?;
            if !using.is_empty() {
                all.insert(name, using);
            }
        }
        Ok(all)
    }

    /// Removes all kinds of a ProviderInstall that is being deleted, if none has resources.
    async fn uninstall(&self, install: &ProviderInstall) -> Result<Outcome, ApiError> {
        let name = install.name_any();
        let existing = crds::existing(&self.manager).await?;
        let former: Crds =
            existing.into_iter().filter(|(_, crd)| crds::install_of(crd) == Some(&name)).collect();
        let in_use = self.removed_in_use(&former).await?;
        if !in_use.is_empty() {
            return Ok(Outcome::InUse(in_use));
        }
        if !self.remove(&name, &former).await? {
            return Ok(Outcome::Removing(former.len()));
        }
        // A standby has kinds of which the leader deleted the CRDs.
        self.started.lock().remove(&name);
        self.compared.lock().remove(&name);
        let loaded = self.loaded.lock().remove(&name);
        for key in loaded.iter().flat_map(|loaded| loaded.kinds.values()) {
            self.kinds.remove(key).await;
        }
        if self.leads() && install.finalizers().iter().any(|finalizer| finalizer == FINALIZER) {
            let api: Api<ProviderInstall> = Api::all(self.manager.client.clone());
            set_finalizer(&api, self.manager.name, &install.metadata, FINALIZER, false).await?;
        }
        Ok(Outcome::Gone)
    }
}

/// The types among these that are kinds of another ProviderInstall.
fn taken(name: &str, chosen: &[Chosen], existing: &Crds) -> Vec<String> {
    let other = |one: &Chosen| {
        let crd = existing.get(&crds::name(&one.crd))?;
        let other = crds::install_of(crd).filter(|install| *install != name)?;
        Some(format!(
            "{}: {} is a kind of ProviderInstall {other} already: leave it out here or there",
            one.of.field(),
            one.of.type_name()
        ))
    };
    chosen.iter().filter_map(other).collect()
}
