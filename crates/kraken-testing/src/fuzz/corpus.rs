//! The files of a target: its corpus in the repository, and its failing inputs in the folder of the build.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::paths;

/// The folder of all corpora, in the workspace.
pub(super) const FOLDER: &str = "tests/fuzz/corpus";

/// One file of a corpus.
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) input: Vec<u8>,
}

/// All entries of a corpus, in the order of their names.
pub(super) fn read(target: &str) -> Result<Vec<Entry>> {
    let folder = paths::workspace_root()?.join(FOLDER).join(target);
    let files = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<_> = files.filter_map(|file| file.ok().map(|file| file.path())).collect();
    paths.sort();
    let entry = |path: PathBuf| {
        let input = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        anyhow::Ok(Entry { path, input })
    };
    paths.into_iter().map(entry).collect()
}

/// Writes a failing input to a file that is named after its content.
pub(super) fn keep(target: &str, input: &[u8]) -> Result<PathBuf> {
    let digest = hex::encode(&Sha256::digest(input)[..8]);
    write(&folder()?.join(format!("{target}-{digest}")), input)
}

/// Writes the input of the current case, for the case that the process aborts.
pub(super) fn note_current(target: &str, input: &[u8]) {
    // Only a convenience: a failure to write it is not a failure of the target.
    let _ = folder().and_then(|folder| write(&folder.join(current(target)), input));
}

/// Removes it at the end.
pub(super) fn forget_current(target: &str) -> Result<()> {
    let path = folder()?.join(current(target));
    if path.exists() {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

fn current(target: &str) -> String {
    format!("{target}.current")
}

fn folder() -> Result<PathBuf> {
    let folder = paths::bin_dir()?.join("fuzz");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

fn write(path: &Path, input: &[u8]) -> Result<PathBuf> {
    fs::write(path, input).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path.to_owned())
}
