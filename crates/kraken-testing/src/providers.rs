//! OpenTofu providers for tests, demo and benchmarks, each built once, and their installation in an environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kraken_programs::providers::{KTEST, OPENSTACK};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::environment::Environment;
use crate::go::Ensure as _;
use crate::manifests;

/// The API of ProviderInstalls and ProviderConfigs.
pub const API: &str = "providers.kraken-iac.eoinfennessy.com/v1alpha1";
/// The API of the kinds of all providers.
pub const KINDS: &str = "tofu.kraken-iac.eoinfennessy.com/v1alpha1";

/// The unmodified provider of OpenStack, built first if it is not in the cache.
///
/// # Errors
/// When Go is absent or the build fails.
pub async fn openstack() -> Result<PathBuf> {
    let (module, program) = &OPENSTACK;
    module.ensure(program).await
}

/// A provider whose objects are files in a folder, built first if it is not in the cache.
///
/// # Errors
/// As [`openstack`].
pub async fn ktest() -> Result<PathBuf> {
    let (module, program) = &KTEST;
    module.ensure(program).await
}

/// Puts a program where the controller of an environment finds it, and applies the ProviderInstall `name` with the digest and what
/// `spec` has besides. Returns the number of kinds, when they are there.
///
/// # Errors
/// If the ProviderInstall is not Ready in time, with its message.
pub async fn install(
    environment: &Environment,
    name: &str,
    program: &Path,
    spec: &Value,
    timeout: Duration,
) -> Result<u64> {
    let folder = environment.suite.providers();
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::copy(program, folder.join(name)).with_context(|| format!("cannot copy {}", program.display()))?;
    let mut install =
        json!({"apiVersion": API, "kind": "ProviderInstall", "metadata": {"name": name}, "spec": spec});
    install["spec"]["path"] = name.into();
    install["spec"]["sha256"] = hex::encode(Sha256::digest(fs::read(program)?)).into();
    let client = environment.control_plane.client().await?;
    let documents = manifests::parse("the ProviderInstall", &install.to_string())?;
    manifests::apply(&client, &documents, "default").await?;
    let document = documents.first().context("no ProviderInstall")?;
    let installs = manifests::api(&client, document, "default").await?;
    let deadline = Instant::now() + timeout;
    loop {
        let status = installs.get(name).await?.data["status"].take();
        let ready = &status["conditions"][0];
        if ready["status"] == "True" {
            return status["kinds"].as_u64().context("the status has no number of kinds");
        }
        if Instant::now() > deadline {
            bail!("the ProviderInstall is not Ready: {}", ready["message"]);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
