//! The environment of a running controller: the client, its flags, and the handles for reporting and shutdown.

use std::fmt;

use jiff::Timestamp;
use kraken_webhook::Mounts;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    args::RunArgs,
    events::Events,
    health::{Gate, Health},
    leadership::Leadership,
    metrics::Metrics,
    random,
    watch::{KubeClient, Watches},
};

/// Everything that a controller shares with its process. Clones share the same state.
#[derive(Clone)]
pub struct Manager {
    /// The binary's name, which is also its field manager.
    pub name: &'static str,
    /// The client of the Kubernetes API: each request has a deadline, and their number is bounded.
    pub client: Client,
    /// The flags that every controller shares.
    pub args: RunArgs,
    /// The metrics.
    pub metrics: Metrics,
    /// The health of the process.
    pub health: Health,
    /// Open once the controller has registered its watches.
    pub(crate) watching: Gate,
    /// Events on users' objects.
    pub events: Events,
    /// Fires when the process must stop.
    pub shutdown: CancellationToken,
    /// The UID of the namespace `kube-system`: part of the identity of all remote objects.
    pub cluster_id: String,
    /// The identity of this replica: the pod's name and a random suffix.
    pub identity: String,
    /// The validators of admission webhooks. They are mounted on leaders and standbys.
    pub webhooks: Mounts,
    /// Whether this process leads.
    pub(crate) leadership: Leadership,
}

impl Manager {
    /// A manager without a process: no server, no signals, and it is the leader from the start. For tests, and for
    /// several controllers in one process.
    pub fn detached(name: &'static str, client: Client, args: RunArgs, cluster_id: String) -> Self {
        let identity = identity(name);
        Self {
            name,
            args,
            metrics: Metrics::new(name),
            health: Health::default(),
            watching: Gate::default(),
            events: Events::new(client.clone(), name, &identity),
            client,
            shutdown: CancellationToken::new(),
            cluster_id,
            identity,
            webhooks: Mounts::default(),
            leadership: Leadership::from_the_start(),
        }
    }

    /// A part of this process that can be [stopped](Self::stop_part) while the others continue, such as the controllers of kinds that
    /// are added at run time. It shares everything but the end and the health of its watches.
    #[must_use]
    pub fn part(&self) -> Self {
        Self { shutdown: self.shutdown.child_token(), health: self.health.part(), ..self.clone() }
    }

    /// Stops a [part](Self::part): its watches end, and no reconcile of it begins any more.
    pub fn stop_part(&self) {
        // First, because a watch that ends makes the process unhealthy.
        self.health.retire();
        self.shutdown.cancel();
    }

    /// Watches in the namespaces of the flags, which end with the process and count for its health.
    pub fn watches(&self) -> Watches {
        Watches {
            client: KubeClient(self.client.clone()),
            namespaces: self.args.namespaces.names(),
            shutdown: self.shutdown.clone(),
            health: self.health.clone(),
            metrics: self.metrics.clone(),
        }
    }

    /// All watches of the controller are registered: from now on, it is ready when they have synced. Whatever waits for them before has to wait
    /// for this, too. Watches that are added later belong to a [part](Self::part).
    pub fn watches_registered(&self) {
        self.watching.open();
    }

    /// Waits until this process leads. Returns true if it does; it leads until it ends, because losing the lease ends
    /// it. Returns false if the process is stopped first.
    #[must_use = "workers must not start when this is false"]
    pub async fn leading(&self) -> bool {
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => false,
            () = self.leadership.begun() => true,
        }
    }

    /// The latest time at which a former process of this controller can have worked, according to its lease: it cannot have
    /// observed an object that was created later. `None` if that is not known: without leader election, or before this process leads.
    pub fn predecessor_ended_at(&self) -> Option<Timestamp> {
        self.leadership.predecessor_ended_at()
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager")
            .field("name", &self.name)
            .field("identity", &self.identity)
            .field("cluster_id", &self.cluster_id)
            .finish_non_exhaustive()
    }
}

/// A unique name for this process, even after a restart in the same pod: a lease of the previous process must count as
/// another holder's, because its requests may still be in flight.
pub(crate) fn identity(name: &str) -> String {
    let from = |variable| std::env::var(variable).ok();
    let host = from("POD_NAME")
        .or_else(|| from("HOSTNAME"))
        .or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .map(|host| host.trim().to_owned())
        .filter(|host| !host.is_empty());
    format!("{}-{:016x}", host.as_deref().unwrap_or(name), random::number())
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use tower::service_fn;

    use super::*;
    use crate::args::RunArgs;

    fn manager() -> Manager {
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            args: RunArgs,
        }
        let args = <Cli as clap::Parser>::parse_from(["kraken-test"]).args;
        let server =
            service_fn(async |_: Request<Body>| Ok::<_, std::io::Error>(Response::new(Body::empty())));
        Manager::detached("kraken-test", Client::new(server, "default"), args, "u-1".to_owned())
    }

    #[tokio::test]
    async fn a_detached_controller_leads_until_it_is_stopped() {
        let manager = manager();
        assert!(manager.leading().await);
        manager.shutdown.cancel();
        assert!(!manager.leading().await);
    }

    #[tokio::test]
    async fn workers_wait_for_the_lease() {
        let leadership = Leadership::default();
        let manager = Manager { leadership: leadership.clone(), ..manager() };
        let worker = tokio::spawn(async move { (manager.leading().await, manager.predecessor_ended_at()) });
        tokio::task::yield_now().await;
        assert!(!worker.is_finished());
        leadership.begin(Some(Timestamp::UNIX_EPOCH));
        assert_eq!(worker.await.unwrap(), (true, Some(Timestamp::UNIX_EPOCH)));
    }

    #[test]
    fn a_restarted_process_has_a_different_identity() {
        assert_ne!(identity("kraken-test"), identity("kraken-test"));
    }
}
