//! The controllers as their real binaries, each with the token of its own service account and never with admin
//! permissions.

mod controller;
mod keeper;
mod webhooks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};

use crate::cluster::ControlPlane;
use crate::moto::{self, Moto};
use crate::ports::free_port;
use crate::scratch::Scratch;
use crate::{manifests, packaging, paths};

pub use controller::Controller;
use controller::Launch;
use keeper::Keeper;

/// The namespace of the controllers' service accounts and leases.
pub const NAMESPACE: &str = "kraken-system";

/// The options of a suite.
#[derive(Debug, Clone, Default)]
pub struct SuiteOptions {
    /// The controllers to start, by folder name, or shared processes; all under `controllers/` if `None`.
    pub only: Option<Vec<String>>,
    /// The resync interval (`5m`, `10s`, `0`); the controllers' default if `None`.
    pub resync_interval: Option<String>,
    /// The endpoint that they use as AWS instead of moto, for example a [`crate::Proxy`].
    pub cloud_endpoint: Option<String>,
    /// Environment of single controllers, by folder name: `Some` sets a variable, `None` removes it.
    pub env: BTreeMap<String, BTreeMap<String, Option<String>>>,
    /// Whether admission webhooks are enabled.
    pub webhooks: bool,
    /// The namespaces to watch, with Roles in each and no cluster-wide permissions (`config/overlays/namespaced`); all
    /// if `None`.
    pub namespaces: Option<Vec<String>>,
    /// Whether only the chosen controllers are installed, with their CRDs, as by `kubectl apply -k config/<component>` for each.
    pub installed_alone: bool,
    /// The folder of the binaries; that of the running executable if `None`.
    pub bin_dir: Option<PathBuf>,
}

impl SuiteOptions {
    /// Sets a variable for one controller.
    #[must_use]
    pub fn with_env(mut self, controller: &str, name: &str, value: &str) -> Self {
        let env = self.env.entry(controller.to_owned()).or_default();
        env.insert(name.to_owned(), Some(value.to_owned()));
        self
    }

    /// Removes a variable of one controller.
    #[must_use]
    pub fn without_env(mut self, controller: &str, name: &str) -> Self {
        self.env.entry(controller.to_owned()).or_default().insert(name.to_owned(), None);
        self
    }
}

/// The running controllers; stopped on drop.
#[derive(Debug)]
pub struct Suite {
    keeper: Option<Keeper>,
    controllers: Arc<BTreeMap<String, Controller>>,
    scratch: Scratch,
}

/// Installs the CRDs, the RBAC of controllers and users, and the admission policies, like `config/default` without the Deployments,
/// because there are no nodes.
///
/// # Errors
/// When they are not generated, or the API server rejects one.
pub async fn install(control_plane: &ControlPlane) -> Result<()> {
    install_components(control_plane, &paths::controllers()?).await
}

/// Applies the service accounts of this folder, such as `config/overlays/one-process`, and binds the roles to them.
///
/// # Errors
/// When it is not generated, or the API server rejects an object.
pub async fn bind(control_plane: &ControlPlane, folder: &str) -> Result<()> {
    let mut documents = packaging::kustomize(&paths::workspace_root()?.join(folder)).await?;
    documents.retain(|document| {
        matches!(document.gvk.kind.as_str(), "ServiceAccount" | "RoleBinding" | "ClusterRoleBinding")
    });
    manifests::apply(&control_plane.client().await?, &documents, NAMESPACE).await.map(drop)
}

/// Installs what these options require.
pub(crate) async fn install_for(control_plane: &ControlPlane, options: &SuiteOptions) -> Result<()> {
    match &options.namespaces {
        Some(namespaces) => install_in(control_plane, namespaces).await,
        None if options.installed_alone => {
            install_components(control_plane, options.only.as_deref().unwrap_or_default()).await
        }
        None => install(control_plane).await,
    }
}

/// As [`install`], with these components only.
async fn install_components(control_plane: &ControlPlane, components: &[String]) -> Result<()> {
    let client = control_plane.client().await?;
    let root = paths::workspace_root()?;
    let of_component = |name: &String| {
        let files = ["rbac", "policies"].map(|file| format!("config/{name}/{file}.yaml"));
        [format!("crds/{name}")].into_iter().chain(files)
    };
    let of_all = ["config/namespace", "config/users"].map(str::to_owned).into_iter();
    for path in of_all.chain(components.iter().flat_map(of_component)) {
        let documents = manifests::read(&root.join(&path))
            .with_context(|| format!("no manifests in {path}; run `cargo xtask gen`"))?;
        manifests::apply(&client, &documents, NAMESPACE).await?;
    }
    control_plane.restart_controller_manager().await
}

