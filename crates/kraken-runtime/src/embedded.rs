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
    health::{Gate, Health},
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
    let reached = reached(&health);
    let connect = |requests| connect(&Bounds::new(args.request_timeout, requests, metrics.clone()));
    let client = connect(args.request_concurrency);
    let lease = args.leader_elect.then(|| {
        let namespace = args.lease_namespace_or(None);
        Lease::new(connect(LEASE_REQUESTS), &namespace, P::NAME, identity.clone(), args.lease_duration)
    });
    let webhooks = Mounts::default();
    Process {
        args,
        client,
        lease,
        predecessor_ended_at,
        identity,
        metrics,
        health,
        reached,
        webhooks,
        shutdown,
    }
    .run::<P>(own)
    .await
}

/// The first prerequisite for the readiness of a controller. [`Process::run`] opens it.
pub(crate) fn reached(health: &Health) -> Gate {
    health.gate("the Kubernetes API has not responded yet")
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
    /// Of this health: [`reached`].
    pub(crate) reached: Gate,
    pub(crate) webhooks: Mounts,
    pub(crate) shutdown: CancellationToken,
}

impl Process {
    /// Waits for the API server, then runs the controller with its lease.
    pub(crate) async fn run<P: Program>(self, own: P::Args) -> Result<(), EndError> {
        let Self {
            args,
            client,
            lease,
            predecessor_ended_at,
            identity,
            metrics,
            health,
            reached,
            webhooks,
            shutdown,
        } = self;
        let Some(cluster_id) = cluster::id(&client, P::NAME, &shutdown).await else { return Ok(()) };
        // Registered before the other one opens: without a prerequisite, the process would be ready before it watches anything.
        let watching = health.gate("the watches are not registered yet");
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
            watching,
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{Request, Response};
    use k8s_openapi::{
        api::rbac::v1::PolicyRule,
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    };
    use kube::client::Body;
    use tokio::time::{Instant, sleep};
    use tower::service_fn;

    use super::*;

    /// The API server responds after 3 s, and the controller connects to its provider for 5 s before it watches Widgets, whose list takes 2 s.
    const READY_AFTER: Duration = Duration::from_secs(3 + 5 + 2);

    #[derive(Debug)]
    struct Slow;

    impl Program for Slow {
        const NAME: &'static str = "kraken-test";
        const ABOUT: &'static str = "Creates widgets";
        type Args = NoArgs;

        fn crds() -> Vec<CustomResourceDefinition> {
            vec![]
        }

        fn rules() -> Vec<PolicyRule> {
            vec![]
        }

        async fn run(manager: Manager, _: NoArgs) -> anyhow::Result<()> {
            sleep(Duration::from_secs(5)).await;
            let watch = manager.health.register_watch("Widget");
            manager.watches_registered();
            sleep(Duration::from_secs(2)).await;
            watch.synced();
            manager.shutdown.cancelled().await;
            Ok(())
        }
    }

    #[derive(Clone, Debug, clap::Args)]
    struct NoArgs {}

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: RunArgs,
    }

    #[tokio::test(start_paused = true)]
    async fn a_controller_is_not_ready_before_its_watches_are_registered_and_synced() {
        let server = service_fn(|_: Request<Body>| async {
            sleep(Duration::from_secs(3)).await;
            let namespace = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "u-1"}}"#;
            Ok::<_, std::io::Error>(Response::new(Body::from(namespace.as_bytes().to_vec())))
        });
        let (process, shutdown) = (Health::default(), CancellationToken::new());
        let health = process.member();
        let controller = Process {
            args: <Cli as clap::Parser>::parse_from(["kraken-test"]).args,
            client: Client::new(server, "default"),
            lease: None,
            predecessor_ended_at: None,
            identity: "kraken-test-1".to_owned(),
            metrics: Metrics::new("kraken-test"),
            reached: reached(&health),
            health,
            webhooks: Mounts::default(),
            shutdown: shutdown.clone(),
        };
        let start = Instant::now();
        let running = tokio::spawn(controller.run::<Slow>(NoArgs {}));
        let mut reasons = vec![];
        while let Some(reason) = process.not_ready(Instant::now()).first() {
            if reasons.last() != Some(reason) {
                reasons.push(reason.clone());
            }
            sleep(Duration::from_millis(1)).await;
        }
        assert!(start.elapsed() >= READY_AFTER, "ready after {:?}", start.elapsed());
        let expected = [
            "the Kubernetes API has not responded yet",
            "the watches are not registered yet",
            "Widget has not synced",
        ];
        assert_eq!(reasons, expected);
        shutdown.cancel();
        running.await.unwrap().unwrap();
    }
}
