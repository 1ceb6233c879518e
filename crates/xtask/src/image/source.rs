//! The source of an image: version, commit and its date. The date is that of the commit, so that two builds give the same image.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

/// The variable for the time of a build without a Git repository, or for another time (reproducible-builds.org).
const EPOCH: &str = "SOURCE_DATE_EPOCH";

#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) version: String,
    /// With `-dirty` if there are uncommitted changes.
    pub(crate) commit: String,
    /// In RFC 3339.
    pub(crate) date: String,
    /// In seconds since 1970.
    pub(crate) time: u64,
}

impl Source {
    /// The source in a checkout.
    pub(crate) async fn read(root: &Path) -> Result<Self> {
        let commit = git(root, &["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]).await;
        let time = match std::env::var(EPOCH) {
            Ok(time) => time,
            Err(_) => git(root, &["log", "-1", "--format=%ct"]).await.with_context(|| {
                format!("the time of an image is that of its commit; without a Git repository, set {EPOCH}")
            })?,
        };
        let time: u64 = time.trim().parse().with_context(|| format!("{time} is not a time in seconds"))?;
        let seconds = i64::try_from(time).context("the time is out of range")?;
        let date = k8s_openapi::jiff::Timestamp::from_second(seconds).context("the time is out of range")?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit.unwrap_or_else(|_| "unknown".to_owned()),
            date: date.to_string(),
            time,
        })
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.commit.ends_with("-dirty")
    }
}

/// The output of git in a checkout.
pub(crate) async fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(root).kill_on_drop(true);
    let output = command.output().await.context("cannot run git")?;
    if !output.status.success() {
        bail!("git {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout).context("the output of git is not valid UTF-8")?.trim().to_owned())
}
