//! Whether the hub is running, according to its leader lease: without the hub, changes of references have no effect,
//! and its earlier responses, which stay valid, do not show that. One GET per process every ten seconds, and none while
//! no resource has references.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::coordination::v1::Lease;
use kraken_api::HUB_NAME;
use kraken_runtime::{
    clock,
    lease::{Holder, Reader},
    manager::Manager,
    patch::within,
};
use kube::Api;
use parking_lot::Mutex;
use tracing::{info, warn};

/// How often it is checked whether any resource has references, while none has.
const IDLE: Duration = Duration::from_secs(10);

/// The state of the hub according to the lease; shared by all kinds of the process. Clones share the same state.
#[derive(Clone, Default)]
pub(crate) struct HubLease {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    holder: Mutex<Holder>,
    kinds: Mutex<Vec<Dependents>>,
    is_read: AtomicBool,
}

/// The resources of one kind that have references.
pub(crate) struct Dependents {
    /// Whether there are any.
    pub(crate) exist: Box<dyn Fn() -> bool + Send + Sync>,
    /// Reconciles those whose status does not report (true) or reports (false) that the hub is not running.
    pub(crate) enqueue: Box<dyn Fn(bool) + Send + Sync>,
}

impl std::fmt::Debug for HubLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubLease").field("holder", &self.holder()).finish_non_exhaustive()
    }
}

impl HubLease {
    /// Registers the resources of a kind.
    pub(crate) fn add(&self, dependents: Dependents) {
        self.shared.kinds.lock().push(dependents);
    }

    /// The last known holder.
    pub(crate) fn holder(&self) -> Holder {
        *self.shared.holder.lock()
    }

    /// Reads the lease until shutdown; returns at once if another kind of the process reads it.
    pub(crate) async fn read(self, manager: Manager) {
        if self.shared.is_read.swap(true, Ordering::Relaxed) {
            return;
        }
        let namespace = namespace(&manager);
        let api: Api<Lease> = Api::namespaced(manager.client.clone(), &namespace);
        let (mut reader, mut is_failing) = (Reader::default(), false);
        let mut pause = IDLE;
        loop {
            if manager.shutdown.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
            if !self.is_needed() {
                reader = Reader::default();
                self.know(Holder::Unknown);
                pause = IDLE;
                continue;
            }
            let found = within("read the hub's lease", api.get_opt(HUB_NAME)).await;
            if let Err(error) = &found
                && !is_failing
            {
                warn!(namespace, %error, "failed to read the hub's lease");
            }
            is_failing = found.is_err();
            let (holder, next) = match found {
                Ok(lease) => reader.record(lease.as_ref(), clock::Instant::now()),
                Err(_) => reader.failed(),
            };
            pause = next;
            self.know(holder);
        }
    }

    /// Records the holder, and enqueues the resources whose status reports another state.
    fn know(&self, holder: Holder) {
        let before = std::mem::replace(&mut *self.shared.holder.lock(), holder);
        let is_silent = |holder| matches!(holder, Holder::Silent(_));
        if holder == Holder::Unknown || (is_silent(before) == is_silent(holder) && before != Holder::Unknown)
        {
            return;
        }
        match holder {
            Holder::Silent(_) => warn!("{HUB_NAME} does not renew its lease: references are not resolved"),
            _ if is_silent(before) => info!("{HUB_NAME} renews its lease again"),
            _ => {}
        }
        self.shared.kinds.lock().iter().for_each(|kind| (kind.enqueue)(is_silent(holder)));
    }

    fn is_needed(&self) -> bool {
        self.shared.kinds.lock().iter().any(|kind| (kind.exist)())
    }
}

