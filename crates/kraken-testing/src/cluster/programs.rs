//! The start and the readiness checks of the programs of the control plane.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hyper::Request;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client};

use super::{admin_kubeconfig, audit_log};
use crate::assets::Assets;
use crate::http;
use crate::process::{Process, Spec, free_port, lost_its_port};

const POLL: Duration = Duration::from_millis(20);
const ETCD_READY_WITHIN: Duration = Duration::from_secs(20);
const PORT_ATTEMPTS: usize = 5;

/// How a start ended when it was no error.
pub(super) enum Start {
    Ready,
    /// Another process took the port between our choice and the server's bind: choose again.
    LostItsPort,
}

/// Starts etcd and waits until it answers; returns its client URL.
pub(super) async fn start_etcd(assets: &Assets, folder: &Path) -> Result<(Process, String)> {
    for _ in 0..PORT_ATTEMPTS {
        let url = format!("http://127.0.0.1:{}", free_port()?);
        let peers = format!("http://127.0.0.1:{}", free_port()?);
        let data = folder.join("etcd");
        let spec = Spec::new("etcd", &assets.etcd, folder)
            .args(["--name=kraken", "--log-level=warn"])
            .arg("--unsafe-no-fsync") // the data does not outlive the process anyway
            .arg(format!("--data-dir={}", data.display()))
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"))
            .arg(format!("--listen-peer-urls={peers}"))
            .arg(format!("--initial-advertise-peer-urls={peers}"))
            .arg(format!("--initial-cluster=kraken={peers}"));
        let mut etcd = Process::spawn(&spec)?;
        let deadline = Instant::now() + ETCD_READY_WITHIN;
        loop {
            if http::get(&format!("{url}/health")).await.is_ok_and(|answer| answer.status == 200) {
                return Ok((etcd, url));
            }
            if !etcd.is_running() {
                break;
            }
            if Instant::now() > deadline {
                bail!("etcd does not answer; {}", etcd.log_tail());
            }
            tokio::time::sleep(POLL).await;
        }
        if !lost_its_port(etcd.log()) {
            bail!("etcd ended at once; {}", etcd.log_tail());
        }
        fs::remove_dir_all(&data).ok(); // it remembers the lost peer URL
        fs::remove_file(etcd.log()).context("cannot remove etcd's log")?;
    }
    bail!("etcd lost its port to other processes {PORT_ATTEMPTS} times")
}

/// Starts kube-apiserver on a port of its own; returns its URL.
pub(super) fn start_apiserver(
    assets: &Assets,
    folder: &Path,
    etcd_url: &str,
    audit: bool,
) -> Result<(Process, String)> {
    let port = free_port()?;
    let file = |flag: &str, name: &str| format!("--{flag}={}", folder.join(name).display());
    let mut spec = Spec::new("kube-apiserver", &assets.kube_apiserver, folder)
        .grace(Duration::from_secs(3)) // it would wait long for an etcd that died together with us
        .arg(format!("--etcd-servers={etcd_url}"))
        .arg(format!("--secure-port={port}"))
        .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
        .arg("--endpoint-reconciler-type=none") // a loopback address may not be an endpoint
        .arg(file("cert-dir", "apiserver"))
        .arg(file("tls-cert-file", "serving.crt"))
        .arg(file("tls-private-key-file", "serving.key"))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(file("service-account-key-file", "service-account.pub"))
        .arg(file("service-account-signing-key-file", "service-account.key"))
        .arg("--service-cluster-ip-range=10.0.0.0/24")
        .arg("--authorization-mode=Node,RBAC")
        .arg(file("token-auth-file", "tokens.csv"))
        .arg("--profiling=false");
    if audit {
        spec = spec
            .arg(file("audit-policy-file", "audit-policy.yaml"))
            .arg(format!("--audit-log-path={}", audit_log(folder).display()));
    }
    Ok((Process::spawn(&spec)?, format!("https://127.0.0.1:{port}")))
}

/// Waits until kube-apiserver is ready, including its bootstrap roles.
pub(super) async fn apiserver_ready(
    apiserver: &mut Process,
    client: &Client,
    deadline: Instant,
) -> Result<Start> {
    loop {
        let request = Request::get("/readyz").body(Vec::new()).context("cannot build a request")?;
        let Err(problem) = client.request_text(request).await else { return Ok(Start::Ready) };
        if !apiserver.is_running() {
            if lost_its_port(apiserver.log()) {
                fs::remove_file(apiserver.log()).context("cannot remove kube-apiserver's log")?;
                return Ok(Start::LostItsPort);
            }
            bail!("kube-apiserver ended at once; {}", apiserver.log_tail());
        }
        if Instant::now() > deadline {
            bail!("kube-apiserver is not ready ({problem}); {}", apiserver.log_tail());
        }
        tokio::time::sleep(POLL).await;
    }
}

/// kube-controller-manager with the three controllers that Kraken relies on.
pub(super) fn controller_manager(assets: &Assets, folder: &Path) -> Spec {
    Spec::new("kube-controller-manager", &assets.kube_controller_manager, folder)
        .arg(format!("--kubeconfig={}", admin_kubeconfig(folder).display()))
        .arg("--controllers=garbagecollector,namespace,serviceaccount,clusterrole-aggregation")
        .args(["--leader-elect=false", "--secure-port=0"])
        .args(["--kube-api-qps=200", "--kube-api-burst=400"]) // the default of 20 is felt when tests delete much
}

/// Waits for its first visible work: the `default` service account of the `default` namespace.
pub(super) async fn controller_manager_ready(
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
            bail!("kube-controller-manager does nothing; {}", controller_manager.log_tail());
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}
