//! The programs of a control plane: how they are started, and when they are ready.

use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hyper::Request;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};

use crate::assets::Assets;
use crate::ports::lost_its_port;
use crate::process::{Process, Spec};
use crate::{http, kubeconfig};

const POLL: Duration = Duration::from_millis(20);
/// The time in which etcd responds, also on a busy machine.
const ETCD_READY_WITHIN: Duration = Duration::from_secs(20);
/// Half as many garbage collections as by default: a third of the processor time of a server that starts is that, because each CRD that
/// is created makes it build its OpenAPI documents again. A limit (GOMEMLIMIT) costs far more than it saves once it is reached.
const FEW_COLLECTIONS: [(&str, &str); 1] = [("GOGC", "200")];
/// The controllers of kube-controller-manager that Kraken relies on.
pub const CONTROLLERS: &str = "garbagecollector,namespace,serviceaccount,clusterrole-aggregation";
/// The folder of etcd's data, in the folder of the control plane.
pub const DATA: &str = "etcd";
/// The kubeconfig with all permissions, in the folder of the control plane.
pub const ADMIN: &str = "admin.kubeconfig";

/// The result of a start without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// It responds.
    Ready,
    /// Another process bound the port before the server did: the start is retried with another port. The log is removed.
    LostItsPort,
}

/// The ports of etcd on loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtcdPorts {
    /// For its clients.
    pub clients: u16,
    /// For other members, of which there are none.
    pub peers: u16,
    /// For `/health` alone. If it is set, clients need a certificate ([`crate::pki::Authority::write_etcd`]); without it, every user of the
    /// machine can read and write the database, which is for tests.
    pub health: Option<u16>,
}

impl EtcdPorts {
    /// The URL for clients.
    pub fn url(self) -> String {
        self.at(self.clients)
    }

    fn at(self, port: u16) -> String {
        let scheme = if self.health.is_some() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{port}")
    }
}

/// etcd, with its data in `folder`.
pub fn etcd(assets: &Assets, folder: &Path, ports: EtcdPorts) -> Spec {
    let (url, peers) = (ports.url(), ports.at(ports.peers));
    let spec = Spec::new("etcd", &assets.etcd, folder)
        .envs(FEW_COLLECTIONS)
        .args(["--name=kraken", "--log-level=warn"])
        .arg(format!("--data-dir={}", folder.join(DATA).display()))
        .arg(format!("--listen-client-urls={url}"))
        .arg(format!("--advertise-client-urls={url}"))
        .arg(format!("--listen-peer-urls={peers}"))
        .arg(format!("--initial-advertise-peer-urls={peers}"))
        .arg(format!("--initial-cluster=kraken={peers}"));
    let Some(health) = ports.health else { return spec };
    spec.arg(format!("--listen-metrics-urls=http://127.0.0.1:{health}"))
        .args(["--client-cert-auth", "--peer-client-cert-auth", "--enable-grpc-gateway=false"])
        .args(ETCD_FILES.map(|(flag, name)| file(folder, flag, name)))
}

/// etcd's flags for certificates, and the files.
const ETCD_FILES: [(&str, &str); 6] = [
    ("cert-file", "etcd.crt"),
    ("key-file", "etcd.key"),
    ("trusted-ca-file", "etcd-ca.crt"),
    ("peer-cert-file", "etcd.crt"),
    ("peer-key-file", "etcd.key"),
    ("peer-trusted-ca-file", "etcd-ca.crt"),
];
/// kube-apiserver's flags for the same.
const ETCD_CLIENT_FILES: [(&str, &str); 3] = [
    ("etcd-cafile", "etcd-ca.crt"),
    ("etcd-certfile", "etcd-client.crt"),
    ("etcd-keyfile", "etcd-client.key"),
];

/// Waits until etcd responds.
///
/// # Errors
/// When it ends, or does not respond within 20 seconds; with the end of its log.
pub async fn etcd_ready(etcd: &mut Process, ports: EtcdPorts) -> Result<Start> {
    let deadline = Instant::now() + ETCD_READY_WITHIN;
    loop {
        if http::status(ports.health.unwrap_or(ports.clients), "/health")
            .await
            .is_ok_and(|(status, _)| status == 200)
        {
            return Ok(Start::Ready);
        }
        if !etcd.is_running() {
            return ended_at_once(etcd, "etcd");
        }
        if Instant::now() > deadline {
            bail!("etcd does not respond; {}", etcd.log_tail());
        }
        tokio::time::sleep(POLL).await;
    }
}

