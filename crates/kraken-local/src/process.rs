//! A child process that cannot outlive this one.
//!
//! Each child runs under a small shell that holds the read end of a pipe. When this process drops the [`Process`],
//! exits, or is killed in any way (SIGKILL included), the pipe closes, and the shell stops the child: TERM, then KILL
//! after a grace period. Guards alone are not sufficient: statics are never dropped, and nothing is dropped on SIGKILL.
//! Children get a process group of their own, so that Ctrl-C in a terminal reaches only the parent, which stops them in
//! order.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The default grace period of a child between TERM and KILL.
const GRACE: Duration = Duration::from_secs(10);

// $1: file for the child's pid, $2: grace in tenths of a second, then the command.
// stdin is the pipe, stdout returns the child's pid to the parent, stderr is the log.
const WATCHDOG: &str = r#"
pidfile=$1; grace=$2; shift 2
exec 3<&0
"$@" </dev/null >&2 3<&- &
child=$!
echo "$child" >"$pidfile"
echo "$child"
{
  read -r line <&3
  kill -TERM "$child"
  while [ "$grace" -gt 0 ] && kill -0 "$child"; do sleep 0.1; grace=$((grace - 1)); done
  kill -KILL "$child"
} 2>/dev/null >&2 &
guard=$!
exec 3<&-
wait "$child"
status=$?
kill "$guard" 2>/dev/null
exit "$status"
"#;

/// The specification of a child process.
#[derive(Debug, Clone)]
pub struct Spec {
    name: String,
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(String, String)>,
    folder: PathBuf,
    grace: Duration,
}

impl Spec {
    /// `program`, called `name` in messages; its log and pid file go to `folder` as `<name>.log`, `<name>.pid`.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            folder: folder.into(),
            grace: GRACE,
        }
    }

    /// How long it may take to end after TERM before it is killed; 10 seconds if not set.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds environment variables. Only PATH and the variables of logs and backtraces are inherited, so that a
    /// developer's own AWS or Kubernetes settings can never leak into a run.
    #[must_use]
    pub fn envs<T: Into<String>>(mut self, env: impl IntoIterator<Item = (T, T)>) -> Self {
        self.env.extend(env.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The log of the child; appended to on a restart.
    pub fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }
}

/// A running child; stopped on drop.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    pid: Pid,
    watchdog: Child,
    pipe: Option<ChildStdin>,
    grace: Duration,
}

impl Process {
    /// Starts it.
    ///
    /// # Errors
    /// When the program does not exist or cannot be started.
    pub fn spawn(spec: &Spec) -> Result<Self> {
        let Spec { name, program, .. } = spec;
        if program.is_absolute() && !program.is_file() {
            bail!("{} does not exist, so {name} cannot be started", program.display());
        }
        let log_path = spec.log();
        let log = File::options()
            .create(true)
            .append(true)
            .open(&log_path)
            .with_context(|| format!("cannot write {}", log_path.display()))?;
        let inherited = ["PATH", "KRAKEN_LOG", "RUST_LOG", "RUST_BACKTRACE"]
            .map(|name| (name, std::env::var_os(name).unwrap_or_default()));
        let mut watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "sh"])
            .arg(spec.folder.join(format!("{name}.pid")))
            .arg((spec.grace.as_millis() / 100).to_string())
            .arg(program)
            .args(&spec.args)
            .env_clear()
            .envs(inherited.into_iter().filter(|(_, value)| !value.is_empty()))
            .env("HOME", &spec.folder)
            .envs(spec.env.iter().cloned())
            .current_dir(&spec.folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start `sh` to run {name}"))?;
        let pipe = watchdog.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = watchdog.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .with_context(|| format!("cannot read the process id of {name}"))?;
        }
        let pid = line.trim().parse().with_context(|| format!("{name} did not start"))?;
        Ok(Self {
            name: name.clone(),
            log: log_path,
            pid: Pid::from_raw(pid),
            watchdog,
            pipe,
            grace: spec.grace,
        })
    }

    /// Its process id (the program's, not the watchdog's).
    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Its log file.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.watchdog.try_wait(), Ok(None))
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When it is not running.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        // Checked first, because the id of an ended process may have been reused.
        if !self.is_running() {
            bail!("{} is not running; its log is {}", self.name, self.log.display());
        }
        kill(self.pid, signal).with_context(|| format!("cannot send {signal} to {}", self.name))
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// When it has not ended within `limit`.
    pub async fn ended(&mut self, limit: Duration) -> Result<()> {
        let started = Instant::now();
        while self.is_running() {
            if started.elapsed() > limit {
                bail!("{} still runs after {} s", self.name, limit.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Begins to stop it (TERM now, KILL after the grace period) without waiting, so that several can stop at once.
    pub fn begin_stop(&mut self) {
        self.pipe = None;
    }

    /// Stops it and waits until it has ended.
    pub fn stop(&mut self) {
        self.begin_stop();
        let started = Instant::now();
        while self.is_running() && started.elapsed() < self.grace + Duration::from_secs(2) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its memory, from the kernel (`VmRSS`).
    ///
    /// # Errors
    /// When it is not running.
    pub fn rss_bytes(&self) -> Result<u64> {
        rss_bytes(self.pid()).with_context(|| format!("{} is not running", self.name))
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        log_tail(&self.log)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The memory of a process in bytes, from the kernel (`VmRSS`).
///
/// # Errors
/// When there is no such process.
pub fn rss_bytes(pid: i32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let kibibytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .and_then(|number| number.trim().parse::<u64>().ok())
        .with_context(|| format!("{path} has no VmRSS"))?;
    Ok(kibibytes * 1024)
}

/// The memory of a process and of those that it started, in bytes.
///
/// # Errors
/// When there is no such process.
pub fn rss_bytes_with_children(pid: i32) -> Result<u64> {
    // A child belongs to the thread that started it.
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let mut sum = rss_bytes(pid)?;
    for list in lists {
        let children = list.split_whitespace().filter_map(|child| child.parse().ok());
        // One that ended meanwhile has no memory.
        sum += children.map(|child| rss_bytes_with_children(child).unwrap_or_default()).sum::<u64>();
    }
    Ok(sum)
}

/// The text of a log. A controller that is killed may leave part of a character.
///
/// # Errors
/// When it cannot be read.
pub fn log_text(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last 20 lines of a log, indented; for error messages.
pub fn log_tail(path: &Path) -> String {
    let text = log_text(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let tail: Vec<String> =
        lines[lines.len().saturating_sub(20)..].iter().map(|line| format!("    {line}")).collect();
    format!("the end of {}:\n{}", path.display(), tail.join("\n"))
}

/// What a controller logs when it ends because it lost its lease.
pub const LOST_LEASE: &str = "lost the lease";

/// Whether the last line of a controller's log reports that it ended because it lost its lease.
pub fn has_lost_its_lease(log: &Path) -> bool {
    log_text(log).is_ok_and(|text| text.lines().next_back().is_some_and(|line| line.contains(LOST_LEASE)))
}

/// Kills a process that a controller started, such as a provider, at once.
///
/// # Errors
/// If it does not exist.
pub fn kill_at_once(pid: i32) -> std::io::Result<()> {
    kill(Pid::from_raw(pid), Signal::SIGKILL).map_err(std::io::Error::from)
}
