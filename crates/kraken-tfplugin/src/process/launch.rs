//! The start of a plugin, until it is known where it listens.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use super::handshake::{self, Handshake};
use super::{Process, Tail, parent, program};
use crate::plugin::CallError;
use crate::schema::SchemaError;

/// The value by which a program knows that it was started as a plugin.
const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");
/// The longest path of a Unix socket, in bytes, without the zero at its end.
const MAX_SOCKET_PATH: usize = 107;
/// `/plugin` and up to ten digits.
const SOCKET_NAME: usize = 17;
/// The longest line of a handshake, in bytes.
const MAX_LINE: u64 = 64 << 10;
/// The time for which a program that closed its output may still run before it is reported.
const EXIT: Duration = Duration::from_secs(2);

/// How a plugin is started.
#[derive(Clone, Debug)]
pub(crate) struct StartOptions {
    /// The program.
    pub(crate) program: PathBuf,
    /// The SHA-256 of the program, in 64 hexadecimal digits. The file that is opened and checked is the one that is started.
    /// `None` starts any program.
    pub(crate) sha256: Option<String>,
    /// An existing folder, for the plugin's socket and as its working directory. Its path has at most 90 bytes. Whoever can enter it
    /// can call the plugin.
    pub(crate) folder: PathBuf,
    /// The environment. Nothing of this process's own is inherited.
    pub(crate) env: BTreeMap<OsString, OsString>,
    /// The time until the plugin must listen; 30 seconds by default.
    pub(crate) deadline: Duration,
    /// As [`HostOptions::launcher`](crate::HostOptions::launcher).
    pub(crate) launcher: Vec<OsString>,
}

impl StartOptions {
    /// A program, with defaults.
    pub(crate) fn new(program: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            sha256: None,
            folder: folder.into(),
            env: BTreeMap::new(),
            deadline: Duration::from_secs(30),
            launcher: vec![],
        }
    }
}