fn ended_at_once(process: &Process, name: &str) -> Result<Start> {
    if !lost_its_port(process.log()) {
        bail!("{name} ended at once; {}", process.log_tail());
    }
    fs::remove_file(process.log()).with_context(|| format!("cannot remove the log of {name}"))?;
    Ok(Start::LostItsPort)
}

/// A flag whose value is a file of `folder`.
pub fn file(folder: &Path, flag: &str, name: &str) -> OsString {
    let mut argument = OsString::from(format!("--{flag}="));
    argument.push(folder.join(name));
    argument
}

/// kube-apiserver, with the files that [`crate::pki`] describes in `folder`. It lacks `--authorization-mode` and the Services' range, which
/// depend on whether there are nodes.
pub fn apiserver(assets: &Assets, folder: &Path, address: Ipv4Addr, port: u16, etcd_url: &str) -> Spec {
    let with_certificate = etcd_url.starts_with("https").then_some(ETCD_CLIENT_FILES).into_iter().flatten();
    Spec::new("kube-apiserver", &assets.kube_apiserver, folder)
        .envs(FEW_COLLECTIONS)
        .grace(Duration::from_secs(3)) // it would wait long for an etcd that ended with this process
        .arg(format!("--etcd-servers={etcd_url}"))
        .arg(format!("--secure-port={port}"))
        .arg(format!("--bind-address={address}"))
        .arg(format!("--advertise-address={address}"))
        .arg(file(folder, "cert-dir", "apiserver"))
        .arg(file(folder, "tls-cert-file", "serving.crt"))
        .arg(file(folder, "tls-private-key-file", "serving.key"))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(file(folder, "service-account-key-file", "service-account.pub"))
        .arg(file(folder, "service-account-signing-key-file", "service-account.key"))
        .arg(file(folder, "token-auth-file", "tokens.csv"))
        .arg("--profiling=false")
        .args(with_certificate.map(|(flag, name)| file(folder, flag, name)))
}

/// The arguments of kube-apiserver if there is no node.
pub const WITHOUT_NODES: [&str; 3] = [
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--endpoint-reconciler-type=none", // a loopback address may not be an endpoint
];

/// Waits until kube-apiserver is ready, including its bootstrap roles.
///
/// # Errors
/// When it ends, or is not ready at the deadline; with the end of its log.
pub async fn apiserver_ready(apiserver: &mut Process, client: &Client, deadline: Instant) -> Result<Start> {
    loop {
        let request = Request::get("/readyz").body(Vec::new()).context("cannot build a request")?;
        let Err(problem) = client.request_text(request).await else { return Ok(Start::Ready) };
        if !apiserver.is_running() {
            return ended_at_once(apiserver, "kube-apiserver");
        }
        if Instant::now() > deadline {
            bail!("kube-apiserver is not ready ({problem}); {}", apiserver.log_tail());
        }
        tokio::time::sleep(POLL).await;
    }
}

/// kube-controller-manager with these controllers.
pub fn controller_manager(assets: &Assets, folder: &Path, controllers: &str) -> Spec {
    Spec::new("kube-controller-manager", &assets.kube_controller_manager, folder)
        .arg(file(folder, "kubeconfig", ADMIN))
        .arg(format!("--controllers={controllers}"))
        .args(["--leader-elect=false", "--secure-port=0"])
        .args(["--kube-api-qps=200", "--kube-api-burst=400"]) // the default of 20 delays the deletion of many objects
}

/// Waits for its first visible result: the `default` service account of the `default` namespace.
///
/// # Errors
/// When it ends, or is not ready at the deadline; with the end of its log.
pub async fn controller_manager_ready(
    controller_manager: &mut Process,
    client: &Client,
    deadline: Instant,
) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    while accounts.get_opt("default").await.context("cannot read service accounts")?.is_none() {
        if !controller_manager.is_running() {
            bail!("kube-controller-manager ended at once; {}", controller_manager.log_tail());
        }
        if Instant::now() > deadline {
            bail!("kube-controller-manager is not ready; {}", controller_manager.log_tail());
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// The path of the kubeconfig with all permissions.
pub fn admin_kubeconfig(folder: &Path) -> PathBuf {
    folder.join(ADMIN)
}

/// Writes the kubeconfig with all permissions and returns a client that uses it.
///
/// # Errors
/// When the file cannot be written.
pub async fn admin(folder: &Path, server: &str, ca_pem: &str, token: &str) -> Result<Client> {
    let path = admin_kubeconfig(folder);
    kubeconfig::write(&path, server, ca_pem, "admin", token)?;
    kubeconfig::client(&path).await
}
