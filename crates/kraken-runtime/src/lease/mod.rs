//! The leader lease: of several replicas, only the holder works.
//!
//! Every write has a resourceVersion precondition, so exactly one of two candidates succeeds. The holder stops after
//! two thirds of the duration without a renewal, a third before another replica can take over. A machine that was
//! suspended can still assume for a moment that it is the leader. Therefore every write of a controller has its own
//! precondition.
//!
//! A process renews it on a separate thread ([`LeaseThread`]), so that computations on the workers' threads cannot
//! delay it.

mod guard;
mod holder;
mod record;
mod thread;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{api::coordination::v1::Lease as Object, apimachinery::pkg::apis::meta::v1::MicroTime};
use kube::{Api, Client, api::PostParams};
use tokio::{runtime::Handle, time::Instant};
use tokio_util::sync::CancellationToken;

pub use guard::LeaseGuard;
pub use holder::{Holder, Reader};
pub use thread::LeaseThread;

use crate::errors::one_line;
use record::{Decision, Observer, claim, decide, released, worked_until};

/// The polling interval of a standby, unless the lease is very short: a released lease is acquired within it.
const STANDBY_POLL: Duration = Duration::from_secs(2);
/// The number of attempts to release: one, and one more after a conflict.
const RELEASE_TRIES: usize = 2;

/// A candidate for one lease.
#[derive(Clone, Debug)]
pub struct Lease {
    api: Api<Object>,
    name: &'static str,
    identity: String,
    duration: Duration,
    /// The runtime that renews it; without one, the runtime that acquires it.
    thread: Option<Handle>,
}

/// Marks the lease `name`, if it exists, as unused, because its controller runs without leader election: a reader of
/// the lease ([`Reader`]) would otherwise consider the controller stopped, and so would a later leader, for which the last renewal
/// bounds the time at which a former process worked ([`LeaseGuard::predecessor_ended_at`]). The leader removes the mark.
///
/// # Errors
/// If the API server rejects the request. The controller can run, but readers and a later leader consider it stopped.
pub async fn leave_unused(
    client: Client,
    namespace: &str,
    name: &str,
    manager: &str,
) -> Result<(), kube::Error> {
    let api: Api<Object> = Api::namespaced(client, namespace);
    let Some(mut lease) = api.get_opt(name).await?.filter(|lease| !holder::is_unused(lease)) else {
        return Ok(());
    };
    lease.metadata.managed_fields = None;
    lease.metadata.annotations.get_or_insert_default().insert(holder::unused_annotation(), "true".to_owned());
    let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    api.replace(name, &params, &lease).await.map(drop)
}

/// The result of one attempt.
enum Attempt {
    Held(Box<Object>),
    Waiting {
        holder: String,
        left: Duration,
    },
    /// The lease was written between our read and our write.
    LostRace,
}