/// The namespace of the leases, which is also the hub's.
pub(crate) fn namespace(manager: &Manager) -> String {
    manager.args.lease_namespace_or(std::env::var("POD_NAMESPACE").ok())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use clap::Parser;
    use http::{Request, Response};
    use kraken_runtime::RunArgs;
    use kube::{Client, client::Body};
    use serde_json::json;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: RunArgs,
    }

    /// The hub's lease on a scripted API server, and a resource that has references.
    #[derive(Clone, Default)]
    struct Setting {
        /// 0: the lease does not exist.
        version: Arc<AtomicUsize>,
        reads: Arc<AtomicUsize>,
        has_references: Arc<AtomicBool>,
        enqueued: Arc<Mutex<Vec<bool>>>,
        lease: HubLease,
    }

    impl Setting {
        fn start(version: usize, has_references: bool) -> Self {
            let this = Self::default();
            this.version.store(version, Ordering::SeqCst);
            this.has_references.store(has_references, Ordering::SeqCst);
            let (exist, enqueued) = (this.has_references.clone(), this.enqueued.clone());
            this.lease.add(Dependents {
                exist: Box::new(move || exist.load(Ordering::SeqCst)),
                enqueue: Box::new(move |silent| enqueued.lock().push(silent)),
            });
            let server = this.clone();
            let service = tower::service_fn(move |request: Request<Body>| {
                assert_eq!(request.method(), http::Method::GET);
                assert!(request.uri().path().ends_with("/namespaces/kraken-system/leases/kraken-hub"));
                server.reads.fetch_add(1, Ordering::SeqCst);
                let answer = server.answer();
                async move { Ok::<_, std::io::Error>(answer) }
            });
            let args = Cli::parse_from(["test", "--lease-namespace", "kraken-system"]).args;
            let manager = Manager::detached("test", Client::new(service, "default"), args, "u".to_owned());
            tokio::spawn(this.lease.clone().read(manager));
            this
        }

        fn answer(&self) -> Response<Body> {
            let (code, body) = match self.version.load(Ordering::SeqCst) {
                0 => (404, json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404})),
                version => (
                    200,
                    json!({"metadata": {"name": "kraken-hub", "resourceVersion": version.to_string()},
                        "spec": {"holderIdentity": "hub-1", "leaseDurationSeconds": 15,
                            "renewTime": "2026-01-31T12:00:00.000000Z"}}),
                ),
            };
            let mut response = Response::new(Body::from(body.to_string().into_bytes()));
            *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
            response
        }

        /// Advances the time, during which a running hub renews every five seconds.
        async fn pass(&self, seconds: u64, runs: bool) {
            for _ in 0..seconds / 5 {
                tokio::time::sleep(Duration::from_secs(5)).await;
                self.version.fetch_add(usize::from(runs), Ordering::SeqCst);
            }
        }

        fn enqueued(&self) -> Vec<bool> {
            std::mem::take(&mut *self.enqueued.lock())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn dependents_are_enqueued_once_when_the_hub_stops_and_once_when_it_returns() {
        let s = Setting::start(1, true);
        s.pass(60, true).await;
        assert_eq!((s.lease.holder(), s.enqueued()), (Holder::Alive, vec![false]));
        s.pass(300, false).await;
        let since = "2026-01-31T12:00:00Z".parse().ok();
        assert_eq!((s.lease.holder(), s.enqueued()), (Holder::Silent(since), vec![true]));
        s.pass(60, true).await;
        assert_eq!((s.lease.holder(), s.enqueued()), (Holder::Alive, vec![false]));
    }

    #[tokio::test(start_paused = true)]
    async fn lease_is_read_every_ten_seconds_and_only_with_references() {
        let s = Setting::start(1, false);
        s.pass(3600, true).await;
        assert_eq!(s.reads.load(Ordering::SeqCst), 0);
        s.has_references.store(true, Ordering::SeqCst);
        s.pass(3600, true).await;
        let reads = s.reads.load(Ordering::SeqCst);
        assert!((359..=361).contains(&reads), "{reads} reads in an hour");
    }

    #[tokio::test(start_paused = true)]
    async fn hub_without_leader_election_counts_as_running() {
        let s = Setting::start(0, true);
        s.pass(300, false).await;
        assert_eq!((s.lease.holder(), s.enqueued()), (Holder::Alive, vec![false]));
    }
}
