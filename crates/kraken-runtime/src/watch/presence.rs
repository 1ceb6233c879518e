//! Whether the API server serves a kind that another component brings.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

/// The result of an attempt to list a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The store contains all objects of the kind.
    Served,
    /// The API server does not serve the kind: no such object exists.
    NotServed,
    /// The list failed for another reason.
    Unknown(String),
}

/// The attempts of one watch.
#[derive(Debug)]
struct Attempts {
    /// How many have begun.
    begun: u64,
    /// How many have ended.
    ended: u64,
    /// The result of the last one.
    result: Presence,
}

/// Whether an optional kind is served. Clones share the same state.
#[derive(Clone, Debug)]
pub struct Served {
    /// One for each watched namespace.
    probes: Arc<[Arc<Probe>]>,
}

impl Served {
    pub(super) fn of(probes: &[Arc<Probe>]) -> Self {
        Self { probes: probes.into() }
    }

    /// Whether the kind is served: at once if its watches have synced, else by attempts to list it that begin after this call, so
    /// that an object that was created before is not missed. Concurrent callers share attempts.
    pub async fn presence(&self) -> Presence {
        for probe in &*self.probes {
            match probe.presence().await {
                Presence::Served => {}
                other => return other,
            }
        }
        Presence::Served
    }

    /// Whether the last attempt found that the kind is not served, without a new one.
    pub fn is_absent(&self) -> bool {
        self.probes.iter().any(|probe| probe.attempts.borrow().result == Presence::NotServed)
    }
}

/// The attempts of one watch to list an optional kind, which a caller can hasten and wait for.
#[derive(Debug)]
pub(super) struct Probe {
    attempts: watch::Sender<Attempts>,
    hasten: Notify,
}

impl Default for Probe {
    fn default() -> Self {
        let attempts = Attempts { begun: 1, ended: 0, result: Presence::Unknown("not read yet".to_owned()) };
        Self { attempts: watch::Sender::new(attempts), hasten: Notify::new() }
    }
}

impl Probe {
    async fn presence(&self) -> Presence {
        let mut attempts = self.attempts.subscribe();
        let begun = {
            let now = attempts.borrow();
            if now.result == Presence::Served {
                return Presence::Served;
            }
            now.begun
        };
        self.hasten.notify_one();
        let ended = attempts.wait_for(|now| now.result == Presence::Served || now.ended > begun).await;
        ended.map_or_else(|_| Presence::Unknown("the watch has ended".to_owned()), |now| now.result.clone())
    }

    /// The store has synced.
    pub(super) fn synced(&self) {
        self.ended(Presence::Served);
    }

    /// The kind is not served.
    pub(super) fn absent(&self) {
        self.ended(Presence::NotServed);
    }

    /// An attempt failed. A store that has synced stays in use, as that of any other watch.
    pub(super) fn failed(&self, cause: String) {
        if self.attempts.borrow().result != Presence::Served {
            self.ended(Presence::Unknown(cause));
        }
    }

    fn ended(&self, result: Presence) {
        self.attempts.send_modify(|attempts| {
            attempts.ended = attempts.begun;
            attempts.result = result;
        });
    }

    /// The next attempt begins.
    pub(super) fn begins(&self) {
        self.attempts.send_modify(|attempts| attempts.begun += 1);
    }

    /// Completes when a caller waits for the next attempt.
    pub(super) async fn hastened(&self) {
        self.hasten.notified().await;
    }
}
