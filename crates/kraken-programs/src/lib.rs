//! Programs that are built once from a Go module in this repository and stored in the user's cache.
//!
//! This crate has no dependencies, because `cargo xtask` starts with it: the control plane is then built beside everything else,
//! from the first seconds on. A module is embedded here, so that the built tools work from any folder.

pub mod cache;
pub mod control_plane;
pub mod providers;
mod sha256;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

/// A Go module that pins programs.
#[derive(Debug)]
pub struct Module {
    /// Its folder below `crates/kraken-testing` and in the cache.
    pub name: &'static str,
    /// The text of its `go.mod`.
    pub go_mod: &'static str,
    /// The text of its `go.sum`.
    pub go_sum: &'static str,
    /// `tools.go`, which names the commands for `go mod tidy` and is never built.
    pub tools: &'static str,
    /// Further files: path and text.
    pub files: &'static [(&'static str, &'static str)],
}

/// A program of a module.
#[derive(Debug)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// The argument of `go build`.
    pub package: &'static str,
    /// The module with the version of the program.
    pub version_of: &'static str,
    /// The duration of the build on 2 cores, as text.
    pub takes: &'static str,
    /// The alternative if Go is not installed.
    pub without_go: &'static str,
}

impl Module {
    /// Its folder in the cache.
    ///
    /// # Errors
    /// When there is no folder for caches.
    pub fn folder(&self) -> Result<PathBuf, cache::NoCache> {
        Ok(cache::root()?.join(self.name).join(self.hash()))
    }

    /// Writes its files into an empty folder.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let own = [("go.mod", self.go_mod), ("go.sum", self.go_sum), ("tools.go", self.tools)];
        for (name, text) in own.iter().chain(self.files) {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&path, text)?;
        }
        Ok(())
    }

    /// The command that builds a program of this version from the files in `folder` into the file `target`.
    pub fn build(&self, program: &Program, version: &str, folder: &Path, target: &Path) -> Command {
        // Without the version, clients cannot parse the version that an API server reports.
        let flags = format!("-s -w -X k8s.io/component-base/version.gitVersion={version}");
        let mut command = Command::new("go");
        command
            .current_dir(folder)
            .args(["build", "-trimpath", "-ldflags", &flags, "-o"])
            .arg(target)
            .arg(program.package)
            .env("CGO_ENABLED", "0")
            .env("GOWORK", "off")
            .stdin(Stdio::null());
        command
    }

    /// Changes whenever a version does, so that an old cache is never used for a new version.
    pub fn hash(&self) -> String {
        let mut text = [self.go_mod, self.go_sum].concat();
        self.files.iter().for_each(|(_, file)| text.push_str(file));
        let mut hex = sha256::hex(text.as_bytes());
        hex.truncate(12);
        hex
    }

    /// The version of a program, if the module requires it.
    pub fn version(&self, program: &Program) -> Option<&'static str> {
        required_version(self.go_mod, program.version_of)
    }

    /// The oldest version of Go that builds the module.
    pub fn go_version(&self) -> &'static str {
        self.go_mod.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.25")
    }

    /// What is built, for progress.
    pub fn described(program: &Program, version: &str) -> String {
        format!("building {} {version} from source, {}, once", program.name, program.takes)
    }
}

fn required_version<'text>(go_mod: &'text str, module: &str) -> Option<&'text str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word == "require");
        (words.next() == Some(module)).then(|| words.next()).flatten()
    })
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
}
