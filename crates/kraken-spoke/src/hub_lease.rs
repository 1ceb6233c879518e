//! Whether the hub runs, by its leader lease: without it nobody follows what resources refer to, and their answers, which are
//! valid and old, do not show that. One GET per process each ten seconds, and none while no resource has references.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kraken_api::HUB_NAME;
use kraken_runtime::{
    clock,
    lease::{Holder, Reader},
    patch::within,
    shell::Shell,
};
use kube::Api;
use parking_lot::Mutex;
use tracing::{info, warn};

/// How often it is looked whether any resource has references, while none has.
const IDLE: Duration = Duration::from_secs(10);

/// What the lease shows of the hub; shared by every kind of the process. Cloning gives another handle.
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
    /// Reconciles those whose status does not say (true) or says (false) that the hub does not run.
    pub(crate) wake: Box<dyn Fn(bool) + Send + Sync>,
}

impl std::fmt::Debug for HubLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubLease").field("holder", &self.holder()).finish_non_exhaustive()
    }
}

impl HubLease {
    /// Adds the resources of a kind.
    pub(crate) fn add(&self, dependents: Dependents) {
        self.shared.kinds.lock().push(dependents);
    }

    /// What is known.
    pub(crate) fn holder(&self) -> Holder {
        *self.shared.holder.lock()
    }

    /// Reads the lease until shutdown; returns at once if another kind of the process does so.
    pub(crate) async fn read(self, shell: Shell) {
        if self.shared.is_read.swap(true, Ordering::Relaxed) {
            return;
        }
        let namespace = namespace(&shell);
        let api: Api<Lease> = Api::namespaced(shell.client.clone(), &namespace);
        let (mut reader, mut is_failing) = (Reader::default(), false);
        let mut pause = IDLE;
        loop {
            if shell.shutdown.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
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
                warn!(namespace, %error, "cannot tell whether the hub runs");
            }
            is_failing = found.is_err();
            let (holder, next) = match found {
                Ok(lease) => reader.see(lease.as_ref(), clock::Instant::now()),
                Err(_) => reader.failed(),
            };
            pause = next;
            self.know(holder);
        }
    }

    /// Takes note of it, and wakes those whose status says something else.
    fn know(&self, holder: Holder) {
        let before = std::mem::replace(&mut *self.shared.holder.lock(), holder);
        let is_silent = |holder| matches!(holder, Holder::Silent(_));
        if holder == Holder::Unknown || (is_silent(before) == is_silent(holder) && before != Holder::Unknown)
        {
            return;
        }
        match holder {
            Holder::Silent(_) => warn!("{HUB_NAME} does not renew its lease: references are not followed"),
            _ if is_silent(before) => info!("{HUB_NAME} renews its lease again"),
            _ => {}
        }
        self.shared.kinds.lock().iter().for_each(|kind| (kind.wake)(is_silent(holder)));
    }

    fn is_needed(&self) -> bool {
        self.shared.kinds.lock().iter().any(|kind| (kind.exist)())
    }
}

/// The namespace of the leases, which is the hub's too.
pub(crate) fn namespace(shell: &Shell) -> String {
    shell.args.lease_namespace_or(std::env::var("POD_NAMESPACE").ok())
}

/// What one resource has to say of the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Followed {
    /// Its references are followed, or it has none.
    #[default]
    Yes,
    /// As the status says: nobody knows yet.
    Unknown,
    /// The hub does not run, which is said in these words.
    No(String),
}

impl Followed {
    /// Of a resource that has references.
    pub(crate) fn by(holder: Holder, namespace: &str) -> Self {
        match holder {
            Holder::Unknown => Self::Unknown,
            Holder::Alive => Self::Yes,
            Holder::Silent(since) => Self::No(message(since, namespace)),
        }
    }
}

fn message(since: Option<Timestamp>, namespace: &str) -> String {
    let since = match since {
        Some(since) => format!("since {}", since.strftime("%Y-%m-%dT%H:%M:%SZ")),
        None => "for a while".to_owned(),
    };
    format!(
        "{HUB_NAME} has not renewed its lease {since}: it is not running, and changes of the referenced objects have no effect. \
         The values are those of before. Check the Deployment {HUB_NAME} in namespace {namespace}"
    )
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

    /// A hub's lease on a scripted API server, and a resource that refers to something.
    #[derive(Clone, Default)]
    struct Setting {
        /// 0: there is no lease.
        version: Arc<AtomicUsize>,
        reads: Arc<AtomicUsize>,
        has_references: Arc<AtomicBool>,
        woken: Arc<Mutex<Vec<bool>>>,
        lease: HubLease,
    }

    impl Setting {
        fn start(version: usize, has_references: bool) -> Self {
            let this = Self::default();
            this.version.store(version, Ordering::SeqCst);
            this.has_references.store(has_references, Ordering::SeqCst);
            let (exist, woken) = (this.has_references.clone(), this.woken.clone());
            this.lease.add(Dependents {
                exist: Box::new(move || exist.load(Ordering::SeqCst)),
                wake: Box::new(move |silent| woken.lock().push(silent)),
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
            let shell = Shell::detached("test", Client::new(service, "default"), args, "u".to_owned());
            tokio::spawn(this.lease.clone().read(shell));
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

        /// Lets time pass, in which a hub that runs renews each five seconds.
        async fn pass(&self, seconds: u64, runs: bool) {
            for _ in 0..seconds / 5 {
                tokio::time::sleep(Duration::from_secs(5)).await;
                self.version.fetch_add(usize::from(runs), Ordering::SeqCst);
            }
        }

        fn woken(&self) -> Vec<bool> {
            std::mem::take(&mut *self.woken.lock())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn dependents_are_woken_once_when_the_hub_dies_and_once_when_it_lives_again() {
        let s = Setting::start(1, true);
        s.pass(60, true).await;
        assert_eq!((s.lease.holder(), s.woken()), (Holder::Alive, vec![false]));
        s.pass(300, false).await;
        let since = "2026-01-31T12:00:00Z".parse().ok();
        assert_eq!((s.lease.holder(), s.woken()), (Holder::Silent(since), vec![true]));
        s.pass(60, true).await;
        assert_eq!((s.lease.holder(), s.woken()), (Holder::Alive, vec![false]));
    }

    #[tokio::test(start_paused = true)]
    async fn the_lease_is_read_every_ten_seconds_and_not_at_all_without_references() {
        let s = Setting::start(1, false);
        s.pass(3600, true).await;
        assert_eq!(s.reads.load(Ordering::SeqCst), 0);
        s.has_references.store(true, Ordering::SeqCst);
        s.pass(3600, true).await;
        let reads = s.reads.load(Ordering::SeqCst);
        assert!((359..=361).contains(&reads), "{reads} reads in an hour");
    }

    #[tokio::test(start_paused = true)]
    async fn a_hub_without_leader_election_is_taken_for_alive() {
        let s = Setting::start(0, true);
        s.pass(300, false).await;
        assert_eq!((s.lease.holder(), s.woken()), (Holder::Alive, vec![false]));
    }

    #[test]
    fn the_message_says_since_when_and_where_to_look() {
        let since = "2026-01-31T12:00:00.5Z".parse().ok();
        let Followed::No(message) = Followed::by(Holder::Silent(since), "infra") else { panic!() };
        for part in ["since 2026-01-31T12:00:00Z:", "Deployment kraken-hub", "namespace infra"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
