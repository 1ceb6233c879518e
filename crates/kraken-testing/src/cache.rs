//! Kraken's folder in the user's cache, and the lock that lets one process at a time fill a part of it.

use std::env;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// `${XDG_CACHE_HOME:-~/.cache}/kraken`.
pub(crate) fn root() -> Result<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(cache) = absolute("XDG_CACHE_HOME") {
        return Ok(cache.join("kraken"));
    }
    match absolute("HOME") {
        Some(home) => Ok(home.join(".cache/kraken")),
        None => bail!("no cache folder: set HOME or XDG_CACHE_HOME to an absolute path"),
    }
}

/// Held while a part of the cache is filled; released on drop, and by the kernel if the process is killed.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Waits until this process alone may fill `folder` (created if absent).
pub(crate) async fn lock(folder: &Path) -> Result<Lock> {
    fs::create_dir_all(folder).with_context(|| {
        format!("cannot create {}; set XDG_CACHE_HOME to a folder you can write to", folder.display())
    })?;
    // Next to the folder: the build may empty the folder first, and a lock on a removed file has no effect.
    let mut path = folder.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut has_printed = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => {
                if !has_printed {
                    eprintln!("another process is filling {}; waiting for it ...", folder.display());
                    has_printed = true;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
    }
}
