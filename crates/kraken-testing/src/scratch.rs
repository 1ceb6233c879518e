//! A temporary folder for the data, logs and kubeconfigs of one run.
//!
//! Like the processes, it must be removed even if this process is killed or ends without dropping statics; a shell at
//! the other end of a pipe removes it when the processes with pid files in it have ended.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

const JANITOR: &str = r#"
read -r word
[ "$word" = keep ] && exit 0
patience=150
for file in "$1"/*.pid; do
  [ -e "$file" ] || continue
  pid=$(cat "$file")
  while [ "$patience" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do sleep 0.1; patience=$((patience - 1)); done
done
rm -rf "$1"
"#;

/// The folder; removed on drop. `KRAKEN_KEEP_LOGS=1` keeps it and says where it is.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    janitor: Child,
}

impl Scratch {
    pub(crate) fn new(purpose: &str) -> Result<Self> {
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
        if let Some(mut pipe) = self.janitor.stdin.take() {
            let _ = pipe.write_all(b"keep\n"); // a janitor that is gone keeps the folder as well
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
    }
}
