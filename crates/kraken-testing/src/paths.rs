//! Paths: the workspace, and the folder with its built binaries.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The workspace's root folder.
///
/// Found at run time, so that a checkout can be moved without a rebuild.
///
/// # Errors
/// When neither cargo's environment nor the current folder leads to it.
pub fn workspace_root() -> Result<PathBuf> {
    let from_cargo = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let built_from = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for start in [from_cargo, env::current_dir().ok(), Some(built_from)].into_iter().flatten() {
        if let Some(root) = start.ancestors().find(|folder| is_root(folder)) {
            return Ok(root.to_owned());
        }
    }
    bail!("cannot find Kraken's workspace: run this from inside the repository")
}

fn is_root(folder: &Path) -> bool {
    folder.join("Cargo.toml").is_file() && folder.join("crates/kraken-testing").is_dir()
}

/// The folder cargo puts the workspace's binaries in (`target/debug` or another profile's).
///
/// # Errors
/// When the running executable has no path.
pub fn bin_dir() -> Result<PathBuf> {
    let executable = env::current_exe().context("cannot find the path of the running executable")?;
    let folder = executable.parent().context("the running executable has no folder")?;
    // Tests run from target/debug/deps, xtask from target/debug.
    match folder.file_name() {
        Some(name) if name == "deps" => Ok(folder.parent().unwrap_or(folder).to_owned()),
        _ => Ok(folder.to_owned()),
    }
}

/// The folders under `controllers/`, sorted: each is one controller, its binary `kraken-<folder>`.
///
/// # Errors
/// When the folder cannot be read.
pub fn controllers() -> Result<Vec<String>> {
    packages("controllers")
}

/// All programs that are released as images: the controllers, and the folders under `processes/`, in each of which several controllers
/// share a process. The binary is `kraken-<folder>`.
///
/// # Errors
/// When a folder cannot be read.
pub fn programs() -> Result<Vec<String>> {
    Ok([controllers()?, packages("processes")?].concat())
}

fn packages(folder: &str) -> Result<Vec<String>> {
    let folder = workspace_root()?.join(folder);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
