//! The network of a node and its pods: one pair of virtual links between this machine's network and theirs.
//!
//! No server listens on an address that another machine can reach.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

use super::requirements;

/// The node's name in the cluster.
pub const NAME: &str = "kraken-node";
/// The network of Services. It exists inside of the node only, so that every node may use the same.
pub(crate) const SERVICES: &str = "10.96.0.0/24";
/// The address of the API server for pods: the first address of [`SERVICES`].
pub(crate) const API_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);

/// The addresses of one node; a number distinguishes it from others on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    number: u8,
}

impl Network {
    /// This machine's end of the link: servers for pods listen here.
    pub fn host(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 199, self.number, 1)
    }

    /// The node's end.
    pub fn node(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 199, self.number, 2)
    }

    /// The addresses of pods.
    pub fn pods(self) -> String {
        format!("10.244.{}.0/24", self.number)
    }

    /// The name of the node's control group, and of this machine's end of the link.
    pub(crate) fn name(self) -> String {
        format!("kraken-n{}", self.number)
    }

    fn peer(self) -> String {
        format!("kraken-p{}", self.number)
    }
}

/// The link; removed on drop.
#[derive(Debug)]
pub struct Link {
    network: Network,
}

impl Link {
    /// Creates one with addresses that no other node of this machine has.
    ///
    /// # Errors
    /// When `ip` is absent or fails, which it does unless it is run by root.
    pub async fn create() -> Result<Self> {
        let first = std::process::id() % 250;
        for number in (first..first + 250).map(|number| number % 250 + 1) {
            let network =
                Network { number: u8::try_from(number).context("a number of a node out of range")? };
            let (name, peer) = (network.name(), network.peer());
            match ip(&["link", "add", &name, "type", "veth", "peer", "name", &peer]).await {
                Err(error) if format!("{error:#}").contains("File exists") => continue,
                result => result.context("cannot create the link to the node")?,
            }
            let link = Self { network }; // from here on, dropping removes it
            ip(&["address", "add", &format!("{}/30", network.host()), "dev", &name]).await?;
            ip(&["link", "set", &name, "up"]).await?;
            return Ok(link);
        }
        bail!("all numbers of nodes are in use; `ip link` lists them as kraken-n*")
    }

    /// Its addresses.
    pub fn network(&self) -> Network {
        self.network
    }

    /// Moves the node's end to the network namespace of this process, as `eth0`.
    pub(super) async fn move_to_namespace_of(&self, pid: i32) -> Result<()> {
        let network = self.network;
        ip(&["link", "set", &network.peer(), "netns", &pid.to_string(), "name", "eth0"]).await?;
        let (pods, node, name) = (network.pods(), network.node().to_string(), network.name());
        ip(&["route", "replace", &pods, "via", &node, "dev", &name]).await
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let mut command = std::process::Command::new("ip");
        command.args(["link", "del", &self.network.name()]).env("PATH", requirements::path());
        let _ = command.output(); // it may have been removed with the node
    }
}

async fn ip(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("ip");
    command.args(arguments).env("PATH", requirements::path()).kill_on_drop(true);
    let output = command.output().await.context("cannot run `ip`")?;
    if !output.status.success() {
        bail!("`ip {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
