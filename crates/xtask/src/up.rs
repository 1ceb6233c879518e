//! `cargo xtask up` and `down`: the environment in the background.
//!
//! The background process holds a lock while it runs. The lock, not the state file, shows whether it is running: the
//! kernel releases it when the process ends for any reason, so that an outdated state file is never trusted.

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kraken_testing::paths;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::signals::Stop;
use crate::{node, stage, ui};

const POLL: Duration = Duration::from_millis(100);
const DOWN_WITHIN: Duration = Duration::from_mins(1);

#[derive(Serialize, Deserialize)]
struct State {
    pid: i32,
    /// Empty while it is still starting.
    ready: Option<Ready>,
}

#[derive(Serialize, Deserialize)]
struct Ready {
    kubeconfig: PathBuf,
    server: String,
    aws_endpoint: String,
    logs: Vec<PathBuf>,
}

struct Folder(PathBuf);

impl Folder {
    fn open() -> Result<Self> {
        let bin_dir = paths::bin_dir()?;
        let target = bin_dir.parent().context("the binaries' folder has no parent")?;
        let folder = target.join("kraken-up");
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self(folder))
    }

    fn state(&self) -> PathBuf {
        self.0.join("state.json")
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
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

    fn is_up(&self) -> Result<bool> {
        Ok(self.lock()?.is_none())
    }

    fn read(&self) -> Option<State> {
        serde_json::from_str(&fs::read_to_string(self.state()).ok()?).ok()
    }

    fn write(&self, state: &State) -> Result<()> {
        let text = serde_json::to_string_pretty(state).context("cannot encode the state")?;
        let unfinished = self.state().with_extension("tmp");
        fs::write(&unfinished, text)
            .and_then(|()| fs::rename(&unfinished, self.state()))
            .with_context(|| format!("cannot write {}", self.state().display()))
    }

    fn forget(&self) {
        let _ = fs::remove_file(self.state()); // absent is the desired state
    }
}

/// Starts it unless it is running, and prints how to use it.
pub(crate) async fn up(with_node: bool) -> Result<()> {
    // Read before building: a build replaces the file, which then has no path any more.
    let program = std::env::current_exe().context("cannot find the path of the running executable")?;
    let folder = Folder::open()?;
    if folder.is_up()? {
        println!("already up");
        return wait_ready(&folder, false, || folder.is_up()).await;
    }
    folder.forget(); // of a process that was killed
    if with_node {
        node::prepare().await?;
    } else {
        stage::prepare().await?;
    }
    let log =
        File::create(folder.log()).with_context(|| format!("cannot write {}", folder.log().display()))?;
    let errors = log.try_clone().context("cannot share the log")?;
    let mut child = std::process::Command::new(program)
        .args(["up", "--serve"])
        .args(with_node.then_some("--node"))
        .current_dir(paths::workspace_root()?)
        .process_group(0) // Ctrl-C in this terminal is not meant for it
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .context("cannot start the background process")?;
    let mut guard = Unless(Some(Pid::from_raw(child.id().try_into().context("an invalid process id")?)));
    wait_ready(&folder, true, move || {
        Ok(child.try_wait().context("failed to check the background process")?.is_none())
    })
    .await?;
    guard.0 = None;
    Ok(())
}

/// Stops the background process unless it became ready: Ctrl-C during the start must not leave processes behind.
struct Unless(Option<Pid>);

impl Drop for Unless {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            let _ = kill(pid, Signal::SIGTERM); // it may have ended already
        }
    }
}

