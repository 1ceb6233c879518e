//! The lifecycle of a controller's process, from its flags to its exit code.
//!
//! The order ensures that a process that cannot proceed reports why: logs first, then the health server, then the API
//! server (the process waits for it), then the controller with the lease.

use std::{io, process::ExitCode};

use tokio::{
    runtime,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use crate::{
    args::RunArgs,
    client::{self, ClientError},
    embedded::{LEASE_REQUESTS, Process},
    errors::one_line,
    health::Health,
    lease::{self, LeaseThread},
    logs, manager,
    metrics::Metrics,
    program::Program,
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
    #[error(transparent)]
    End(#[from] EndError),
}

/// Runs the controller until it ends or is stopped.
pub(crate) fn run<P: Program>(args: RunArgs, own: P::Args) -> ExitCode {
    if let Err(error) = logs::start(&args) {
        eprintln!("{}: {error}", P::NAME);
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
    let ended = runtime.block_on(until_signal::<P>(args, own));
    // Running tasks must not delay the end of the process.
    runtime.shutdown_background();
    match ended {
        Ok(code) => code,
        Err(error) => {
            tracing::error!("{} ended: {error}", P::NAME);
            ExitCode::FAILURE
        }
    }
}

/// The first signal stops the controller gracefully, the second ends it.
async fn until_signal<P: Program>(args: RunArgs, own: P::Args) -> Result<ExitCode, ProcessError> {
    let mut signals = Signals::listen().map_err(ProcessError::Signals)?;
    let shutdown = CancellationToken::new();
    let stopped_twice = async {
        let name = if signals.next().await == SIGTERM { "SIGTERM" } else { "SIGINT" };
        tracing::info!("{name}: stopping");
        shutdown.cancel();
        signals.next().await
    };
    tokio::select! {
        biased;
        number = stopped_twice => {
            tracing::warn!("received a second signal; exiting immediately");
            Ok(ExitCode::from(SIGNAL_EXIT + number))
        }
        ended = live::<P>(args, own, shutdown.clone()) => ended.map(|()| {
            tracing::info!("stopped");
            ExitCode::SUCCESS
        }),
    }
}

/// Starts everything in order, then runs the controller.
async fn live<P: Program>(
    args: RunArgs,
    own: P::Args,
    shutdown: CancellationToken,
) -> Result<(), ProcessError> {
    let config = client::config().await?;
    let metrics = Metrics::new(P::NAME);
    metrics.limit_namespaces(args.metrics_namespaces);
    let connect = |requests| {
        client::connect(
            config.clone(),
            P::NAME,
            &Bounds::new(args.request_timeout, requests, metrics.clone()),
        )
    };
    let client = connect(args.request_concurrency)?;

    let health = Health::default();
    let listening = serve::start(args.listen_address, health.clone(), metrics.clone()).await?;
    tracing::info!(
        version = version::long(),
        api = %config.cluster_url,
        namespaces = %args.namespaces,
        %listening,
        "starting {}", P::NAME
    );
    if let Some(warning) = version::skew(&std::env::var(MANIFEST_VERSION).unwrap_or_default()) {
        tracing::warn!("{warning}");
        health.warn(warning);
    }
    let identity = manager::identity(P::NAME);
    let lease_thread =
        if args.leader_elect { Some(LeaseThread::start().map_err(ProcessError::Thread)?) } else { None };
    let namespace = args.lease_namespace_or(std::env::var("POD_NAMESPACE").ok());
    let webhooks = webhooks::start::<P>(&args, &namespace, &client, &metrics, &shutdown).await?;
    let lease = if let Some(thread) = &lease_thread {
        let client = || connect(LEASE_REQUESTS);
        Some(thread.candidate(client, &namespace, P::NAME, identity.clone(), args.lease_duration)?)
    } else {
        if let Err(error) = lease::leave_unused(client.clone(), &namespace, P::NAME, P::NAME).await {
            tracing::warn!("failed to mark the lease as unused: {}", one_line(&error));
        }
        None
    };
    let process = Process {
        args,
        client,
        lease,
        predecessor_ended_at: None,
        identity,
        metrics,
        health,
        webhooks,
        shutdown,
    };
    let ended = process.run::<P>(own).await;
    // Only now, because the lease was renewed and released on it.
    drop(lease_thread);
    Ok(ended?)
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
