//! The host of plugins: in this process, or in a process of its own, `kraken-tofu host`, that a controller reaches by a Unix socket.
//!
//! That process knows nothing of Kubernetes and reads no environment variables; it runs what the controller asks for.

use std::{
    ffi::OsString,
    future::Future,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context as _, Result};
use clap::Parser;
use kraken_kind::runtime::{logs, random, task};
use kraken_tfplugin::{Host, HostLink, HostOptions, serve};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};
use tracing::{error, info, warn};

/// The host of plugins of a controller, as a process of its own.
#[derive(Debug, Parser)]
#[command(
    name = "kraken-tofu host",
    about = "Runs providers for the controller, and finishes their operations when it ends"
)]
struct HostArgs {
    /// The Unix socket to listen on; its folder is created, and only this user can enter it
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// What is logged, such as `debug`
    #[arg(long, value_name = "FILTER", default_value = "info")]
    log_level: String,
}

/// The `main` of the process.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let args = HostArgs::parse_from([OsString::from("kraken-tofu host")].into_iter().chain(arguments));
    let logs = logs::filter(&args.log_level).map(|filter| {
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(false)
            .with_writer(std::io::stderr)
            .init();
    });
    if let Err(error) = logs {
        eprintln!("kraken-tofu host: failed to parse --log-level: {error}");
        return ExitCode::FAILURE;
    }
    let runtime =
        Builder::new_multi_thread().worker_threads(2).enable_all().build().context("failed to start threads");
    match runtime.and_then(|runtime| runtime.block_on(run(&args.socket))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!("the host of providers ended: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until the first signal, then finishes operations; the second signal ends it at once.
async fn run(socket: &Path) -> Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut signalled = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let host = Host::new(options()?);
    let serving = served(host.clone(), socket);
    tokio::pin!(serving);
    info!(socket = %socket.display(), "runs providers");
    tokio::select! {
        served = &mut serving => return served,
        () = signalled() => info!("finishing operations"),
    }
    // Answers are asked for and acknowledged meanwhile.
    tokio::select! {
        served = serving => served,
        () = host.close() => Ok(()),
        () = signalled() => {
            warn!("received a second signal; exiting immediately");
            Ok(())
        }
    }
}

async fn served(host: Arc<Host>, socket: &Path) -> Result<()> {
    tokio::select! {
        served = serve(host.clone(), socket) => served.with_context(|| format!("failed to listen on {}", socket.display())),
        () = host.tend() => Ok(()),
    }
}

/// The host of a controller, and what runs until it is shut down: the one that listens on this socket, or one in this process.
pub(crate) fn of_controller(socket: Option<PathBuf>) -> Result<(HostLink, impl Future<Output = ()>)> {
    let (link, own) = if let Some(socket) = socket {
        (HostLink::at(socket), None)
    } else {
        let own = Host::new(options()?);
        (HostLink::Own(own.clone()), Some(own))
    };
    let tending = own.clone().map(|own| task::spawn(async move { own.tend().await }));
    let close = async move {
        if let (Some(own), Some(tending)) = (own, tending) {
            own.close().await;
            tending.abort();
        }
    };
    Ok((link, close))
}

fn options() -> Result<HostOptions> {
    let mut instance = [0; 16];
    random::fill(&mut instance)?;
    let own = std::env::current_exe().context("failed to find this program")?;
    // This program becomes each plugin, so that plugins do not outlive it.
    let launcher = vec![own.into_os_string(), crate::LAUNCH.into()];
    Ok(HostOptions { launcher, ..HostOptions::new(hex::encode(instance)) })
}
