//! The settings of containerd, kubelet and kube-proxy for a temporary node.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::network::Network;
use super::{NAME, PAUSE, requirements};

/// The script that removes what remains after the node's processes end; the folder's cleanup shell runs it.
const AT_END: &str = r#"
ip link del "$name" 2>/dev/null
for attempt in $(seq 50); do
  for root in /sys/fs/cgroup /sys/fs/cgroup/*/; do
    [ -d "$root/$name" ] && find "$root/$name" -depth -type d -exec rmdir {} \; 2>/dev/null
  done
  found=
  for root in /sys/fs/cgroup /sys/fs/cgroup/*/; do [ -d "$root/$name" ] && found=1; done
  [ -z "$found" ] && break
  sleep 0.1
done
"#;

/// Writes them all to the node's folder; `files` is the control plane's, where the certificates are.
pub(super) fn write(folder: &Path, files: &Path, network: Network) -> Result<()> {
    let put = |name: &str, text: String| {
        let path = folder.join(name);
        path.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("cannot write {}", path.display()))
    };
    put("containerd.toml", containerd(folder))?;
    put("cni/10-bridge.conflist", cni(network).to_string())?;
    put("kubelet.yaml", kubelet(folder, files, network).to_string())?; // JSON is YAML
    put("proxy.yaml", proxy(folder, network).to_string())?;
    put("at-end.sh", format!("PATH=$PATH:/usr/sbin:/sbin\nname={}\n{AT_END}", network.name()))
}

fn containerd(folder: &Path) -> String {
    let folder = folder.display();
    let plugins = requirements::cni_plugins();
    // restrict_oom_score_adj: without CAP_SYS_RESOURCE, which root may lack in a container, runc could not start any
    // container.
    format!(
        r#"version = 2
root = "{folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"#
    )
}

fn cni(network: Network) -> Value {
    json!({
        "cniVersion": "0.4.0",
        "name": "node",
        "plugins": [{
            "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": network.pods()}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
}

fn kubelet(folder: &Path, files: &Path, network: Network) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": network.node(),
        "readOnlyPort": 0,
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": files.join("ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": files.join("kubelet.crt"),
        "tlsPrivateKeyFile": files.join("kubelet.key"),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{}", network.name()),
        "failCgroupV1": false,
        "failSwapOn": false,
        "enforceNodeAllocatable": [],
        // Pods are not evicted for the state of the machine's disk.
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "makeIPTablesUtilChains": false,
        "syncFrequency": "1s", // the delay of a change of a mounted ConfigMap; a minute by default
        "nodeStatusUpdateFrequency": "4s",
        "volumePluginDir": folder.join("plugins"),
        "maxPods": 60,
    })
}

fn proxy(folder: &Path, network: Network) -> Value {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": folder.join("proxy.kubeconfig")},
        "mode": "iptables",
        "hostnameOverride": NAME,
        "clusterCIDR": network.pods(),
        "conntrack": {"maxPerCore": 0, "min": 0}, // limits of the machine
    })
}
