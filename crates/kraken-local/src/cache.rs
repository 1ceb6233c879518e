//! Kraken's folder in the user's cache, and the lock that lets one process at a time fill a part of it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_programs::cache;

/// `${XDG_CACHE_HOME:-~/.cache}/kraken`.
///
/// # Errors
/// When neither variable is an absolute path.
pub fn root() -> Result<PathBuf> {
    Ok(cache::root()?)
}

/// Held while a part of the cache is filled; released on drop, and by the kernel if the process is killed.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Waits until this process alone may fill `folder` (created if absent).
///
/// # Errors
/// When the folder cannot be created or locked.
pub async fn lock(folder: &Path) -> Result<Lock> {
    let file = cache::lock_file(folder).with_context(|| {
        format!("cannot create {}; set XDG_CACHE_HOME to a folder you can write to", folder.display())
    })?;
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
                return Err(error).with_context(|| format!("cannot lock {}", folder.display()));
            }
        }
    }
}
