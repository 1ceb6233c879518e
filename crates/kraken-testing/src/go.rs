//! Programs that are built once from a Go module in this repository and stored in the user's cache.
//!
//! A module is embedded here, so that the built tools work from any folder.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{fs, io};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::{cache, progress};

/// A Go module that pins programs.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its folder below `crates/kraken-testing` and in the cache.
    pub(crate) name: &'static str,
    pub(crate) go_mod: &'static str,
    pub(crate) go_sum: &'static str,
    /// `tools.go`, which names the commands for `go mod tidy` and is never built.
    pub(crate) tools: &'static str,
    /// Further files: path and text.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// A program of a module.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The argument of `go build`.
    pub(crate) package: &'static str,
    /// The module with the version of the program.
    pub(crate) version_of: &'static str,
    /// The duration of the build on 2 cores, as text.
    pub(crate) takes: &'static str,
    /// The alternative if Go is not installed.
    pub(crate) without_go: &'static str,
}

impl Module {
    /// A program's binary, built first if it is not in the cache.
    ///
    /// # Errors
    /// When Go is absent or too old, the build fails, or the cache cannot be written.
    pub(crate) async fn ensure(&self, program: &Program) -> Result<PathBuf> {
        let folder = cache::root()?.join(self.name).join(self.hash());
        let path = folder.join(program.name);
        if path.is_file() {
            return Ok(path);
        }
        let _lock = cache::lock(&folder).await?;
        if path.is_file() {
            return Ok(path); // built by the process that held the lock
        }
        let version = self.version(program)?;
        let what = format!("building {} {version} from source, {}, once", program.name, program.takes);
        progress::step(&what, self.build(program, version, &path)).await?;
        Ok(path)
    }

    /// The folder of the sources of a required module, which are downloaded if they do not exist.
    ///
    /// # Errors
    /// When Go is absent or the module cannot be downloaded.
    pub(crate) async fn sources(&self, module: &str) -> Result<PathBuf> {
        let folder = self.write()?;
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

    async fn build(&self, program: &Program, version: &str, target: &Path) -> Result<()> {
        let module = self.write()?;
        let unfinished = target.with_extension(format!("{}.tmp", std::process::id()));
        // Without the version, clients cannot parse the version that an API server reports.
        let flags = format!("-s -w -X k8s.io/component-base/version.gitVersion={version}");
        let mut command = Command::new("go");
        command
            .current_dir(module.path())
            .args(["build", "-trimpath", "-ldflags", &flags, "-o"])
            .arg(&unfinished)
            .arg(program.package)
            .env("CGO_ENABLED", "0")
            .env("GOWORK", "off")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = match command.output().await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
                "`go` was not found, and {} has to be built once: install Go {} or newer (https://go.dev/dl) and put \
                 it on PATH{}",
                program.name,
                self.go_version(),
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

    fn write(&self) -> Result<tempfile::TempDir> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let own = [("go.mod", self.go_mod), ("go.sum", self.go_sum), ("tools.go", self.tools)];
        for (name, text) in own.iter().chain(self.files) {
            let path = folder.path().join(name);
            path.parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&path, text))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(folder)
    }

    /// Changes whenever a version does, so that an old cache is never used for a new version.
    fn hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.go_mod);
        hash.update(self.go_sum);
        for (_, text) in self.files {
            hash.update(text);
        }
        hex::encode(hash.finalize())[..12].to_owned()
    }

    fn version(&self, program: &Program) -> Result<&'static str> {
        required_version(self.go_mod, program.version_of).with_context(|| {
            format!("crates/kraken-testing/{}/go.mod does not require {}", self.name, program.version_of)
        })
    }

    fn go_version(&self) -> &'static str {
        self.go_mod.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.25")
    }
}

fn required_version<'text>(go_mod: &'text str, module: &str) -> Option<&'text str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word == "require");
        (words.next() == Some(module)).then(|| words.next()).flatten()
    })
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_go_mod() {
        assert_eq!(required_version("require a/b v1.2.3\n", "a/b"), Some("v1.2.3"));
        assert_eq!(required_version("require (\n\ta/b v1.2.3 // indirect\n)\n", "a/b"), Some("v1.2.3"));
        assert_eq!(required_version("replace a/b => a/c v1\n", "a/b"), None);
    }

    #[test]
    fn every_program_has_a_version() {
        for (module, program) in crate::assets::PROGRAMS
            .iter()
            .chain(&crate::node::PROGRAMS)
            .chain(crate::programs::ALL.into_iter().flatten())
        {
            assert!(module.version(program).unwrap().starts_with('v'), "{program:?}");
            assert_eq!(module.hash().len(), 12);
        }
    }
}
