//! A cluster that pods run in: control plane, moto on an address that pods can reach, and a node.

use std::path::PathBuf;

use anyhow::Result;

use super::{Link, Node, requirements};
use crate::cluster::{ControlPlane, ControlPlaneOptions};
use crate::moto::Moto;

/// The cluster; stopped on drop.
#[derive(Debug)]
pub struct NodeCluster {
    // Fields are dropped in this order.
    /// The node.
    pub node: Node,
    /// AWS.
    pub moto: Moto,
    /// Kubernetes.
    pub control_plane: ControlPlane,
}

impl NodeCluster {
    /// Starts it with these images (OCI archives).
    ///
    /// # Errors
    /// When a requirement is missing on this machine, or a part does not start.
    pub async fn start(images: &[PathBuf]) -> Result<Self> {
        requirements::check()?;
        let link = Link::create().await?;
        let options = ControlPlaneOptions { network: Some(link.network()), ..ControlPlaneOptions::default() };
        let control_plane = ControlPlane::start_with(options).await?;
        let moto = Moto::start_at(link.network().host()).await?;
        let node = Node::start(&control_plane, link, images).await?;
        Ok(Self { node, moto, control_plane })
    }
}
