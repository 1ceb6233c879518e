//! `kubectl kraken version`.

use std::process::ExitCode;

use anyhow::Result;
use k8s_openapi::api::apps::v1::Deployment;

use super::check::{image_version, of_installation};
use crate::{
    cluster::Cluster,
    connection::Connection,
    print::{clean, out},
};

pub(super) async fn run(connection: &Connection, is_client_only: bool) -> Result<ExitCode> {
    out(&format!("kubectl-kraken {}\n", env!("CARGO_PKG_VERSION")))?;
    if is_client_only {
        return Ok(ExitCode::SUCCESS);
    }
    let cluster = Cluster::without_kinds(connection).await?;
    match of_installation::<Deployment>(&cluster).await? {
        Some(deployments) => out(&controllers(&deployments))?,
        None => eprintln!(
            "the versions of the controllers are not shown: you may not list Deployments in kraken-system"
        ),
    }
    Ok(ExitCode::SUCCESS)
}

fn controllers(deployments: &[Deployment]) -> String {
    let line = |deployment: &Deployment| {
        let name = deployment.metadata.name.clone().unwrap_or_default();
        let version = image_version(deployment).unwrap_or_else(|| "unknown".to_owned());
        format!("{}\n", clean(&format!("{name} {version}")))
    };
    deployments.iter().map(line).collect()
}
