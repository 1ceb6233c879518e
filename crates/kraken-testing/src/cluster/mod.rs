//! A local Kubernetes control plane: etcd, kube-apiserver and kube-controller-manager on loopback.

mod baseline;
mod etcd;
mod programs;
mod stored;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kraken_local::control_plane::{self, Start, admin_kubeconfig};
use kraken_local::pki::{self, Authority, write_private};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::OnceCell;

pub(crate) use self::baseline::Seed;
use crate::assets::Assets;
use crate::node::{API_SERVICE, NAME as NODE, Network};
use crate::process::Process;
use crate::scratch::Scratch;
use crate::{audit, kubeconfig};

const READY_WITHIN: Duration = Duration::from_mins(2);
/// The identities of the parts of a node: the name of a kubeconfig, a user and its group.
const NODE_USERS: [(&str, &str, &str); 3] = [
    ("kubelet", "system:node:kraken-node", "system:nodes"),
    ("proxy", "system:kube-proxy", "system:authenticated"),
    ("scheduler", "system:kube-scheduler", "system:authenticated"),
];
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// The options of a control plane.
#[derive(Debug, Clone, Copy, Default)]
pub struct ControlPlaneOptions {
    /// Log every write of the service accounts in `kraken-system`, and their reads of single objects; read it with
    /// [`ControlPlane::writes`] and [`ControlPlane::requests`].
    pub audit: bool,
    /// The network of a node that is going to join ([`crate::node`]).
    pub network: Option<Network>,
}

/// A running control plane; stopped on drop, its data removed.
#[derive(Debug)]
pub struct ControlPlane {
    // Fields are dropped in this order, which is the order to stop them in.
    controller_manager: Mutex<Process>,
    apiserver: Process,
    _etcd: Process,
    etcd_url: String,
    server: String,
    ca: String,
    assets: Assets,
    options: ControlPlaneOptions,
    audit_log: Option<PathBuf>,
    /// The lines of the log that are of an earlier environment.
    audited_before: AtomicUsize,
    baseline: tokio::sync::Mutex<Option<baseline::Baseline>>,
    scratch: Scratch,
}

impl ControlPlane {
    /// Starts one with the defaults; takes a few seconds if the binaries exist.
    ///
    /// # Errors
    /// When a program cannot be built, started, or is not ready within two minutes; the error contains the path of its
    /// log.
    pub async fn start() -> Result<Self> {
        Self::start_with(ControlPlaneOptions::default()).await
    }

    /// Starts one.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub async fn start_with(options: ControlPlaneOptions) -> Result<Self> {
        Self::start_from(options, None).await
    }

    /// Starts one, with what is installed on another one.
    pub(crate) async fn start_from(options: ControlPlaneOptions, seed: Option<&Seed>) -> Result<Self> {
        let assets = Assets::ensure().await?;
        let mut scratch = Scratch::new("cluster")?;
        match launch(&assets, options, scratch.path(), seed).await {
            Ok(parts) => Ok(Self {
                controller_manager: Mutex::new(parts.controller_manager),
                apiserver: parts.apiserver,
                _etcd: parts.etcd,
                etcd_url: parts.etcd_url,
                server: parts.server,
                ca: parts.ca,
                assets,
                options,
                audit_log: options.audit.then(|| audit_log(scratch.path())),
                audited_before: AtomicUsize::default(),
                baseline: tokio::sync::Mutex::default(),
                scratch,
            }),
            Err(error) => {
                scratch.keep();
                let context =
                    format!("the control plane did not start; logs are in {}", scratch.path().display());
                Err(error.context(context))
            }
        }
    }

    /// The control plane that all tests of this process share; started on first use.
    ///
    /// Tests are separated by namespace ([`crate::namespace()`]). Each test creates its own [`ControlPlane::client`],
    /// because a client belongs to the runtime that created it and every `#[tokio::test]` has its own.
    ///
    /// # Errors
    /// As [`ControlPlane::start`]; the next caller retries.
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    /// The API's address.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// A kubeconfig with all permissions.
    pub fn admin_kubeconfig(&self) -> PathBuf {
        admin_kubeconfig(self.scratch.path())
    }

    /// The folder of logs, data and kubeconfigs.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// A client with all permissions, bound to the current runtime.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read.
    pub async fn client(&self) -> Result<Client> {
        kubeconfig::client(&self.admin_kubeconfig()).await
    }

    /// A kubeconfig with a token of that service account, which must exist.
    ///
    /// # Errors
    /// When the service account is absent or the file cannot be written.
    pub async fn kubeconfig_for_service_account(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() },
            ..TokenRequest::default()
        };
        let answer =
            accounts.create_token_request(name, &PostParams::default(), &request).await.with_context(
                || format!("cannot get a token of service account {namespace}/{name}; does it exist?"),
            )?;
        let status = answer.status.context("the response to a TokenRequest contains no token")?;
        let path = self.scratch.path().join(format!("{namespace}.{name}.kubeconfig"));
        kubeconfig::write(&path, &self.server, &self.ca, name, &status.token)?;
        Ok(path)
    }

    /// A client with the permissions of that service account.
    ///
    /// # Errors
    /// As [`ControlPlane::kubeconfig_for_service_account`].
    pub async fn client_for_service_account(&self, namespace: &str, name: &str) -> Result<Client> {
        kubeconfig::client(&self.kubeconfig_for_service_account(namespace, name).await?).await
    }

    /// Restarts kube-controller-manager.
    ///
    /// Its garbage collector discovers new kinds only every 30 seconds, a constant of Kubernetes; a restart after CRDs
    /// are installed avoids this delay.
    ///
    /// # Errors
    /// When it cannot be started again.
    pub async fn restart_controller_manager(&self) -> Result<()> {
        self.controller_manager().begin_stop();
        let started = Instant::now();
        while self.controller_manager().is_running() {
            if started.elapsed() > READY_WITHIN {
                bail!("kube-controller-manager does not stop");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let spec = programs::controller_manager(&self.assets, self.scratch.path(), self.options);
        *self.controller_manager() = Process::spawn(&spec)?;
        Ok(())
    }

    /// Every write that a service account of `kraken-system` made so far, since the control plane was started or [reset](Self::reset), oldest
    /// first.
    ///
    /// # Errors
    /// When this control plane was started without [`ControlPlaneOptions::audit`].
    pub fn writes(&self) -> Result<Vec<audit::Request>> {
        let mut requests = self.requests()?;
        requests.retain(|request| request.verb != "get");
        Ok(requests)
    }

    /// The same with every read of a single object.
    ///
    /// # Errors
    /// As [`ControlPlane::writes`].
    pub fn requests(&self) -> Result<Vec<audit::Request>> {
        let log = self.audit_log.as_ref().context("this control plane was started without its audit log")?;
        audit::read(log, self.audited_before.load(Ordering::Relaxed))
    }

    /// Copies the kubeconfig of a part of a node to its folder.
    pub(crate) fn copy_kubeconfig(&self, name: &str, folder: &Path) -> Result<()> {
        fs::copy(user_kubeconfig(self.scratch.path(), name), user_kubeconfig(folder, name))
            .map(drop)
            .with_context(|| format!("the control plane was started without a node: no kubeconfig of {name}"))
    }

    fn controller_manager(&self) -> MutexGuard<'_, Process> {
        self.controller_manager.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // These two may stop at the same time; etcd must be the last, which the order of the fields ensures.
        self.controller_manager().begin_stop();
        self.apiserver.begin_stop();
    }
}

