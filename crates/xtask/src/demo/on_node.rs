//! The web tier on a real node: the controllers are pods, and another pod mounts the exported address.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kraken_testing::node::{NodeCluster, TOOLS, kubectl};
use kraken_testing::{paths, suite};

use crate::{node, ui};

const SAMPLES: &str = "config/samples/web-tier";
/// The sample's Deployment pulls an image from a registry. The demo uses [`client`] instead, whose image is built locally.
const DEPLOYMENT: &str = "06-deployment.yaml";
const OTHER_PORT: &str = "8080";

/// The cluster, and the kubeconfig for kubectl.
pub(super) struct OnNode {
    cluster: NodeCluster,
    kubeconfig: PathBuf,
    timeout: Duration,
}

impl OnNode {
    /// Starts the cluster and installs Kraken.
    pub(super) async fn begin(timeout: Duration) -> Result<Self> {
        ui::headline("Starting the environment");
        node::prepare().await?;
        let cluster = node::start(&[]).await?;
        let kubeconfig = cluster.control_plane.admin_kubeconfig();
        node::install(&kubeconfig, cluster.moto.endpoint()).await?;
        let demo = Self { cluster, kubeconfig, timeout };
        ui::headline("The controllers run as pods");
        print!("{}", demo.kubectl(&["-n", suite::NAMESPACE, "get", "pods", "-o", "wide"]).await?);
        Ok(demo)
    }

    /// A pod waits for the address of a load balancer that does not exist yet, then starts.
    pub(super) async fn create(&self) -> Result<()> {
        ui::headline(
            "Applying a Deployment that mounts the address of a load balancer that does not exist yet",
        );
        self.apply(&client()).await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        print!("{}", self.kubectl(&["get", "pods"]).await?);
        ui::headline(&format!("Applying {SAMPLES}"));
        for sample in samples()? {
            self.kubectl(&["apply", "--server-side", "-f", &sample]).await?;
        }
        let timeout = format!("--timeout={}s", self.timeout.as_secs());
        self.kubectl(&["wait", "kraken", "--all", "--for=condition=Ready", &timeout]).await?;
        print!("{}", self.kubectl(&["get", "kraken"]).await?);
        ui::headline("The log of the pod");
        self.until_pod_logs(":80/").await
    }

    /// One key of a ConfigMap changes, and the file that the pod mounts is updated.
    pub(super) async fn move_port(&self) -> Result<()> {
        ui::headline(&format!("Setting port: \"{OTHER_PORT}\" in ConfigMap web-tier"));
        let patch = format!(r#"{{"data":{{"port":"{OTHER_PORT}"}}}}"#);
        self.kubectl(&["patch", "configmap", "web-tier", "--type=merge", "-p", &patch]).await?;
        self.until_pod_logs(&format!(":{OTHER_PORT}/")).await
    }

    pub(super) fn print_next_steps(&self) {
        ui::headline("The demo keeps running. In a second terminal:");
        println!("{}", ui::exports(&self.kubeconfig, self.cluster.moto.endpoint()));
        println!("kubectl logs -f deployment/client");
        println!("kubectl -n {} logs deployment/kraken-hub", suite::NAMESPACE);
        println!("# Ctrl-C deletes the samples and stops every process that was started");
    }

    /// All resources are deleted at once; a dependency is deleted after its dependents.
    pub(super) async fn delete(&self) -> Result<()> {
        ui::headline("Deleting all resources at once");
        let timeout = format!("--timeout={}s", self.timeout.as_secs());
        ui::step("kubectl delete kraken --all", self.kubectl(&["delete", "kraken", "--all", &timeout]))
            .await
            .map(drop)
    }

    /// Waits until the last line of the pod's log contains this text, and prints the line.
    async fn until_pod_logs(&self, expected: &str) -> Result<()> {
        let started = Instant::now();
        loop {
            // Fails until the container is started.
            let logs = self.kubectl(&["logs", "deployment/client", "--tail=1"]).await.unwrap_or_default();
            if logs.contains(expected) {
                println!("{}   (after {:.1} s)", logs.trim(), started.elapsed().as_secs_f64());
                return Ok(());
            }
            if started.elapsed() > self.timeout {
                bail!("the pod did not log {expected}; the last line of its log: {logs}");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn apply(&self, yaml: &str) -> Result<()> {
        let path = self.cluster.node.folder().join("demo.yaml");
        std::fs::write(&path, yaml)?;
        self.kubectl(&["apply", "--server-side", "-f", &path.display().to_string()]).await.map(drop)
    }

    async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        kubectl(&self.kubeconfig, arguments).await
    }
}

fn samples() -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(paths::workspace_root()?.join(SAMPLES))? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name != DEPLOYMENT) {
            files.push(path.display().to_string());
        }
    }
    files.sort();
    files.reverse(); // dependents first: resources can be applied in any order
    Ok(files)
}

/// A Deployment whose pod prints the mounted address twice a second.
fn client() -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: client}}
spec:
  selector: {{matchLabels: {{app: client}}}}
  template:
    metadata: {{labels: {{app: client}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: client
        image: {TOOLS}
        command: [sh, -c, 'while true; do echo \"calling $(cat /etc/web/url)\"; sleep 0.5; done']
        volumeMounts: [{{name: web, mountPath: /etc/web}}]
      volumes: [{{name: web, configMap: {{name: web-address}}}}]
"
    )
}
