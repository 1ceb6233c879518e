//! A real node for the test control plane: containerd, kubelet, kube-proxy and kube-scheduler.
//!
//! The node with all its pods runs in namespaces of its own (mount, network, process ids, IPC), joined to this machine by one pair
//! of virtual links. Ending its first process ends all of its processes, and the machine is not changed.
//! It requires root and some packages, which [`requirements::check`] reports.

mod cluster;
mod images;
mod network;
mod programs;
pub mod requirements;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::Node as NodeObject;
use kube::Api;
use tokio::process::Command;

pub use cluster::NodeCluster;
pub use images::{TOOLS, write_tools};
pub(crate) use network::{API_SERVICE, SERVICES};
pub use network::{Link, NAME, Network};
#[cfg(test)]
pub(crate) use programs::PROGRAMS;
pub use programs::{ensure, kubectl, kubectl_program};

use crate::cluster::ControlPlane;
use crate::process::{Process, Spec};
use crate::scratch::Scratch;

/// The image of the pause container of pods.
const PAUSE: &str = "docker.io/library/kraken-pause:0.1.0";
const INIT: &str = include_str!("init.sh");
const READY_WITHIN: Duration = Duration::from_mins(2);
const POLL: Duration = Duration::from_millis(100);

/// A running node; on drop it ends with all its pods.
#[derive(Debug)]
pub struct Node {
    // Fields are dropped in this order.
    scheduler: Process,
    namespaces: Process,
    _link: Link,
    scratch: Scratch,
}

impl Node {
    /// Starts it with these images (OCI archives) and waits until it is Ready. The control plane must have been
    /// started for the link's network.
    ///
    /// # Errors
    /// When a requirement is missing on this machine, or the node is not ready within two minutes; the error contains
    /// the folder of its logs.
    pub async fn start(control_plane: &ControlPlane, link: Link, images: &[PathBuf]) -> Result<Self> {
        requirements::check()?;
        let mut scratch = Scratch::new("node")?;
        match launch(control_plane, &link, images, scratch.path()).await {
            Ok((namespaces, scheduler)) => Ok(Self { scheduler, namespaces, _link: link, scratch }),
            Err(error) => {
                scratch.keep();
                Err(error
                    .context(format!("the node did not start; logs are in {}", scratch.path().display())))
            }
        }
    }

    /// The folder of logs.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Whether its processes run.
    pub fn is_running(&mut self) -> bool {
        self.namespaces.is_running() && self.scheduler.is_running()
    }

    /// A process inside of the node's namespaces.
    ///
    /// # Errors
    /// When the node has ended.
    pub fn first_process(&self) -> Result<i32> {
        first_process(self.namespaces.pid())?.context("the node has ended")
    }

    /// Adds an image (an OCI archive).
    ///
    /// # Errors
    /// When containerd rejects it.
    pub async fn load(&self, image: &Path) -> Result<()> {
        let init = self.first_process()?;
        let mut command = Command::new("nsenter");
        command.args([
            "--target",
            &init.to_string(),
            "--mount",
            "ctr",
            "--namespace",
            "k8s.io",
            "images",
            "import",
        ]);
        command.arg(image).env("PATH", requirements::path()).kill_on_drop(true);
        let output = command.output().await.context("cannot run `nsenter`")?;
        if !output.status.success() {
            bail!("cannot load {}: {}", image.display(), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }
}

async fn launch(
    control_plane: &ControlPlane,
    link: &Link,
    images: &[PathBuf],
    folder: &Path,
) -> Result<(Process, Process)> {
    let programs = programs::programs().await?;
    let network = link.network();
    settings::write(folder, control_plane.folder(), network)?;
    for name in ["kubelet", "proxy", "scheduler"] {
        control_plane.copy_kubeconfig(name, folder)?;
    }
    let store = folder.join("images");
    fs::create_dir_all(&store).context("cannot create the folder of images")?;
    images::write_pause(&store.join("0-pause.tar"))?;
    for (index, image) in images.iter().enumerate() {
        let target = store.join(format!("{}.tar", index + 1));
        fs::copy(image, target).with_context(|| format!("cannot read the image {}", image.display()))?;
    }
    let init = folder.join("init.sh");
    fs::write(&init, INIT).context("cannot write the node's first program")?;
    let path = requirements::path().to_string_lossy().into_owned();
    let environment = [
        ("PATH", path.clone()),
        ("FOLDER", folder.display().to_string()),
        ("NAME", network.name()),
        ("HOST", network.host().to_string()),
        ("NODE", network.node().to_string()),
        ("NODE_NAME", NAME.to_owned()),
        ("KUBELET", programs.kubelet.display().to_string()),
        ("PROXY", programs.proxy.display().to_string()),
    ];
    let spec = Spec::new("node", "unshare", folder)
        .grace(Duration::from_millis(500)) // pods are not stopped gracefully: the cluster ends with them
        .args(["--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc", "--", "sh"])
        .arg(init)
        .envs(environment.map(|(name, value)| (name.to_owned(), value)));
    let mut namespaces = Process::spawn(&spec)?;
    let deadline = Instant::now() + READY_WITHIN;
    let init = loop {
        if let Some(init) = first_process(namespaces.pid())? {
            break init;
        }
        if !namespaces.is_running() || Instant::now() > deadline {
            bail!("the namespaces of the node were not created; {}", namespaces.log_tail());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    link.move_to_namespace_of(init).await?;
    let scheduler = Spec::new("kube-scheduler", &programs.scheduler, folder)
        .grace(Duration::from_secs(1))
        .arg(format!("--kubeconfig={}", folder.join("scheduler.kubeconfig").display()))
        .args(["--leader-elect=false", "--secure-port=0"]);
    let scheduler = Process::spawn(&scheduler)?;
    ready(control_plane, &mut namespaces, deadline).await?;
    Ok((namespaces, scheduler))
}

/// The process inside of the namespaces, once it is in them: `unshare` is its parent and outside.
fn first_process(unshare: i32) -> Result<Option<i32>> {
    let children = format!("/proc/{unshare}/task/{unshare}/children");
    let Ok(children) = fs::read_to_string(children) else { return Ok(None) };
    let Some(child) = children.split_whitespace().next() else { return Ok(None) };
    let network = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    let apart = network(child).is_some_and(|other| network("self").is_some_and(|own| own != other));
    if !apart {
        return Ok(None);
    }
    child.parse().map(Some).context("a process id that is not a number")
}

/// Waits until the node is Ready and schedulable.
async fn ready(control_plane: &ControlPlane, namespaces: &mut Process, deadline: Instant) -> Result<()> {
    let nodes: Api<NodeObject> = Api::all(control_plane.client().await?);
    loop {
        let node = nodes.get_opt(NAME).await.context("cannot read the node")?;
        let takes_pods = node.is_some_and(|node| {
            let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
            let tainted = node.spec.and_then(|spec| spec.taints).is_some_and(|taints| !taints.is_empty());
            conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
                && !tainted
        });
        if takes_pods {
            return Ok(());
        }
        if !namespaces.is_running() {
            bail!("the node ended; {}", namespaces.log_tail());
        }
        if Instant::now() > deadline {
            bail!("the node is not ready; {}", namespaces.log_tail());
        }
        tokio::time::sleep(POLL).await;
    }
}