/// Why an attempt failed.
#[derive(Debug, thiserror::Error)]
enum LeaseError {
    #[error("{}", one_line(.0))]
    Request(#[from] kube::Error),
    #[error("no response in time")]
    Deadline(#[from] tokio::time::error::Elapsed),
}

impl Lease {
    /// A candidate called `identity`, which must be unique, for the lease `name` in `namespace`. `client` should not be
    /// shared with the workers: a renewal must not queue behind their requests.
    pub fn new(
        client: Client,
        namespace: &str,
        name: &'static str,
        identity: String,
        duration: Duration,
    ) -> Self {
        Self { api: Api::namespaced(client, namespace), name, identity, duration, thread: None }
    }

    /// Waits until the lease is acquired; `None` if `shutdown` fires first.
    ///
    /// Await it after `shutdown` instead of dropping it: a dropped future may leave an acquired lease without a holder.
    pub async fn acquire(self, shutdown: CancellationToken) -> Option<LeaseGuard> {
        match self.thread.clone() {
            // It fails only if its thread ends, with the process.
            Some(thread) => thread.spawn(self.acquire_here(shutdown)).await.ok().flatten(),
            None => self.acquire_here(shutdown).await,
        }
    }

    async fn acquire_here(self, shutdown: CancellationToken) -> Option<LeaseGuard> {
        let mut observer = Observer::default();
        let mut waiting_for = String::new();
        let mut failing = false;
        while !shutdown.is_cancelled() {
            let sent = Instant::now();
            let mut pause = STANDBY_POLL.min(self.step());
            let attempt = self.attempt(&mut observer).await;
            let failed = attempt.is_err();
            match attempt {
                Ok(Attempt::Held(held)) => {
                    tracing::info!(lease = self.name, identity = self.identity, "acquired the lease");
                    return Some(self.guard(*held, sent, observer.predecessor_ended_at));
                }
                Ok(Attempt::Waiting { holder, left }) => {
                    pause = pause.min(left);
                    if holder != waiting_for {
                        tracing::info!(lease = self.name, holder, "waiting for the lease");
                        waiting_for = holder;
                    }
                }
                Ok(Attempt::LostRace) => {}
                // Once per outage: it is retried indefinitely.
                Err(error) if failing => {
                    tracing::debug!(lease = self.name, "still failing to get the lease: {error}");
                }
                Err(error) => tracing::warn!(lease = self.name, "failed to get the lease: {error}"),
            }
            failing = failed;
            tokio::select! {
                biased;
                () = shutdown.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        None
    }

    /// A third of the duration: the renewal interval, and the timeout of one request.
    fn step(&self) -> Duration {
        self.duration / 3
    }

    fn guard(self, held: Object, renewed: Instant, predecessor_ended_at: Option<Timestamp>) -> LeaseGuard {
        let (lost, stop) = (CancellationToken::new(), CancellationToken::new());
        let task = crate::task::spawn(self.hold(held, renewed, lost.clone(), stop.clone()));
        LeaseGuard { predecessor_ended_at, lost, stop: stop.drop_guard(), task }
    }

    /// Renews the lease until it is stopped, then releases it; or until it is lost.
    async fn hold(
        self,
        mut held: Object,
        mut renewed: Instant,
        lost: CancellationToken,
        stop: CancellationToken,
    ) {
        let mut observer = Observer::default();
        let mut due = renewed + self.step();
        // Whether `held` is known to match the API server.
        let mut fresh = true;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.release(held).await,
                () = tokio::time::sleep_until(due) => {}
            }
            let sent = Instant::now();
            let give_up = renewed + self.step() * 2;
            if sent >= give_up {
                tracing::error!(lease = self.name, "lost the lease: it could not be renewed in time");
                return lost.cancel();
            }
            let renewal = async {
                if fresh { self.write(Some(held.clone())).await } else { self.attempt(&mut observer).await }
            };
            let result = tokio::time::timeout_at(give_up, renewal).await;
            fresh = false;
            due = give_up.min(Instant::now() + self.step() / 5);
            match result.unwrap_or_else(|elapsed| Err(elapsed.into())) {
                Ok(Attempt::Held(object)) => {
                    (held, renewed, fresh) = (*object, sent, true);
                    due = sent + self.step();
                }
                Ok(Attempt::Waiting { holder, .. }) => {
                    tracing::error!(lease = self.name, holder, "lost the lease: another replica holds it");
                    return lost.cancel();
                }
                Ok(Attempt::LostRace) => {}
                Err(error) => tracing::warn!(lease = self.name, "failed to renew the lease: {error}"),
            }
        }
    }

    /// Reads, decides and writes, once.
    async fn attempt(&self, observer: &mut Observer) -> Result<Attempt, LeaseError> {
        let found = tokio::time::timeout(self.step(), self.api.get_opt(self.name)).await??;
        let now = Instant::now();
        let since = observer.record(found.as_ref(), now);
        let unchanged = now.duration_since(since);
        let clock = crate::clock::now();
        match decide(found.as_ref(), &self.identity, self.duration, unchanged, clock) {
            Decision::Wait { holder, left } => Ok(Attempt::Waiting { holder, left }),
            Decision::Create | Decision::Take => {
                // Before the write, whose response may be lost: the next attempt finds the lease held by this replica.
                observer.predecessor_ended_at = Some(worked_until(found.as_ref(), self.duration, clock));
                self.write(found).await
            }
            Decision::Renew => self.write(found).await,
        }
    }

    /// Acquires, renews or creates the lease, if it is unchanged.
    async fn write(&self, found: Option<Object>) -> Result<Attempt, LeaseError> {
        let exists = found.is_some();
        let desired = claim(found, self.name, &self.identity, self.duration, MicroTime(crate::clock::now()));
        let params = self.params();
        let request = async {
            if exists {
                self.api.replace(self.name, &params, &desired).await
            } else {
                self.api.create(&params, &desired).await
            }
        };
        match tokio::time::timeout(self.step(), request).await? {
            Ok(object) => Ok(Attempt::Held(Box::new(object))),
            // 404: it was deleted in the meantime; the next attempt creates it.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Attempt::LostRace),
            Err(error) => Err(error.into()),
        }
    }

    async fn release(&self, held: Object) {
        let mut held = Some(held);
        for _ in 0..RELEASE_TRIES {
            let Some(object) = held.take() else { break };
            let desired = released(object, MicroTime(crate::clock::now()));
            let params = self.params();
            match tokio::time::timeout(self.step(), self.api.replace(self.name, &params, &desired)).await {
                Ok(Ok(_)) => return tracing::info!(lease = self.name, "released the lease"),
                Ok(Err(kube::Error::Api(status))) if status.is_conflict() => held = self.held_lease().await,
                Ok(Err(error)) => {
                    tracing::warn!(lease = self.name, "failed to release the lease: {}", one_line(&error));
                }
                Err(_) => {
                    tracing::warn!(lease = self.name, "failed to release the lease: no response in time");
                }
            }
        }
    }

    /// The current lease, if this replica holds it.
    async fn held_lease(&self) -> Option<Object> {
        let found = tokio::time::timeout(self.step(), self.api.get_opt(self.name)).await.ok()?.ok()??;
        let holder = found.spec.as_ref()?.holder_identity.as_ref()?;
        (*holder == self.identity).then_some(found)
    }

    fn params(&self) -> PostParams {
        PostParams { field_manager: Some(self.name.to_owned()), ..PostParams::default() }
    }
}

#[cfg(test)]
pub(crate) mod tests;
