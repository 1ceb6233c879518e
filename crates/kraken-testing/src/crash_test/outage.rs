//! Kills (SIGKILL) and restarts programs of the control plane. This affects all active runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::process::{Process, Spec};

/// The duration of an outage of kube-apiserver.
const AWAY: Duration = Duration::from_secs(1);
/// kube-apiserver, which every run can kill.
#[derive(Debug)]
pub(super) struct ApiServer {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    program: Option<KilledProgram>,
    killed: Option<Instant>,
    down: bool,
}

impl ApiServer {
    pub(super) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills it for a run that began at `start`, unless it was killed since then, because the run was affected by that.
    pub(super) fn kill(&self, start: Instant) -> Result<()> {
        let mut state = self.lock();
        if state.killed.is_some_and(|at| at > start) {
            return Ok(());
        }
        match &mut state.program {
            Some(program) => program.kill_again()?,
            None => state.program = Some(KilledProgram::kill(&self.folder, "kube-apiserver")?),
        }
        (state.killed, state.down) = (Some(Instant::now()), true);
        Ok(())
    }

    /// Restarts it after the outage.
    pub(super) fn restart_killed(&self) -> Result<()> {
        let mut state = self.lock();
        if !state.down || state.killed.is_none_or(|at| at.elapsed() < AWAY) {
            return Ok(());
        }
        state.down = false;
        state.program.as_mut().map_or(Ok(()), KilledProgram::restart)
    }

    /// When it was killed last.
    pub(super) fn killed(&self) -> Option<Instant> {
        self.lock().killed
    }
}

/// A killed program of the control plane, with its settings for a restart.
#[derive(Debug)]
pub(super) struct KilledProgram {
    spec: Spec,
    again: Option<Process>,
}

impl KilledProgram {
    pub(super) fn kill(folder: &Path, name: &str) -> Result<Self> {
        let read = |path: PathBuf| fs::read(&path).with_context(|| format!("cannot read {}", path.display()));
        let pid = String::from_utf8_lossy(&read(folder.join(format!("{name}.pid")))?).trim().parse()?;
        let line = read(PathBuf::from(format!("/proc/{pid}/cmdline")))?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut words = line.split('\0').filter(|word| !word.is_empty()).map(str::to_owned);
        let program = words.next().with_context(|| format!("{name} has no command line"))?;
        kill(Pid::from_raw(pid), Signal::SIGKILL).with_context(|| format!("cannot kill {name}"))?;
        let spec = Spec::new(format!("{name}-again"), program, folder).args(words);
        Ok(Self { spec: spec.grace(Duration::from_secs(3)), again: None })
    }

    fn kill_again(&mut self) -> Result<()> {
        // A program that is not running yet need not be killed.
        let Some(process) = &mut self.again else { return Ok(()) };
        if process.is_running() { process.signal(Signal::SIGKILL) } else { Ok(()) }
    }

    pub(super) fn restart(&mut self) -> Result<()> {
        self.again = Some(Process::spawn(&self.spec)?);
        Ok(())
    }
}
