//! Programs that are built once from a Go module in this repository and stored in the user's cache: see [`kraken_programs`].

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{fs, io};

use anyhow::{Context as _, Result, bail};
pub use kraken_programs::{Module, Program};
use tokio::process::Command;

use crate::{cache, progress};

/// The programs and sources of a module, which are built or downloaded if they do not exist.
pub trait Ensure {
    /// A program's binary, built first if it is not in the cache.
    ///
    /// # Errors
    /// When Go is absent or too old, the build fails, or the cache cannot be written.
    fn ensure(&self, program: &Program) -> impl Future<Output = Result<PathBuf>> + Send;

    /// The folder of the sources of a required module, which are downloaded if they do not exist.
    ///
    /// # Errors
    /// When Go is absent or the module cannot be downloaded.
    fn sources(&self, module: &str) -> impl Future<Output = Result<PathBuf>> + Send;
}

impl Ensure for Module {
    async fn ensure(&self, program: &Program) -> Result<PathBuf> {
        let folder = self.folder()?;
        let path = folder.join(program.name);
        if path.is_file() {
            return Ok(path);
        }
        let _lock = cache::lock(&folder).await?;
        if path.is_file() {
            return Ok(path); // built by the process that held the lock
        }
        let version = self.version(program).with_context(|| {
            format!("crates/kraken-testing/{}/go.mod does not require {}", self.name, program.version_of)
        })?;
        progress::step(&Module::described(program, version), build(self, program, version, &path)).await?;
        Ok(path)
    }

    async fn sources(&self, module: &str) -> Result<PathBuf> {
        let folder = written(self)?;
        let mut command = Command::new("go");
        command.current_dir(folder.path()).args(["mod", "download", "-json", module]);
        command.env("GOWORK", "off").stdin(Stdio::null()).kill_on_drop(true);
        let output = command.output().await.context("cannot run `go`")?;
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).with_context(|| {
            format!("`go mod download {module}`: {}", String::from_utf8_lossy(&output.stderr))
        })?;
        match answer["Dir"].as_str() {
            Some(sources) if output.status.success() => Ok(PathBuf::from(sources)),
            _ => bail!("`go mod download {module}` failed: {}", answer["Error"]),
        }
    }
}

async fn build(module: &Module, program: &Program, version: &str, target: &Path) -> Result<()> {
    let folder = written(module)?;
    let unfinished = target.with_extension(format!("{}.tmp", std::process::id()));
    let mut command = Command::from(module.build(program, version, folder.path(), &unfinished));
    let output = match command.kill_on_drop(true).output().await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "`go` was not found, and {} has to be built once: install Go {} or newer (https://go.dev/dl) and put \
             it on PATH{}",
            program.name,
            module.go_version(),
            program.without_go
        ),
        result => result.context("cannot run `go`")?,
    };
    if !output.status.success() {
        let _ = fs::remove_file(&unfinished);
        bail!(
            "`go build {}` failed ({}). Modules come from your GOPROXY; check that it can be reached. Output:\n{}",
            program.package,
            output.status,
            tail(&String::from_utf8_lossy(&output.stderr))
        );
    }
    fs::rename(&unfinished, target).with_context(|| format!("cannot write {}", target.display()))
}

/// A temporary folder with the files of a module.
fn written(module: &Module) -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    module.write(folder.path()).with_context(|| format!("cannot write to {}", folder.path().display()))?;
    Ok(folder)
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
