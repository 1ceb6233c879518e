//! Merges the looks of many resources into few calls: one answer costs one look's share of a call.

use std::{sync::Arc, time::Duration};

use kraken_runtime::queue::Lane;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::{Instant, timeout_at},
};

use crate::{External, Failure, FailureClass, Look};

/// How long a batch waits for one more look, and how long its first look waits at most, however many follow.
#[derive(Clone, Copy, Debug)]
struct Patience {
    gap: Duration,
    window: Duration,
    /// How many batches are asked for at once: an answer of a thousand takes megabytes.
    at_once: usize,
}

/// Somebody waits: a look that comes alone is hardly held up.
const FOR_AN_EDIT: Patience =
    Patience { gap: Duration::from_millis(20), window: Duration::from_millis(100), at_once: 32 };
/// Nobody waits: the whole sweep of an interval is to share its calls, on a busy machine too.
const FOR_A_RESYNC: Patience =
    Patience { gap: Duration::from_millis(200), window: Duration::from_secs(3), at_once: 2 };

/// How many looks one batch holds: as many ids as one Describe takes.
pub(crate) const MAX_LOOKS: usize = 1000;
/// How many looks may wait before askers do.
const BACKLOG: usize = 4 * MAX_LOOKS;

type Answer<O> = oneshot::Sender<Result<O, Failure>>;

/// Answers looks in batches. Cloning gives another handle.
#[derive(Debug)]
pub(crate) struct Batcher<O> {
    asks: mpsc::Sender<(Look, Answer<O>)>,
}

impl<O> Clone for Batcher<O> {
    fn clone(&self) -> Self {
        Self { asks: self.asks.clone() }
    }
}

impl<O: Send + 'static> Batcher<O> {
    /// Starts the task that collects looks; it ends when the last handle is dropped.
    fn start<E: External<Observed = O>>(external: Arc<E>, patience: Patience) -> Self {
        let (asks, mut looks) = mpsc::channel::<(Look, Answer<O>)>(BACKLOG);
        let permits = Arc::new(Semaphore::new(patience.at_once));
        tokio::spawn(async move {
            while let Some(first) = looks.recv().await {
                let deadline = Instant::now() + patience.window;
                let mut batch = vec![first];
                while batch.len() < MAX_LOOKS {
                    match timeout_at(deadline.min(Instant::now() + patience.gap), looks.recv()).await {
                        Ok(Some(next)) => batch.push(next),
                        Ok(None) | Err(_) => break,
                    }
                }
                // Batches overlap: a slow answer delays few later looks. The semaphore is never closed.
                let permit = permits.clone().acquire_owned().await;
                let external = external.clone();
                tokio::spawn(async move {
                    answer(external, batch).await;
                    drop(permit);
                });
            }
        });
        Self { asks }
    }

    /// What the cloud has for this look.
    ///
    /// # Errors
    /// The failure of the call that the look was part of.
    pub(crate) async fn observe(&self, look: Look) -> Result<O, Failure> {
        let (answer, answered) = oneshot::channel();
        if self.asks.send((look, answer)).await.is_err() {
            return Err(lost());
        }
        answered.await.unwrap_or_else(|_| Err(lost()))
    }
}

/// A batcher for each lane, so that an edit never waits for a sweep to gather.
#[derive(Debug)]
pub(crate) struct Batchers<O> {
    edits: Batcher<O>,
    resyncs: Batcher<O>,
}

impl<O: Send + 'static> Batchers<O> {
    pub(crate) fn start<E: External<Observed = O>>(external: &Arc<E>) -> Self {
        Self {
            edits: Batcher::start(external.clone(), FOR_AN_EDIT),
            resyncs: Batcher::start(external.clone(), FOR_A_RESYNC),
        }
    }

    /// The one for looks of this lane.
    pub(crate) fn of(&self, lane: Lane) -> &Batcher<O> {
        match lane {
            Lane::Edit => &self.edits,
            Lane::Resync => &self.resyncs,
        }
    }
}

async fn answer<E: External>(external: Arc<E>, batch: Vec<(Look, Answer<E::Observed>)>) {
    let (looks, answers): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
    match external.observe(&looks).await {
        Ok(observed) if observed.len() == answers.len() => {
            for (answer, observed) in answers.into_iter().zip(observed) {
                // An asker that has gone away needs no answer.
                let _ = answer.send(Ok(observed));
            }
        }
        Ok(_) => answers.into_iter().for_each(|a| drop(a.send(Err(lost())))),
        Err(failure) => answers.into_iter().for_each(|a| drop(a.send(Err(failure.clone())))),
    }
}

fn lost() -> Failure {
    Failure {
        class: FailureClass::Transient,
        action: "failed to look at the cloud".to_owned(),
        code: String::new(),
        message: "the batched read ended without an answer; it is tried again".to_owned(),
    }
}
