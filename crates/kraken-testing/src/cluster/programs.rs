//! The programs of the control plane, on ports that are free, with what a node and the audit log need.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use kraken_local::control_plane::{self, CONTROLLERS, DATA, EtcdPorts, Start, WITHOUT_NODES, file};

use super::{ControlPlaneOptions, audit_log};
use crate::assets::Assets;
use crate::node::{Network, SERVICES};
use crate::ports::{PORT_ATTEMPTS, free_port, free_port_at};
use crate::process::{Process, Spec};

/// Starts etcd and waits until it responds; returns its client URL.
pub(super) async fn start_etcd(assets: &Assets, folder: &Path) -> Result<(Process, String)> {
    for _ in 0..PORT_ATTEMPTS {
        let ports = EtcdPorts { clients: free_port()?, peers: free_port()?, health: None };
        // The data does not outlive the process anyway.
        let spec = control_plane::etcd(assets, folder, ports).arg("--unsafe-no-fsync");
        let mut etcd = Process::spawn(&spec)?;
        match control_plane::etcd_ready(&mut etcd, ports).await? {
            Start::Ready => return Ok((etcd, ports.url())),
            Start::LostItsPort => fs::remove_dir_all(folder.join(DATA)).ok(), // it contains the former peer URL
        };
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
    let mut spec = control_plane::apiserver(assets, folder, address, port, etcd_url);
    spec = match options.network {
        None => spec.args(WITHOUT_NODES),
        Some(_) => spec
            .arg("--authorization-mode=Node,RBAC")
            .arg(format!("--service-cluster-ip-range={SERVICES}"))
            .arg("--enable-admission-plugins=NodeRestriction")
            .arg("--enable-aggregator-routing=true") // a Service's pods are called directly: its own address is the node's only
            .arg(file(folder, "client-ca-file", "ca.crt"))
            .arg(file(folder, "kubelet-certificate-authority", "ca.crt"))
            .arg(file(folder, "kubelet-client-certificate", "kubelet-client.crt"))
            .arg(file(folder, "kubelet-client-key", "kubelet-client.key"))
            .arg("--kubelet-preferred-address-types=InternalIP"),
    };
    if options.audit {
        spec = spec
            .arg(file(folder, "audit-policy-file", "audit-policy.yaml"))
            .arg(format!("--audit-log-path={}", audit_log(folder).display()));
    }
    let apiserver = Process::spawn(&spec).context("cannot start kube-apiserver")?;
    Ok((apiserver, format!("https://{address}:{port}")))
}

/// kube-controller-manager with the controllers that Kraken relies on, and those that pods require, if there is a node.
pub(super) fn controller_manager(assets: &Assets, folder: &Path, options: ControlPlaneOptions) -> Spec {
    const WITH_NODE: &str = "root-ca-certificate-publisher-controller,deployment-controller,replicaset-controller,\
                             endpointslice-controller,disruption-controller,node-lifecycle-controller,\
                             taint-eviction-controller,pod-garbage-collector-controller";
    match options.network {
        None => control_plane::controller_manager(assets, folder, CONTROLLERS),
        Some(_) => control_plane::controller_manager(assets, folder, &format!("{CONTROLLERS},{WITH_NODE}"))
            .arg(file(folder, "root-ca-file", "ca.crt")),
    }
}
