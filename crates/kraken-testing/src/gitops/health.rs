//! The health of objects according to Argo CD's health scripts.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{HEALTH, MODULE};
use crate::go::Ensure as _;

/// The result of the script for an object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Health {
    /// `Healthy`, `Progressing`, `Degraded` or `Suspended`.
    pub status: String,
    /// The message that Argo CD shows.
    pub message: String,
}

/// The results of this file's script for each object.
///
/// # Errors
/// When Go is absent or the script fails, with its output.
pub async fn health(script: &Path, objects: &[Value]) -> Result<Vec<Health>> {
    let mut command = Command::new(MODULE.ensure(&HEALTH).await?);
    command
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().context("cannot run the health script")?;
    let mut input = child.stdin.take().context("no stdin")?;
    input.write_all(&serde_json::to_vec(objects)?).await?;
    drop(input);
    let output = child.wait_with_output().await?;
    ensure!(output.status.success(), "the health script failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}
