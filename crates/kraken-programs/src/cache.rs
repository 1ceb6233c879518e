//! Kraken's folder in the user's cache, and the lock that lets one process at a time fill a part of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{env, error, fmt, io};

/// There is no folder for caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCache;

impl fmt::Display for NoCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no cache folder: set HOME or XDG_CACHE_HOME to an absolute path")
    }
}

impl error::Error for NoCache {}

/// `${XDG_CACHE_HOME:-~/.cache}/kraken`.
///
/// # Errors
/// When neither variable is an absolute path.
pub fn root() -> Result<PathBuf, NoCache> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(cache) = absolute("XDG_CACHE_HOME") {
        return Ok(cache.join("kraken"));
    }
    absolute("HOME").map(|home| home.join(".cache/kraken")).ok_or(NoCache)
}

/// Creates `folder`, and opens the file whose lock is held by the process that fills it. It is next to the folder: a build may empty
/// the folder first, and a lock on a removed file has no effect.
///
/// # Errors
/// When the folder or the file cannot be created.
pub fn lock_file(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    let mut path = folder.as_os_str().to_owned();
    path.push(".lock");
    File::create(PathBuf::from(path))
}
