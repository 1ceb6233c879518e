//! Runs a controller with given clients. A separate process also has a server, signals and a thread for the lease
//! ([`crate::main`]); a controller inside another program has none of them ([`run`]).

use jiff::Timestamp;
use kraken_webhook::Mounts;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    args::RunArgs,
    cluster,
    events::Events,
    health::Health,
    leadership::Leadership,
    lease::Lease,
    manager::Manager,
    metrics::Metrics,
    program::Program,
    request::Bounds,
    supervise::{EndError, supervise},
};

/// The lease's client sends one request at a time; the second allows for one that hangs.
pub(crate) const LEASE_REQUESTS: usize = 2;

/// Runs a controller inside the current runtime, without sockets, signals and threads. `connect` creates its clients, one for the
/// workers and, with leader election, one for the lease: [`Bounds::client`] of a service that connects to an API server. `identity`
/// must be unique among all replicas. `predecessor_ended_at` is the end of the former process; `None` if it is not known. With leader election,
/// it is not used: the lease determines it. The controller ends after `shutdown`, like a process after SIGTERM.
///
/// # Errors
/// If the controller fails or loses its lease.
pub async fn run<P: Program>(
    args: RunArgs,
    own: P::Args,
    identity: String,
    predecessor_ended_at: Option<Timestamp>,
    metrics: Metrics,
    connect: impl Fn(&Bounds) -> Client,
    shutdown: CancellationToken,
) -> Result<(), EndError> {
    let health = Health::default();
    let connect = |requests| connect(&Bounds::new(args.request_timeout, requests, metrics.clone()));
    let client = connect(args.request_concurrency);
    let lease = args.leader_elect.then(|| {
        let namespace = args.lease_namespace_or(None);
        Lease::new(connect(LEASE_REQUESTS), &namespace, P::NAME, identity.clone(), args.lease_duration)
    });
    let webhooks = Mounts::default();
    Process { args, client, lease, predecessor_ended_at, identity, metrics, health, webhooks, shutdown }
        .run::<P>(own)
        .await
}

/// The environment of a controller.
pub(crate) struct Process {
    pub(crate) args: RunArgs,
    /// The workers' client.
    pub(crate) client: Client,
    /// Without a lease, the process is the leader from the start.
    pub(crate) lease: Option<Lease>,
    /// Without a lease: the end of the former process, if it is known.
    pub(crate) predecessor_ended_at: Option<Timestamp>,
    pub(crate) identity: String,
    pub(crate) metrics: Metrics,
    pub(crate) health: Health,
    pub(crate) webhooks: Mounts,
    pub(crate) shutdown: CancellationToken,
}

impl Process {
    /// Waits for the API server, then runs the controller with its lease.
    pub(crate) async fn run<P: Program>(self, own: P::Args) -> Result<(), EndError> {
        let Self { args, client, lease, predecessor_ended_at, identity, metrics, health, webhooks, shutdown } =
            self;
        let reached = health.gate("the Kubernetes API has not responded yet");
        let Some(cluster_id) = cluster::id(&client, P::NAME, &shutdown).await else { return Ok(()) };
        reached.open();
        metrics.leading(P::NAME, lease.is_none());
        let leadership = Leadership::default();
        if lease.is_none() {
            leadership.begin(predecessor_ended_at);
        }
        let manager = Manager {
            name: P::NAME,
            events: Events::new(client.clone(), P::NAME, &identity),
            client,
            args,
            metrics: metrics.clone(),
            health,
            shutdown: shutdown.clone(),
            cluster_id,
            identity,
            webhooks,
            leadership: leadership.clone(),
        };
        let acquired = move |predecessor_ended_at| {
            metrics.leading(P::NAME, true);
            leadership.begin(predecessor_ended_at);
        };
        supervise(P::run(manager, own), lease, acquired, shutdown, P::GRACE).await
    }
}
