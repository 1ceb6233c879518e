//! The CustomResourceDefinitions of other projects, from the Go modules that `schemas/` pins: manifests of their kinds are validated
//! by an API server.

use anyhow::Result;

use crate::go::{Ensure as _, Module};
use crate::manifests::{self, Document};

const MODULE: Module = Module {
    name: "schemas",
    go_mod: include_str!("../schemas/go.mod"),
    go_sum: include_str!("../schemas/go.sum"),
    tools: include_str!("../schemas/tools.go"),
    files: &[],
};

/// The CRDs of the Prometheus operator's kinds that Kraken uses.
///
/// # Errors
/// When Go is absent or the module cannot be downloaded.
pub async fn prometheus_operator() -> Result<Vec<Document>> {
    let files = ["monitoring.coreos.com_prometheusrules.yaml", "monitoring.coreos.com_servicemonitors.yaml"];
    read("github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd", &files)
        .await
}

async fn read(module: &str, folder: &str, files: &[&str]) -> Result<Vec<Document>> {
    let folder = MODULE.sources(module).await?.join(folder);
    let mut documents = Vec::new();
    for file in files {
        documents.extend(manifests::read(&folder.join(file))?);
    }
    Ok(documents)
}