/// Why a plugin was not started.
///
/// Texts contain what the program printed to its standard error, at most 4 KiB: it was given no configuration yet.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder cannot be used.
    #[error("folder {0}: {1}")]
    Folder(PathBuf, String),
    /// The file cannot be read.
    #[error("failed to read {0}: {1}")]
    Open(PathBuf, io::Error),
    /// The file is another one than expected.
    #[error("expected SHA-256 {expected}, got {actual}")]
    Digest {
        /// As in the options.
        expected: String,
        /// Of the file.
        actual: String,
    },
    /// The file is no program, or one for another machine.
    #[error("{0} {1}")]
    Program(PathBuf, String),
    /// The program cannot be started.
    #[error("failed to start {0}: {1}")]
    Spawn(PathBuf, io::Error),
    /// The program ended instead of listening.
    #[error("is not a plugin, or failed to start: it ended ({status}){}", printed(.stderr))]
    Ended {
        /// Its exit code or signal.
        status: String,
        /// The end of its standard error.
        stderr: String,
    },
    /// The program does not say where it listens.
    #[error("does not listen after {} s{}", .deadline.as_secs_f32(), printed(.stderr))]
    Deadline {
        /// As in the options.
        deadline: Duration,
        /// The end of its standard error.
        stderr: String,
    },
    /// The program listens in a way that is not supported, or prints something else.
    #[error("invalid handshake: {why}{}", printed(.stderr))]
    Handshake {
        /// The reason.
        why: String,
        /// The end of its standard error.
        stderr: String,
    },
    /// The connection failed.
    #[error("failed to connect: {0}")]
    Connect(#[from] tonic::transport::Error),
    /// The schema cannot be used.
    #[error("invalid schema: {0}")]
    Schema(#[from] SchemaError),
    /// A host did not start it, or the request of its schema failed.
    #[error("{0}")]
    Call(#[from] CallError),
}

fn printed(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it printed: {stderr}") }
}

/// A plugin that listens.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) process: Process,
    pub(crate) handshake: Handshake,
}

/// Starts a program and waits until it listens.
pub(crate) async fn start(options: &StartOptions) -> Result<Started, StartError> {
    if options.folder.as_os_str().len() + SOCKET_NAME > MAX_SOCKET_PATH {
        let why = "its path is too long for a Unix socket in it".to_owned();
        return Err(StartError::Folder(options.folder.clone(), why));
    }
    if let Err(error) = tokio::fs::metadata(&options.folder).await {
        return Err(StartError::Folder(options.folder.clone(), error.to_string()));
    }
    let file = opened(options).await?;
    let mut child =
        spawn(options, &file).map_err(|error| StartError::Spawn(options.program.clone(), error))?;
    let stderr = Tail::default();
    let errors = child.stderr.take().map(|output| tokio::spawn(stderr.clone().fill(output)));
    let stdout = child.stdout.take().map(BufReader::new);
    // A program without an id has ended, and zero is never signaled.
    let pid = Pid::from_raw(child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default());
    let process = Process::supervise(child, pid, stderr);

    let line = timeout(options.deadline, first_line(stdout)).await;
    // A launcher opens it by our descriptor.
    drop(file);
    let Ok(line) = line else {
        return Err(StartError::Deadline { deadline: options.deadline, stderr: process.stderr.text() });
    };
    if line.is_empty() {
        let status = process.ended_within(EXIT).await;
        // Everything that it printed is read when its end of the pipe is closed.
        if let Some(errors) = errors {
            let _ = timeout(EXIT, errors).await;
        }
        let status = status.map_or_else(|| "closed its output".to_owned(), |status| status.to_string());
        return Err(StartError::Ended { status, stderr: process.stderr.text() });
    }
    match handshake::parse(&line) {
        Ok(handshake) => Ok(Started { process, handshake }),
        Err(why) => Err(StartError::Handshake { why, stderr: process.stderr.text() }),
    }
}

/// The program's file, which is checked.
async fn opened(options: &StartOptions) -> Result<File, StartError> {
    let path = options.program.clone();
    let expected = options.sha256.clone();
    let check = move || {
        let file = File::open(&path).map_err(|error| StartError::Open(path.clone(), error))?;
        let failed = |error| StartError::Open(path.clone(), error);
        if let Some(expected) = expected {
            let actual = program::sha256(&file).map_err(failed)?;
            if !actual.eq_ignore_ascii_case(&expected) {
                return Err(StartError::Digest { expected, actual });
            }
        }
        match program::is_unusable(&file).map_err(failed)? {
            Some(why) => Err(StartError::Program(path, why)),
            None => Ok(file),
        }
    };
    let cancelled = |_| StartError::Open(options.program.clone(), io::Error::other("cancelled"));
    tokio::task::spawn_blocking(check).await.map_err(cancelled)?
}

fn spawn(options: &StartOptions, file: &File) -> io::Result<Child> {
    // Not by its path: another file could be there by now.
    let mut command = match options.launcher.split_first() {
        None => Command::new(format!("/proc/self/fd/{}", file.as_raw_fd())),
        Some((launcher, arguments)) => {
            let mut command = Command::new(launcher);
            command.args(arguments).args(parent::arguments(file.as_raw_fd(), options.program.clone().into()));
            command
        }
    };
    if options.launcher.is_empty() {
        command.arg0(&options.program);
    }
    command
        .env_clear()
        .envs(&options.env)
        .env(COOKIE.0, COOKIE.1)
        .env("PLUGIN_PROTOCOL_VERSIONS", "5,6")
        .env("PLUGIN_UNIX_SOCKET_DIR", &options.folder)
        .current_dir(&options.folder)
        // Ctrl-C in a terminal reaches only this process, which lets operations finish.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// The first line of an output; empty if there is none. The rest is read and dropped.
async fn first_line(stdout: Option<BufReader<ChildStdout>>) -> String {
    let Some(stdout) = stdout else {
        return String::new();
    };
    let mut limited = stdout.take(MAX_LINE);
    let mut line = vec![];
    let _ = limited.read_until(b'\n', &mut line).await;
    let mut rest = limited.into_inner();
    tokio::spawn(async move { tokio::io::copy(&mut rest, &mut tokio::io::sink()).await });
    String::from_utf8_lossy(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_that_is_too_long_or_absent_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        for (name, reason) in [("x".repeat(100), "too long"), ("absent".to_owned(), "No such file")] {
            let options = StartOptions::new("/bin/true", folder.path().join(name));
            let error = start(&options).await.unwrap_err();
            assert!(matches!(error, StartError::Folder(..)) && error.to_string().contains(reason), "{error}");
        }
    }
}