fn user_kubeconfig(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.kubeconfig"))
}

fn audit_log(folder: &Path) -> PathBuf {
    folder.join("audit.jsonl")
}

struct Parts {
    controller_manager: Process,
    apiserver: Process,
    etcd: Process,
    etcd_url: String,
    server: String,
    ca: String,
}

async fn launch(
    assets: &Assets,
    options: ControlPlaneOptions,
    folder: &Path,
    seed: Option<&Seed>,
) -> Result<Parts> {
    let authority = Authority::new("kraken-testing")?;
    let token = pki::token()?;
    let addresses = options.network.into_iter().flat_map(|network| [network.host(), API_SERVICE]);
    authority.write(folder, addresses.map(|address| address.to_string()))?;
    let mut tokens = format!("{token},admin,admin,system:masters\n");
    let mut users = Vec::new();
    if let Some(network) = options.network {
        node_files(&authority, network, folder)?;
        for (file, user, group) in NODE_USERS {
            let token = pki::token()?;
            tokens = format!("{tokens}{token},{user},{file},{group}\n");
            users.push((file, token));
        }
    }
    write_private(&folder.join("tokens.csv"), &tokens)?;
    if options.audit {
        write_private(&folder.join("audit-policy.yaml"), audit::POLICY)?;
    }

    let (etcd, etcd_url) = programs::start_etcd(assets, folder).await?;
    if let Some(seed) = seed {
        seed.write(&etcd_url).await.context("cannot write what is installed to etcd")?;
    }
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        let (mut apiserver, server) = programs::start_apiserver(assets, folder, &etcd_url, options)?;
        let client = control_plane::admin(folder, &server, authority.pem(), &token).await?;
        for (name, token) in &users {
            kubeconfig::write(&user_kubeconfig(folder, name), &server, authority.pem(), name, token)?;
        }
        match control_plane::apiserver_ready(&mut apiserver, &client, deadline).await? {
            Start::LostItsPort => {}
            Start::Ready => {
                if let Some(seed) = seed {
                    seed.until_served(&client).await?;
                }
                let mut controller_manager =
                    Process::spawn(&programs::controller_manager(assets, folder, options))?;
                control_plane::controller_manager_ready(&mut controller_manager, &client, deadline).await?;
                let ca = authority.pem().to_owned();
                return Ok(Parts { controller_manager, apiserver, etcd, etcd_url, server, ca });
            }
        }
    }
}

/// The certificates for connections between API server and kubelet.
fn node_files(authority: &Authority, network: Network, folder: &Path) -> Result<()> {
    let kubelet = authority.server(vec![network.node().to_string(), NODE.to_owned()], "kubelet")?;
    let client = authority.client("kube-apiserver", "system:masters")?; // the permission to call the kubelet
    write_private(&folder.join("ca.crt"), authority.pem())?;
    write_private(&folder.join("kubelet.crt"), &kubelet.certificate)?;
    write_private(&folder.join("kubelet.key"), &kubelet.key)?;
    write_private(&folder.join("kubelet-client.crt"), &client.certificate)?;
    write_private(&folder.join("kubelet-client.key"), &client.key)
}