/// As [`install`], by `config/overlays/namespaced` with these namespaces, which must exist.
async fn install_in(control_plane: &ControlPlane, namespaces: &[String]) -> Result<()> {
    /// The namespace of the example in the overlay.
    const EXAMPLE: &str = "team-a";
    let client = control_plane.client().await?;
    let root = paths::workspace_root()?;
    let all = packaging::kustomize(&root.join("config/overlays/namespaced")).await?;
    let (example, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .filter(|document| document.gvk.kind != "Deployment")
        .partition(|document| document.namespace.as_deref() == Some(EXAMPLE));
    manifests::apply(&client, &others, NAMESPACE).await?;
    for namespace in namespaces {
        let mut documents = example.clone();
        for document in &mut documents {
            document.namespace = Some(namespace.clone());
            document.value["metadata"]["namespace"] = namespace.as_str().into();
        }
        manifests::apply(&client, &documents, namespace).await?;
    }
    control_plane.restart_controller_manager().await
}

/// The folder of providers, in the suite's folder.
const PROVIDERS: &str = "providers";

impl Suite {
    /// Installs CRDs and RBAC, starts the controllers, and waits until all are ready.
    ///
    /// # Errors
    /// When a binary is not built, a manifest is not generated, or a controller is not ready within a minute; the end
    /// of its log is in the message.
    pub async fn start(control_plane: &ControlPlane, moto: &Moto, options: SuiteOptions) -> Result<Self> {
        install_for(control_plane, &options).await?;
        Self::start_installed(control_plane, moto, options).await
    }

    /// As [`Suite::start`] on a control plane that has the CRDs and RBAC already: further controllers beside those of another
    /// suite.
    ///
    /// # Errors
    /// As [`Suite::start`].
    pub async fn start_installed(
        control_plane: &ControlPlane,
        moto: &Moto,
        options: SuiteOptions,
    ) -> Result<Self> {
        let all = paths::programs()?;
        let chosen = match &options.only {
            Some(chosen) => chosen.clone(),
            None => paths::controllers()?,
        };
        let named = chosen.iter().chain(options.env.keys());
        if let Some(unknown) = named.into_iter().find(|name| !all.contains(name)) {
            bail!("there is no controller `{unknown}`; there are: {}", all.join(", "));
        }
        let mut scratch = Scratch::new("suite")?;
        match launch(control_plane, moto, &options, &chosen, &scratch).await {
            Ok(controllers) => {
                let controllers = Arc::new(controllers);
                Ok(Self { keeper: Some(Keeper::of(controllers.clone())), controllers, scratch })
            }
            Err(error) => {
                scratch.keep();
                Err(error.context(format!(
                    "the controllers did not start; logs are in {}",
                    scratch.path().display()
                )))
            }
        }
    }

    /// The folder of the programs of OpenTofu providers, which a test creates.
    pub fn providers(&self) -> PathBuf {
        self.scratch.path().join(PROVIDERS)
    }

    /// The folder of logs.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// A controller by its folder name.
    ///
    /// # Errors
    /// When it is not part of this suite.
    pub fn controller(&self, name: &str) -> Result<&Controller> {
        self.controllers.get(name).with_context(|| {
            let names: Vec<&str> = self.controllers.keys().map(String::as_str).collect();
            format!("controller `{name}` was not started; these were: {}", names.join(", "))
        })
    }

    /// The controllers that do not run, each with the last line of its log, as the part of an error message; empty if all run.
    pub fn ended(&self) -> String {
        let ended = self.controllers().filter(|controller| !controller.is_running());
        let lines = ended.map(|controller| {
            let log = controller.log_text().unwrap_or_default();
            format!("; {} is not running: {}", controller.name(), log.lines().last().unwrap_or("no log"))
        });
        lines.collect()
    }

    /// All controllers, by folder name.
    pub fn controllers(&self) -> impl Iterator<Item = &Controller> {
        self.controllers.values()
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        drop(self.keeper.take()); // no controller is restarted any more
        for controller in self.controllers.values() {
            controller.begin_stop(); // all at once; dropping each one waits for it
        }
    }
}

async fn launch(
    control_plane: &ControlPlane,
    moto: &Moto,
    options: &SuiteOptions,
    chosen: &[String],
    scratch: &Scratch,
) -> Result<BTreeMap<String, Controller>> {
    let bin_dir = match &options.bin_dir {
        Some(folder) => folder.clone(),
        None => paths::bin_dir()?,
    };
    let endpoint = options.cloud_endpoint.as_deref().unwrap_or_else(|| moto.endpoint());
    let mut controllers = BTreeMap::new();
    for name in chosen {
        let account = format!("kraken-{name}");
        let program = bin_dir.join(&account);
        if !program.is_file() {
            bail!("{} is not built; run `cargo build --workspace --bins`", program.display());
        }
        let kubeconfig = control_plane.kubeconfig_for_service_account(NAMESPACE, &account).await.with_context(|| {
            format!("config/{name}/rbac.yaml must contain service account {NAMESPACE}/{account}; run `cargo xtask gen`")
        })?;
        let mut env: BTreeMap<String, String> = moto::environment(endpoint).into_iter().collect();
        env.extend([
            ("KUBECONFIG".to_owned(), kubeconfig.display().to_string()),
            ("KRAKEN_LEASE_NAMESPACE".to_owned(), NAMESPACE.to_owned()),
            ("KRAKEN_LOG_FORMAT".to_owned(), "text".to_owned()),
            ("KRAKEN_PROVIDERS_FOLDER".to_owned(), scratch.path().join(PROVIDERS).display().to_string()),
        ]);
        if let Some(interval) = &options.resync_interval {
            env.insert("KRAKEN_RESYNC_INTERVAL".to_owned(), interval.clone());
        }
        if options.webhooks {
            let port = free_port()?;
            webhooks::install(&control_plane.client().await?, name, port).await?;
            env.insert("KRAKEN_WEBHOOK_LISTEN".to_owned(), format!("127.0.0.1:{port}"));
        }
        if let Some(namespaces) = &options.namespaces {
            env.insert("KRAKEN_NAMESPACES".to_owned(), namespaces.join(","));
        }
        for (variable, value) in options.env.get(name).into_iter().flatten() {
            match value {
                Some(value) => env.insert(variable.clone(), value.clone()),
                None => env.remove(variable),
            };
        }
        let launch = Launch { name: name.clone(), program, env, folder: scratch.path().to_owned() };
        controllers.insert(name.clone(), Controller::spawn(launch)?);
    }
    // They were all started before the first is waited for, because they get ready at the same time.
    for controller in controllers.values() {
        controller.wait_ready().await?;
        if options.webhooks {
            webhooks::wait(&control_plane.client().await?, controller.name()).await?;
        }
    }
    Ok(controllers)
}
