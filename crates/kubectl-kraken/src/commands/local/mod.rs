//! `kubectl kraken local`: Kraken without a cluster. kube-apiserver, its database and the controllers run as processes of this machine, with
//! the credentials of the user.
//!
//! [`up`](self) starts a process in the background ([`serve`]), which starts and supervises the others, and ends with all of them.

mod export;
mod logs;
mod manifests;
mod plane;
mod programs;
mod serve;
mod start;
mod status;

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use kraken_local::{assets::Assets, background::Background};
use serde::{Deserialize, Serialize};

use self::{programs::Programs, start::Running};
use crate::{
    cluster::Cluster,
    connection::Connection,
    print::{count, out},
};

/// How long the processes may take to end before they are killed. A controller takes up to 10 s, and the control plane ends after them.
const DOWN_WITHIN: Duration = Duration::from_secs(40);

/// What to do, and where.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The folder of everything that is stored [default: ~/.local/share/kraken, or below XDG_DATA_HOME].
    #[arg(long, global = true, env = "KRAKEN_LOCAL_FOLDER", value_name = "FOLDER")]
    folder: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    /// Start it in the background. Standard output has the line that sets KUBECONFIG.
    #[command(after_help = "Examples:\n  \
        eval \"$(kubectl kraken local up --controllers target/debug)\"\n  \
        AWS_PROFILE=test kubectl kraken local up --only hub,aws-vpc\n\n\
        The programs of the controllers are those of a release beside this program, or in the folder of --controllers; `cargo build \
        --workspace --bins` builds them. The controllers get the variables AWS_*, KRAKEN_* and those of proxies from this command, and HOME, in which the AWS SDK finds its \
        profiles. The first start compiles the control plane with Go, unless KUBEBUILDER_ASSETS names a folder with etcd, kube-apiserver \
        and kube-controller-manager.")]
    Up(Programs),
    /// Stop it. What is stored stays, and so does everything in the cloud.
    #[command(after_help = "Example:\n  kubectl kraken local down")]
    Down,
    /// Show the processes: whether they are ready, their memory, what is stored.
    #[command(
        after_help = "Example:\n  kubectl kraken local status\n\nExit code: 0 if everything is ready, 1 if not."
    )]
    Status,
    /// Print the logs.
    #[command(
        after_help = "Examples:\n  kubectl kraken local logs aws-vpc -f\n  kubectl kraken local logs --tail 20"
    )]
    Logs(logs::Options),
    /// Write all objects as YAML with which a cluster takes over what exists in the cloud.
    #[command(after_help = "Example:\n  kubectl kraken local export > all.yaml\n\n\
        Values of Secrets are not written. How to move is said on standard error.")]
    Export,
    /// The process in the background.
    #[command(hide = true)]
    Serve(Programs),
}

/// How a running one is used, as the process in the background writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Ready {
    kubeconfig: PathBuf,
    server: String,
    processes: Vec<Row>,
    /// What did not get ready in time, as lines.
    warnings: Vec<String>,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    name: String,
    pid: i32,
    /// Where it says whether it is ready, on loopback: port and path. `None` if it does not.
    health: Option<(u16, String)>,
}

/// Runs the command.
pub(super) async fn run(options: Options) -> Result<ExitCode> {
    let background = Background::in_folder(folder(options.folder)?)?;
    match options.command {
        Command::Up(programs) => up(&background, &programs).await,
        Command::Serve(programs) => serve::run(&background, &programs.found()?).await,
        Command::Down => down(&background).await,
        Command::Status => status::run(&background).await,
        Command::Logs(options) => logs::run(&background, &options).await,
        Command::Export => export::run(&running(&background).await?).await,
    }
}

