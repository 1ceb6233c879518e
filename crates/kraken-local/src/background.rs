//! A process in the background that holds a lock while it runs.
//!
//! The lock, not the state file, shows whether it is running: the kernel releases it when the process ends for any reason, so that an
//! outdated state file is never trusted.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::pki::write_private;

const POLL: Duration = Duration::from_millis(100);
/// How long a process that was started may take to write its state.
const STATE_WITHIN: Duration = Duration::from_secs(5);

/// The folder of a process in the background: its lock, its state and its log.
#[derive(Debug, Clone)]
pub struct Background(PathBuf);

/// What the process says about itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct State<R> {
    /// Its process id.
    pub pid: i32,
    /// `None` while it is still starting.
    pub ready: Option<R>,
}

/// Held by the process while it runs.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock is released when the file is closed")] File);

impl Background {
    /// In this folder, which is created for its owner only.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        created.with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self(folder))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The output of the process.
    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    fn state_file(&self) -> PathBuf {
        self.0.join("state.json")
    }

    /// The lock, if it is free.
    fn lock(&self) -> Result<Option<File>> {
        let path = self.0.join("lock");
        let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        }
    }

    /// Whether the process runs.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn is_up(&self) -> Result<bool> {
        Ok(self.lock()?.is_none())
    }

    /// What the process last wrote; outdated unless [`Background::is_up`].
    pub fn state<R: DeserializeOwned>(&self) -> Option<State<R>> {
        serde_json::from_str(&fs::read_to_string(self.state_file()).ok()?).ok()
    }

    /// In the process itself: takes the lock and says that it is starting. Another process may be checking the lock at this moment.
    ///
    /// # Errors
    /// When another process holds the lock.
    pub async fn begin(&self) -> Result<Lock> {
        for _ in 0..20 {
            if let Some(lock) = self.lock()? {
                self.say::<()>(None)?;
                return Ok(Lock(lock));
            }
            tokio::time::sleep(POLL).await;
        }
        bail!("it is already running")
    }

    /// In the process itself: says how it is used, or that it is not ready yet.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn say<R: Serialize>(&self, ready: Option<R>) -> Result<()> {
        let pid = i32::try_from(std::process::id()).context("an invalid process id")?;
        let text = serde_json::to_string_pretty(&State { pid, ready }).context("cannot encode the state")?;
        write_private(&self.state_file(), &text)
    }

    /// Removes the state of a process that ended.
    pub fn forget(&self) {
        let _ = fs::remove_file(self.state_file()); // absent is the desired state
    }

    /// Starts the process and waits until it is ready; `show` gets its output meanwhile. If this is dropped before, the process is stopped:
    /// Ctrl-C during the start must not leave processes behind.
    ///
    /// # Errors
    /// When it cannot be started, or ends instead of getting ready.
    pub async fn start<R: DeserializeOwned>(
        &self,
        mut command: Command,
        show: impl FnMut(&str),
    ) -> Result<R> {
        self.forget(); // of a process that was killed
        let log =
            File::create(self.log()).with_context(|| format!("cannot write {}", self.log().display()))?;
        let errors = log.try_clone().context("cannot share the log")?;
        command.process_group(0); // Ctrl-C in this terminal is not meant for it
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let mut child = command.spawn().context("cannot start the background process")?;
        let pid = Pid::from_raw(child.id().try_into().context("an invalid process id")?);
        let mut guard = Unless(Some(pid));
        let runs = move || Ok(child.try_wait().context("failed to check the background process")?.is_none());
        let ready = self.wait(runs, show).await?;
        guard.0 = None;
        Ok(ready)
    }

    /// Waits until the process, which runs already, is ready.
    ///
    /// # Errors
    /// When it ends instead.
    pub async fn join<R: DeserializeOwned>(&self, show: impl FnMut(&str)) -> Result<R> {
        match self.state().and_then(|state| state.ready) {
            Some(ready) => Ok(ready),
            None => self.wait(|| self.is_up(), show).await,
        }
    }

    async fn wait<R: DeserializeOwned>(
        &self,
        mut runs: impl FnMut() -> Result<bool>,
        mut show: impl FnMut(&str),
    ) -> Result<R> {
        let mut shown = 0;
        loop {
            let alive = runs()?;
            let ready = self.state().and_then(|state| state.ready);
            let text = self.log_from(shown);
            shown += text.len() as u64;
            show(&text);
            if let Some(ready) = ready {
                return Ok(ready);
            }
            if !alive {
                bail!("it did not start; its log is {}", self.log().display());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn log_from(&self, position: u64) -> String {
        let mut text = String::new();
        let read = File::open(self.log()).and_then(|mut file| {
            file.seek(SeekFrom::Start(position))?;
            file.read_to_string(&mut text)
        });
        if read.is_ok() { text } else { String::new() }
    }

    /// Stops the process, and kills it after `limit`; its children end with it in any case. Returns how long that took, or `None` if it
    /// was not running.
    ///
    /// # Errors
    /// When it cannot be stopped.
    pub async fn stop(&self, limit: Duration) -> Result<Option<Duration>> {
        if !self.is_up()? {
            self.forget();
            return Ok(None);
        }
        let started = Instant::now();
        let pid = loop {
            // It writes its state immediately after it acquires the lock.
            if let Some(state) = self.state::<serde_json::Value>() {
                break Pid::from_raw(state.pid);
            }
            if started.elapsed() > STATE_WITHIN {
                bail!("a process holds {} but has written no state", self.0.join("lock").display());
            }
            tokio::time::sleep(POLL).await;
        };
        kill(pid, Signal::SIGTERM).with_context(|| format!("cannot stop process {pid}"))?;
        while self.is_up()? {
            if started.elapsed() > limit {
                kill(pid, Signal::SIGKILL).with_context(|| format!("cannot kill process {pid}"))?;
            }
            tokio::time::sleep(POLL).await;
        }
        self.forget();
        Ok(Some(started.elapsed()))
    }
}

/// Stops the background process unless it became ready.
struct Unless(Option<Pid>);

impl Drop for Unless {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            let _ = kill(pid, Signal::SIGTERM); // it may have ended already
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn a_process_that_ends_during_its_start_is_reported_with_its_output() {
        let folder = tempfile::tempdir().unwrap();
        let background = Background::in_folder(folder.path().join("a")).unwrap();
        let mut shown = String::new();
        let started = background.start::<String>(shell("echo no port; exit 1"), |text| shown.push_str(text));
        let error = started.await.unwrap_err().to_string();
        assert!(error.contains("did not start") && shown == "no port\n", "{error}: {shown}");
    }

    #[tokio::test]
    async fn a_second_process_is_refused_and_an_outdated_state_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let background = Background::in_folder(folder.path()).unwrap();
        let lock = background.begin().await.unwrap();
        background.say(Some("ready")).unwrap();
        assert!(background.is_up().unwrap());
        assert!(background.begin().await.unwrap_err().to_string().contains("already running"));
        assert_eq!(background.join::<String>(|_| {}).await.unwrap(), "ready");
        drop(lock);
        assert!(background.state::<String>().is_some() && !background.is_up().unwrap());
        assert_eq!(background.stop(Duration::from_secs(1)).await.unwrap(), None);
        assert!(background.state::<String>().is_none());
    }
}