/// Waits while it starts, and shows its output; `follow`: including earlier output.
async fn wait_ready(folder: &Folder, follow: bool, mut runs: impl FnMut() -> Result<bool>) -> Result<()> {
    let mut shown = 0;
    loop {
        let alive = runs()?;
        let ready = folder.read().and_then(|state| state.ready);
        shown = show_log(folder, shown, follow || ready.is_none());
        if let Some(ready) = ready {
            print_ready(&ready);
            return Ok(());
        }
        if !alive {
            bail!("it did not start; its log is {}", folder.log().display());
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Prints the new output of the background process, if it is still starting; returns the number of bytes read.
fn show_log(folder: &Folder, seen: u64, print: bool) -> u64 {
    let mut text = String::new();
    let read = File::open(folder.log()).and_then(|mut file| {
        file.seek(SeekFrom::Start(seen))?;
        file.read_to_string(&mut text)
    });
    if print && read.is_ok() {
        print!("{text}");
        let _ = std::io::stdout().flush(); // a closed terminal is not a reason to stop
    }
    seen + text.len() as u64
}

fn print_ready(ready: &Ready) {
    ui::headline("Kraken is running");
    println!("{}", ui::exports(&ready.kubeconfig, &ready.aws_endpoint));
    println!("# Kubernetes listens on {}; try: kubectl apply -f config/samples/quickstart", ready.server);
    for log in &ready.logs {
        println!("# log: {}", log.display());
    }
    println!("# `cargo xtask down` stops it");
}

/// The lock, even if another process checks it at the same moment.
async fn lock_with_retries(folder: &Folder) -> Result<File> {
    for _ in 0..20 {
        if let Some(lock) = folder.lock()? {
            return Ok(lock);
        }
        tokio::time::sleep(POLL).await;
    }
    bail!("it is already running")
}

/// The background process.
pub(crate) async fn serve(stop: &mut Stop, with_node: bool) -> Result<()> {
    let folder = Folder::open()?;
    let _lock = lock_with_retries(&folder).await?;
    let pid = i32::try_from(std::process::id()).context("an invalid process id")?;
    folder.write(&State { pid, ready: None })?;
    let result = if with_node {
        serve_node(stop, &folder, pid).await
    } else {
        serve_processes(stop, &folder, pid).await
    };
    folder.forget();
    result
}

async fn serve_processes(stop: &mut Stop, folder: &Folder, pid: i32) -> Result<()> {
    let environment = stop.race(stage::start(stage::with_webhooks())).await?;
    let ready = Ready {
        kubeconfig: environment.control_plane.admin_kubeconfig(),
        server: environment.control_plane.server().to_owned(),
        aws_endpoint: environment.moto.endpoint().to_owned(),
        logs: environment.suite.controllers().map(kraken_testing::suite::Controller::log).collect(),
    };
    folder.write(&State { pid, ready: Some(ready) })?;
    stop.requested().await;
    Ok(())
}

async fn serve_node(stop: &mut Stop, folder: &Folder, pid: i32) -> Result<()> {
    let cluster = stop.race(node::start(&[])).await?;
    let (kubeconfig, aws_endpoint) =
        (cluster.control_plane.admin_kubeconfig(), cluster.moto.endpoint().to_owned());
    stop.race(node::install(&kubeconfig, &aws_endpoint)).await?;
    let logs = ["kubelet.log", "containerd.log"].map(|log| cluster.node.folder().join(log)).to_vec();
    let server = cluster.control_plane.server().to_owned();
    folder.write(&State { pid, ready: Some(Ready { kubeconfig, server, aws_endpoint, logs }) })?;
    stop.requested().await;
    Ok(())
}

/// Stops it if it is up.
pub(crate) async fn down() -> Result<()> {
    let folder = Folder::open()?;
    if !folder.is_up()? {
        folder.forget();
        println!("nothing is running");
        return Ok(());
    }
    let started = Instant::now();
    let state = loop {
        // It writes its state immediately after it acquires the lock.
        if let Some(state) = folder.read() {
            break state;
        }
        if started.elapsed() > Duration::from_secs(5) {
            bail!("a process holds {} but has written no state", folder.0.join("lock").display());
        }
        tokio::time::sleep(POLL).await;
    };
    let pid = Pid::from_raw(state.pid);
    kill(pid, Signal::SIGTERM).with_context(|| format!("cannot stop process {pid}"))?;
    while folder.is_up()? {
        if started.elapsed() > DOWN_WITHIN {
            // Its children die with it in any case.
            kill(pid, Signal::SIGKILL).with_context(|| format!("cannot kill process {pid}"))?;
        }
        tokio::time::sleep(POLL).await;
    }
    folder.forget();
    println!("down after {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}