fn folder(given: Option<PathBuf>) -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_data = || absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
    let folder = match given {
        Some(folder) => std::path::absolute(folder).context("--folder is no path")?,
        None => of_data().context("no folder for data: set --folder, HOME or XDG_DATA_HOME")?.join("kraken"),
    };
    // KUBECONFIG is a list of paths that are separated by colons.
    if folder.to_str().is_none_or(|text| text.contains(':')) {
        bail!("{} cannot be a path in KUBECONFIG: choose one without a colon, in UTF-8", folder.display());
    }
    Ok(folder)
}

/// The word of a shell that is this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

async fn up(background: &Background, programs: &Programs) -> Result<ExitCode> {
    let started = Instant::now();
    is_private(background.folder())?;
    let found = programs.found()?; // a mistake is said here and not in a log
    if !background.is_up()? {
        Assets::check()?;
    }
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = std::process::Command::new(program);
    command.args(["local", "serve", "--folder"]).arg(background.folder()).args(programs.arguments(&found));
    let running = start::run::<Ready>(background, command, |text| eprint!("{text}")).await?;
    let Running { ready, is_joined } = running;
    for warning in &ready.warnings {
        eprintln!("{warning}");
    }
    let is_controller = |row: &&Row| row.name.starts_with("kraken-");
    let running: Vec<&str> =
        ready.processes.iter().filter(is_controller).map(|row| row.name.as_str()).collect();
    let wanted: Vec<String> = found.all().map(|of| serve::account(of.controller.name)).collect();
    if running != wanted {
        bail!("it runs with {} already: kubectl kraken local down, then up", running.join(", "));
    }
    let state = if is_joined {
        "has its options and credentials of its start: to change them, down and up".to_owned()
    } else {
        format!("started after {:.1} s", started.elapsed().as_secs_f64())
    };
    eprintln!(
        "Kraken runs on this machine at {}, with {}; it {state}. What it stores is in {}.",
        ready.server,
        count(running.len(), "controller"),
        background.folder().display()
    );
    out(&format!("export KUBECONFIG={}\n", quoted(&ready.kubeconfig.display().to_string())))?;
    Ok(if ready.warnings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder holds Secrets and keys. One that existed before keeps its mode, which is a matter of its owner.
fn is_private(folder: &Path) -> Result<()> {
    let mode = std::fs::metadata(folder).with_context(|| format!("cannot read {}", folder.display()))?.mode();
    if mode & 0o077 != 0 {
        bail!("others can read {}: chmod 700, or choose another --folder", folder.display());
    }
    Ok(())
}

async fn down(background: &Background) -> Result<ExitCode> {
    match background.stop(DOWN_WITHIN).await? {
        Some(took) => eprintln!(
            "down after {:.1} s. What is stored in {} and what exists in the cloud stay as they are.",
            took.as_secs_f64(),
            background.folder().display()
        ),
        None => eprintln!("nothing is running in {}", background.folder().display()),
    }
    Ok(ExitCode::SUCCESS)
}

/// A connection to the one that is running, in all namespaces.
async fn running(background: &Background) -> Result<Cluster> {
    let Some(ready) = background.state::<Ready>().filter(|_| background.is_up().unwrap_or(false)) else {
        bail!("nothing is running in {}: kubectl kraken local up", background.folder().display())
    };
    let connection =
        Connection { kubeconfig: Some(ready.kubeconfig), all_namespaces: true, ..Connection::default() };
    Cluster::connect(&connection).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_folder_becomes_absolute() {
        assert!(folder(Some("data".into())).unwrap().is_absolute());
        assert_eq!(folder(Some("/srv/kraken".into())).unwrap(), PathBuf::from("/srv/kraken"));
        assert!(folder(Some("/srv/a:b".into())).unwrap_err().to_string().contains("without a colon"));
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted("/home/o'neil; x"), r"'/home/o'\''neil; x'");
    }

    #[test]
    fn a_folder_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let with = |mode: u32| {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            is_private(folder.path())
        };
        assert!(with(0o755).unwrap_err().to_string().contains("chmod 700"));
        with(0o700).unwrap();
    }
}
