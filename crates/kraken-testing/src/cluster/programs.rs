//! The start and the readiness checks of the programs of the control plane.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hyper::Request;
use k8s_openapi::api::core::v1::ServiceAccount;
use kraken_simulator::http;
use kube::{Api, Client};

use super::{ControlPlaneOptions, admin_kubeconfig, audit_log};
use crate::assets::Assets;
use crate::node::{Network, SERVICES};
use crate::ports::{free_port, free_port_at, lost_its_port};
use crate::process::{Process, Spec};

const POLL: Duration = Duration::from_millis(20);
const ETCD_READY_WITHIN: Duration = Duration::from_secs(20);
const PORT_ATTEMPTS: usize = 5;
/// Half as many garbage collections as by default: a third of the processor time of a server that starts is that, because each CRD that
/// is created makes it build its OpenAPI documents again. A limit (GOMEMLIMIT) costs far more than it saves once it is reached.
const FEW_COLLECTIONS: [(&str, &str); 1] = [("GOGC", "200")];

/// The result of a start without an error.
pub(super) enum Start {
    Ready,
    /// Another process bound the port before the server did: the start is retried with another port.
    LostItsPort,
}

/// Starts etcd and waits until it responds; returns its client URL.
pub(super) async fn start_etcd(assets: &Assets, folder: &Path) -> Result<(Process, String)> {
    for _ in 0..PORT_ATTEMPTS {
        let url = format!("http://127.0.0.1:{}", free_port()?);
        let peers = format!("http://127.0.0.1:{}", free_port()?);
        let data = folder.join("etcd");
        let spec = Spec::new("etcd", &assets.etcd, folder)
            .envs(FEW_COLLECTIONS)
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
                bail!("etcd does not respond; {}", etcd.log_tail());
            }
            tokio::time::sleep(POLL).await;
        }
        if !lost_its_port(etcd.log()) {
            bail!("etcd ended at once; {}", etcd.log_tail());
        }
        fs::remove_dir_all(&data).ok(); // it contains the former peer URL
        fs::remove_file(etcd.log()).context("cannot remove etcd's log")?;
    }
    bail!("etcd lost its port to other processes {PORT_ATTEMPTS} times")
}

/// Starts kube-apiserver on a port of its own; returns its URL.
pub(super) fn start_apiserver(
    assets: &Assets,
    folder: &Path,
    etcd_url: &str,
    options: ControlPlaneOptions,
) -> Result<(Process, String)> {
    let address = options.network.map_or(Ipv4Addr::LOCALHOST, Network::host);
    let port = free_port_at(address)?;
    let file = |flag: &str, name: &str| format!("--{flag}={}", folder.join(name).display());
    let mut spec = Spec::new("kube-apiserver", &assets.kube_apiserver, folder)
        .envs(FEW_COLLECTIONS)
        .grace(Duration::from_secs(3)) // it would wait long for an etcd that ended with this process
        .arg(format!("--etcd-servers={etcd_url}"))
        .arg(format!("--secure-port={port}"))
        .arg(format!("--bind-address={address}"))
        .arg(format!("--advertise-address={address}"))
        .arg(file("cert-dir", "apiserver"))
        .arg(file("tls-cert-file", "serving.crt"))
        .arg(file("tls-private-key-file", "serving.key"))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(file("service-account-key-file", "service-account.pub"))
        .arg(file("service-account-signing-key-file", "service-account.key"))
        .arg("--authorization-mode=Node,RBAC")
        .arg(file("token-auth-file", "tokens.csv"))
        .arg("--profiling=false");
    spec = match options.network {
        None => spec.arg("--service-cluster-ip-range=10.0.0.0/24").arg("--endpoint-reconciler-type=none"), // a loopback address may not be an endpoint
        Some(_) => spec
            .arg(format!("--service-cluster-ip-range={SERVICES}"))
            .arg("--enable-admission-plugins=NodeRestriction")
            .arg("--enable-aggregator-routing=true") // a Service's pods are called directly: its own address is the node's only
            .arg(file("client-ca-file", "ca.crt"))
            .arg(file("kubelet-certificate-authority", "ca.crt"))
            .arg(file("kubelet-client-certificate", "kubelet-client.crt"))
            .arg(file("kubelet-client-key", "kubelet-client.key"))
            .arg("--kubelet-preferred-address-types=InternalIP"),
    };
    if options.audit {
        spec = spec
            .arg(file("audit-policy-file", "audit-policy.yaml"))
            .arg(format!("--audit-log-path={}", audit_log(folder).display()));
    }
    Ok((Process::spawn(&spec)?, format!("https://{address}:{port}")))
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

/// kube-controller-manager with the controllers that Kraken relies on, and those that pods require, if there is a node.
pub(super) fn controller_manager(assets: &Assets, folder: &Path, options: ControlPlaneOptions) -> Spec {
    const ALWAYS: &str = "garbagecollector,namespace,serviceaccount,clusterrole-aggregation";
    const WITH_NODE: &str = "root-ca-certificate-publisher-controller,deployment-controller,replicaset-controller,\
                             endpointslice-controller,disruption-controller,node-lifecycle-controller,\
                             taint-eviction-controller,pod-garbage-collector-controller";
    let controllers = match options.network {
        None => ALWAYS.to_owned(),
        Some(_) => format!("{ALWAYS},{WITH_NODE}"),
    };
    let authority = options.network.map(|_| format!("--root-ca-file={}", folder.join("ca.crt").display()));
    Spec::new("kube-controller-manager", &assets.kube_controller_manager, folder)
        .arg(format!("--kubeconfig={}", admin_kubeconfig(folder).display()))
        .arg(format!("--controllers={controllers}"))
        .args(authority)
        .args(["--leader-elect=false", "--secure-port=0"])
        .args(["--kube-api-qps=200", "--kube-api-burst=400"]) // the default of 20 delays tests that delete many objects
}

/// Waits for its first visible result: the `default` service account of the `default` namespace.
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
            bail!("kube-controller-manager is not ready; {}", controller_manager.log_tail());
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}
