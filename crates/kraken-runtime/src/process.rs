//! The lifecycle of a process with one or several controllers, from its flags to its exit code.
//!
//! The order ensures that a process that cannot proceed reports why: logs first, then the health server, then the API
//! server (the process waits for it), then each controller with its lease.

use std::{io, process::ExitCode};

use tokio::{
    runtime,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use crate::{
    args::RunArgs,
    client::{self, ClientError},
    embedded::{self, LEASE_REQUESTS, Process},
    errors::one_line,
    health::Health,
    hosted::{Hosted, until_all_end},
    lease::{self, LeaseThread},
    logs, manager,
    metrics::Metrics,
    request::Bounds,
    serve::{self, ListenError},
    supervise::EndError,
    version, webhooks,
};

/// Threads of the runtime. A controller mostly waits for responses; each thread costs a stack and an allocator arena.
const WORKER_THREADS: usize = 2;
/// By convention, a process that is ended by signal N exits with 128 + N.
const SIGNAL_EXIT: u8 = 128;
const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// The variable with the version of the chart or the manifests, which set it.
const MANIFEST_VERSION: &str = "KRAKEN_MANIFEST_VERSION";

/// Why the process ended.
#[derive(Debug, thiserror::Error)]
enum ProcessError {
    #[error("failed to listen for signals: {0}")]
    Signals(io::Error),
    #[error("failed to start the lease's thread: {0}")]
    Thread(io::Error),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Webhooks(#[from] kraken_webhook::serve::ServeError),
    /// The name of the controller is in the line only if the process has several.
    #[error("{}{error}", .controller.map(|controller| format!("{controller}: ")).unwrap_or_default())]
    End { controller: Option<&'static str>, error: EndError },
}

/// Runs these controllers until one of them ends or the process is stopped. `name` is that of the binary.
pub(crate) fn run(name: &'static str, args: RunArgs, controllers: Vec<Hosted>) -> ExitCode {
    if let Err(error) = logs::start(&args) {
        eprintln!("{name}: {error}");
        return ExitCode::FAILURE;
    }
    let runtime = runtime::Builder::new_multi_thread().worker_threads(WORKER_THREADS).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!("failed to start threads: {error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(until_signal(name, args, controllers));
    // Running tasks must not delay the end of the process.
    runtime.shutdown_background();
    match ended {
        Ok(code) => code,
        Err(error) => {
            tracing::error!("{name} ended: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The first signal stops the controllers gracefully, the second ends them.
async fn until_signal(
    name: &'static str,
    args: RunArgs,
    controllers: Vec<Hosted>,
) -> Result<ExitCode, ProcessError> {
    let mut signals = Signals::listen().map_err(ProcessError::Signals)?;
    let shutdown = CancellationToken::new();
    let stopped_twice = async {
        let signal = if signals.next().await == SIGTERM { "SIGTERM" } else { "SIGINT" };
        tracing::info!("{signal}: stopping");
        shutdown.cancel();
        signals.next().await
    };
    tokio::select! {
        biased;
        number = stopped_twice => {
            tracing::warn!("received a second signal; exiting immediately");
            Ok(ExitCode::from(SIGNAL_EXIT + number))
        }
        ended = live(name, args, controllers, shutdown.clone()) => ended.map(|()| {
            tracing::info!("stopped");
            ExitCode::SUCCESS
        }),
    }
}

/// Starts everything in order, then runs the controllers.
async fn live(
    name: &'static str,
    args: RunArgs,
    controllers: Vec<Hosted>,
    shutdown: CancellationToken,
) -> Result<(), ProcessError> {
    let config = client::config().await?;
    let metrics = Metrics::new(name);
    metrics.limit_namespaces(args.metrics_namespaces);
    let connect = |requests| {
        client::connect(config.clone(), name, &Bounds::new(args.request_timeout, requests, metrics.clone()))
    };
    let client = connect(args.request_concurrency)?;

    let health = Health::default();
    // Before the port opens: a process without prerequisites would be ready.
    let controllers: Vec<_> = controllers
        .into_iter()
        .map(|controller| {
            let health = health.member();
            (controller, embedded::reached(&health), health)
        })
        .collect();
    let listening = serve::start(args.listen_address, health.clone(), metrics.clone()).await?;
    tracing::info!(
        version = version::long(),
        api = %config.cluster_url,
        namespaces = %args.namespaces,
        %listening,
        "starting {name}"
    );
    if let Some(warning) = version::skew(&std::env::var(MANIFEST_VERSION).unwrap_or_default()) {
        tracing::warn!("{warning}");
        health.warn(warning);
    }
    let identity = manager::identity(name);
    let lease_thread =
        if args.leader_elect { Some(LeaseThread::start().map_err(ProcessError::Thread)?) } else { None };
    let namespace = args.lease_namespace_or(std::env::var("POD_NAMESPACE").ok());
    let names: Vec<&'static str> = controllers.iter().map(|(controller, ..)| controller.name()).collect();
    let webhooks = webhooks::start(&args, &names, &namespace, &client, &metrics, &shutdown).await?;
    let mut running = Vec::new();
    for (controller, reached, health) in controllers {
        let lease = if let Some(thread) = &lease_thread {
            let client = || connect(LEASE_REQUESTS);
            let identity = identity.clone();
            Some(thread.candidate(client, &namespace, controller.name(), identity, args.lease_duration)?)
        } else {
            let name = controller.name();
            if let Err(error) = lease::leave_unused(client.clone(), &namespace, name, name).await {
                tracing::warn!("failed to mark the lease {name} as unused: {}", one_line(&error));
            }
            None
        };
        let process = Process {
            args: args.clone(),
            client: client.clone(),
            lease,
            predecessor_ended_at: None,
            identity: identity.clone(),
            metrics: metrics.clone(),
            health,
            reached,
            webhooks: webhooks.clone(),
            shutdown: shutdown.clone(),
        };
        running.push(controller.start(process));
    }
    let ended = until_all_end(running, &shutdown).await;
    // Only now, because the leases were renewed and released on it.
    drop(lease_thread);
    let shares = names.len() > 1;
    ended.map_err(|(name, error)| ProcessError::End { controller: shares.then_some(name), error })
}

/// The signals that stop a process.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => SIGINT,
            _ = self.terminate.recv() => SIGTERM,
        }
    }
}
