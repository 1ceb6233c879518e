//! A temporary folder for the data, logs and kubeconfigs of one run.
//!
//! Like the processes, it must be removed even if this process is killed or ends without dropping statics; a shell at
//! the other end of a pipe removes it when the processes with pid files in it have ended. A script `at-end.sh` in it runs
//! first and removes what is outside of the folder.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use nix::sys::statvfs::statvfs;

/// The data of a control plane and its logs grow to about 500 MiB. With a full disk, each program fails with an error of its own.
const REQUIRED_MIB: u64 = 1024;

const JANITOR: &str = r#"
keep=
while read -r word; do keep=$word; done
attempts=150
for file in "$1"/*.pid; do
  [ -e "$file" ] || continue
  pid=$(cat "$file")
  while [ "$attempts" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do sleep 0.1; attempts=$((attempts - 1)); done
done
[ -e "$1/at-end.sh" ] && sh "$1/at-end.sh"
[ "$keep" = keep ] || rm -rf "$1"
"#;

/// The folder; removed on drop. `KRAKEN_KEEP_LOGS=1` keeps it and prints its path.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    janitor: Child,
}

impl Scratch {
    pub(crate) fn new(purpose: &str) -> Result<Self> {
        let parent = std::env::temp_dir();
        check_space(&parent, free_mib(&parent)?)?;
        let path = tempfile::Builder::new()
            .prefix(&format!("kraken-{purpose}-"))
            .tempdir()
            .context("cannot create a temporary folder; is TMPDIR writable?")?
            .keep();
        let janitor = Command::new("sh")
            .args(["-c", JANITOR, "sh"])
            .arg(&path)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start `sh`")?;
        let mut scratch = Self { path, janitor };
        if std::env::var_os("KRAKEN_KEEP_LOGS").is_some() {
            eprintln!("keeping {}", scratch.path.display());
            scratch.keep();
        }
        Ok(scratch)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder for inspection.
    pub(crate) fn keep(&mut self) {
        if let Some(pipe) = self.janitor.stdin.as_mut() {
            let _ = pipe.write_all(b"keep\n"); // the folder is kept too if the cleanup shell has ended
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
    }
}

/// The free disk space for users of this folder, in MiB.
fn free_mib(folder: &Path) -> Result<u64> {
    let file_system = statvfs(folder)
        .with_context(|| format!("cannot read the free disk space of {}", folder.display()))?;
    Ok(file_system.blocks_available() * file_system.fragment_size() / (1024 * 1024))
}

fn check_space(folder: &Path, free_mib: u64) -> Result<()> {
    if free_mib < REQUIRED_MIB {
        bail!(
            "{} has {free_mib} MiB of free disk space, and at least {REQUIRED_MIB} MiB are required: delete files, such as \
             those in target/, or set TMPDIR to a folder on another disk",
            folder.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_before_anything_is_started() {
        let folder = std::env::temp_dir();
        assert!(free_mib(&folder).expect("the folder exists") > 0);
        assert!(check_space(&folder, REQUIRED_MIB).is_ok());
        let error = check_space(&folder, REQUIRED_MIB - 1).expect_err("too little").to_string();
        assert!(error.contains("1023 MiB of free disk space") && error.contains("TMPDIR"), "{error}");
    }
}
