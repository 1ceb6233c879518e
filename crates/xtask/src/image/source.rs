//! The source of an image: version, commit and its date. The date is the commit's, so that a second run gives the same image.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

/// Names the time where there is no repository, or another one is wanted (reproducible-builds.org).
const EPOCH: &str = "SOURCE_DATE_EPOCH";

#[derive(Debug)]
pub(super) struct Source {
    pub(super) version: String,
    /// With `-dirty` if files differ from it.
    pub(super) commit: String,
    /// As RFC 3339.
    pub(super) date: String,
    /// Seconds since 1970.
    pub(super) time: u64,
}

impl Source {
    /// Of the checkout in this folder.
    pub(super) async fn read(root: &Path) -> Result<Self> {
        let commit = git(root, &["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]).await;
        let time = match std::env::var(EPOCH) {
            Ok(time) => time,
            Err(_) => git(root, &["log", "-1", "--format=%ct"]).await.with_context(|| {
                format!("the time of an image is that of its commit; without a repository, set {EPOCH}")
            })?,
        };
        let time: u64 = time.trim().parse().with_context(|| format!("{time} is no time in seconds"))?;
        let seconds = i64::try_from(time).context("a time out of range")?;
        let date = k8s_openapi::jiff::Timestamp::from_second(seconds).context("a time out of range")?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit.unwrap_or_else(|_| "unknown".to_owned()),
            date: date.to_string(),
            time,
        })
    }
}

/// What git prints in a checkout.
pub(crate) async fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(root).kill_on_drop(true);
    let output = command.output().await.context("cannot run git")?;
    if !output.status.success() {
        bail!("git {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout).context("git prints no text")?.trim().to_owned())
}
