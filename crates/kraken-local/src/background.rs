//! A process in the background that holds a lock while it runs.
//!
//! The lock, not the state file, shows whether it is running: the kernel releases it when the process ends for any reason, so that an
//! outdated state file is never trusted.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::pki::write_private;

const POLL: Duration = Duration::from_millis(100);
/// How long a process that was started may take to write its process id.
const STATE_WITHIN: Duration = Duration::from_secs(5);

/// The folder of a process in the background: its lock, its state and its log.
#[derive(Debug, Clone)]
pub struct Background(PathBuf);

/// Held by the process while it runs.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Whether the file is still the one that others look at. If it was deleted, with its folder or alone, another process can start beside
    /// this one, which must end.
    pub fn is_in_place(&self) -> bool {
        let own = self.file.metadata().map(|file| (file.dev(), file.ino()));
        let seen = fs::metadata(&self.path).map(|file| (file.dev(), file.ino()));
        matches!((own, seen), (Ok(own), Ok(seen)) if own == seen)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0); // the process id may be another process's soon
    }
}

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

    fn lock_file(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// The lock, if it is free. The file has the process id of its last holder.
    fn lock(&self) -> Result<Option<File>> {
        let path = self.lock_file();
        let mut options = File::options();
        let file = options.create(true).write(true).truncate(false).open(&path);
        let file = file.with_context(|| format!("cannot create {}", path.display()))?;
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

    /// How the process is used; `None` while it is starting, and outdated unless [`Background::is_up`].
    pub fn state<R: DeserializeOwned>(&self) -> Option<R> {
        serde_json::from_str(&fs::read_to_string(self.state_file()).ok()?).ok()
    }

    /// In the process itself: takes the lock. Another process may be checking it at this moment.
    ///
    /// # Errors
    /// When another process holds the lock.
    pub async fn begin(&self) -> Result<Lock> {
        for _ in 0..20 {
            if let Some(mut file) = self.lock()? {
                let path = self.lock_file();
                file.set_len(0)
                    .and_then(|()| write!(file, "{}", std::process::id()))
                    .with_context(|| format!("cannot write {}", path.display()))?;
                self.forget(); // of a process that was killed
                return Ok(Lock { file, path });
            }
            tokio::time::sleep(POLL).await;
        }
        bail!("it is already running")
    }

    /// In the process itself: says that it is ready, and how it is used.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn say<R: Serialize>(&self, ready: &R) -> Result<()> {
        let text = serde_json::to_string_pretty(ready).context("cannot encode the state")?;
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
    pub async fn start<R: DeserializeOwned>(&self, command: Command, show: impl FnMut(&str)) -> Result<R> {
        self.spawn(command)?.ready(show).await
    }

    /// Starts the process without waiting until it is ready.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(&self, mut command: Command) -> Result<Starting> {
        if let Some(_free) = self.lock()? {
            self.forget(); // of a process that was killed
            let _ = fs::remove_file(self.log());
        }
        let log = File::options().create(true).append(true).open(self.log());
        let log = log.with_context(|| format!("cannot write {}", self.log().display()))?;
        let errors = log.try_clone().context("cannot share the log")?;
        command.process_group(0); // Ctrl-C in this terminal is not meant for it
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = command.spawn().context("cannot start the background process")?;
        Ok(Starting { background: self.clone(), child, is_left_running: false })
    }

    /// Waits until the process, which runs already, is ready.
    ///
    /// # Errors
    /// When it ends instead.
    pub async fn join<R: DeserializeOwned>(&self, show: impl FnMut(&str)) -> Result<R> {
        self.join_unless_ended(show).await?.with_context(|| self.not_started())
    }

    /// The same; `None` if it ends instead.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub async fn join_unless_ended<R: DeserializeOwned>(&self, show: impl FnMut(&str)) -> Result<Option<R>> {
        match self.state() {
            Some(ready) => Ok(Some(ready)),
            None => self.wait(|| self.is_up(), show).await,
        }
    }

    fn not_started(&self) -> String {
        format!("it did not start; its log is {}", self.log().display())
    }

    /// Waits until the process is ready; `None` if it ends instead.
    async fn wait<R: DeserializeOwned>(
        &self,
        mut runs: impl FnMut() -> Result<bool>,
        mut show: impl FnMut(&str),
    ) -> Result<Option<R>> {
        let mut shown = 0;
        loop {
            let alive = runs()?;
            let ready = self.state();
            let text = self.log_from(shown);
            shown += text.len() as u64;
            show(&text);
            if ready.is_some() || !alive {
                return Ok(ready);
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
            // It writes its process id immediately after it acquires the lock.
            let text = fs::read_to_string(self.lock_file()).unwrap_or_default();
            if let Ok(pid) = text.trim().parse() {
                break Pid::from_raw(pid);
            }
            if started.elapsed() > STATE_WITHIN {
                bail!("a process holds {}, which does not say which one", self.lock_file().display());
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

/// A process that was started and may not be ready yet. Dropped before, it is stopped.
#[derive(Debug)]
pub struct Starting {
    background: Background,
    child: Child,
    is_left_running: bool,
}

impl Starting {
    /// Waits until it is ready; `show` gets its output meanwhile.
    ///
    /// # Errors
    /// When it ends instead.
    pub async fn ready<R: DeserializeOwned>(&mut self, show: impl FnMut(&str)) -> Result<R> {
        let Self { background, child, is_left_running } = self;
        // Of two that are started at once, one ends, and the other gets ready.
        let runs = || Ok(!has_ended(child)? || background.is_up()?);
        let ready = background.wait(runs, show).await?;
        let ready = ready.with_context(|| background.not_started())?;
        *is_left_running = true;
        Ok(ready)
    }

    /// Stops it and waits until it has ended.
    ///
    /// # Errors
    /// When that cannot be checked.
    pub async fn stop(&mut self) -> Result<()> {
        self.terminate();
        while !has_ended(&mut self.child)? {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    fn terminate(&mut self) {
        // The process id of one that has ended may be another process's.
        if let (Ok(false), Ok(pid)) = (has_ended(&mut self.child), self.child.id().try_into()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM); // it may have ended already
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if !self.is_left_running {
            self.terminate();
        }
    }
}

fn has_ended(child: &mut Child) -> Result<bool> {
    Ok(child.try_wait().context("failed to check the background process")?.is_some())
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
        background.say(&"ready").unwrap();
        assert!(background.is_up().unwrap());
        assert!(background.begin().await.unwrap_err().to_string().contains("already running"));
        assert_eq!(background.join::<String>(|_| {}).await.unwrap(), "ready");
        assert!(lock.is_in_place());
        fs::write(background.state_file(), "{garbage").unwrap();
        let own = std::process::id().to_string();
        assert_eq!(fs::read_to_string(background.lock_file()).unwrap(), own, "what `stop` reads");
        background.say(&"ready").unwrap();
        fs::remove_file(background.lock_file()).unwrap();
        assert!(!lock.is_in_place());
        drop(lock);
        assert!(background.state::<String>().is_some() && !background.is_up().unwrap());
        assert_eq!(background.stop(Duration::from_secs(1)).await.unwrap(), None);
        assert!(background.state::<String>().is_none());
    }
}
