//! Merges the looks of many resources into few calls: one answer costs one look's share of a call.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use kraken_runtime::queue::Lane;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::{Instant, timeout_at},
};

use crate::{
    Failure, FailureClass, Look,
    dynamic::{DynExternal, Observed},
};

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

/// How many ids one batch holds, and so how many looks at most: as many ids as one Describe takes.
pub(crate) const MAX_LOOKS: usize = 1000;
/// How many calls a batch that failed may cost on top, to find whose look it was that failed.
const SPLITS: usize = 64;
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
    fn start<F, Answered>(observe: F, patience: Patience) -> Self
    where
        F: Fn(Vec<Look>) -> Answered + Clone + Send + Sync + 'static,
        Answered: Future<Output = Result<Vec<O>, Failure>> + Send,
    {
        let (asks, mut looks) = mpsc::channel::<(Look, Answer<O>)>(BACKLOG);
        let permits = Arc::new(Semaphore::new(patience.at_once));
        kraken_runtime::task::spawn(async move {
            // What did not fit into the batch before begins the next one.
            let mut left_over = None;
            loop {
                let first = match left_over.take() {
                    Some(first) => first,
                    None => match looks.recv().await {
                        Some(first) => first,
                        None => return,
                    },
                };
                let deadline = Instant::now() + patience.window;
                let mut size = weight(&first.0);
                let mut batch = vec![first];
                while size < MAX_LOOKS {
                    match timeout_at(deadline.min(Instant::now() + patience.gap), looks.recv()).await {
                        Ok(Some(next)) if size + weight(&next.0) > MAX_LOOKS => {
                            left_over = Some(next);
                            break;
                        }
                        Ok(Some(next)) => {
                            size += weight(&next.0);
                            batch.push(next);
                        }
                        Ok(None) | Err(_) => break,
                    }
                }
                // Batches overlap: a slow answer delays few later looks. The semaphore is never closed.
                let permit = permits.clone().acquire_owned().await;
                let observe = observe.clone();
                kraken_runtime::task::spawn(async move {
                    answer(observe, batch).await;
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

/// A batcher for each lane, so that an edit never waits for a sweep to gather. Cloning gives another handle.
#[derive(Clone, Debug)]
pub(crate) struct Batchers {
    edits: Batcher<Observed>,
    resyncs: Batcher<Observed>,
}

impl Batchers {
    pub(crate) fn start(external: &Arc<dyn DynExternal>) -> Self {
        let observe = {
            let external = external.clone();
            move |looks: Vec<Look>| {
                let external = external.clone();
                async move { external.observe(&looks).await }
            }
        };
        Self {
            edits: Batcher::start(observe.clone(), FOR_AN_EDIT),
            resyncs: Batcher::start(observe, FOR_A_RESYNC),
        }
    }

    /// The one for looks of this lane.
    pub(crate) fn of(&self, lane: Lane) -> &Batcher<Observed> {
        match lane {
            Lane::Edit => &self.edits,
            Lane::Resync => &self.resyncs,
        }
    }
}

/// What a look counts for: a search without ids costs a call's share too.
fn weight(look: &Look) -> usize {
    look.ids.len().max(1)
}

/// Answers a batch. If its call fails for a reason that lies in one look, the others must not fail with it: the batch is
/// halved until that look is alone.
async fn answer<O, F, Answered>(observe: F, batch: Vec<(Look, Answer<O>)>)
where
    F: Fn(Vec<Look>) -> Answered,
    Answered: Future<Output = Result<Vec<O>, Failure>>,
{
    let mut open = VecDeque::from([batch]);
    let mut splits = SPLITS;
    // Whether any part of the batch succeeded: then what fails is not the cloud as a whole.
    let mut any_good = false;
    let mut refused = 0;
    while let Some(mut batch) = open.pop_front() {
        // An asker that has gone away needs no answer.
        batch.retain(|(_, answer)| !answer.is_closed());
        if batch.is_empty() {
            continue;
        }
        let looks: Vec<Look> = batch.iter().map(|(look, _)| look.clone()).collect();
        let failure = match observe(looks).await {
            Ok(observed) if observed.len() == batch.len() => {
                any_good = true;
                for ((_, answer), observed) in batch.into_iter().zip(observed) {
                    let _ = answer.send(Ok(observed));
                }
                continue;
            }
            Ok(_) => lost(),
            Err(failure) => failure,
        };
        refused += 1;
        let may_be_one_look = match failure.class {
            // More calls would only make it worse.
            FailureClass::Throttled | FailureClass::Credentials => false,
            // The network, or one look's share of the call: two failures and no success say that it is the network.
            FailureClass::Transient => any_good || refused < 3,
            _ => true,
        };
        if batch.len() > 1 && may_be_one_look && splits > 0 {
            splits -= 1;
            let second = batch.split_off(batch.len() / 2);
            open.extend([batch, second]);
        } else {
            for (_, answer) in batch {
                let _ = answer.send(Err(failure.clone()));
            }
        }
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

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::Identity;

    type Calls = Arc<Mutex<Vec<usize>>>;

    fn look(name: &str, ids: usize) -> Look {
        Look {
            identity: Identity { cluster: "c".into(), uid: name.into(), owner: String::new() },
            ids: (0..ids).map(|n| format!("{name}-{n}")).collect(),
            search: false,
            deep: false,
        }
    }

    fn failure(class: FailureClass) -> Failure {
        Failure { class, ..lost() }
    }

    /// A cloud that answers with the owner of each look, refuses every call in which `bad` is looked for, and notes how many
    /// ids each call has.
    fn cloud(bad: Option<(&'static str, FailureClass)>) -> (Batcher<String>, Calls) {
        let calls = Calls::default();
        let noted = calls.clone();
        let observe = move |looks: Vec<Look>| {
            noted.lock().push(looks.iter().map(|look| look.ids.len()).sum());
            let is_bad = |(owner, _): &(&str, FailureClass)| looks.iter().any(|l| l.identity.uid == *owner);
            let answer = match bad.filter(is_bad) {
                Some((_, class)) => Err(failure(class)),
                None => Ok(looks.into_iter().map(|look| look.identity.uid).collect()),
            };
            std::future::ready(answer)
        };
        (Batcher::start(observe, FOR_A_RESYNC), calls)
    }

    async fn sweep(batcher: &Batcher<String>, resources: usize, ids: usize) -> Vec<Result<String, Failure>> {
        let each = (0..resources).map(|n| batcher.observe(look(&n.to_string(), ids)));
        futures::future::join_all(each).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_holds_a_thousand_ids_and_not_a_thousand_resources() {
        let (batcher, calls) = cloud(None);
        assert!(sweep(&batcher, 1000, 100).await.iter().all(Result::is_ok));
        assert_eq!(calls.lock().len(), 100);
        assert!(calls.lock().iter().all(|ids| *ids == 1000), "{:?}", calls.lock());
        calls.lock().clear();
        assert!(sweep(&batcher, 1000, 1).await.iter().all(Result::is_ok));
        assert_eq!(*calls.lock(), [1000]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_look_that_fails_fails_alone() {
        for class in [FailureClass::Terminal, FailureClass::Transient] {
            let (batcher, calls) = cloud(Some(("7", class)));
            let answers = sweep(&batcher, 1000, 1).await;
            let failed: Vec<usize> = (0..1000).filter(|n| answers[*n].is_err()).collect();
            assert_eq!(failed, [7], "{class:?}");
            assert!(calls.lock().len() <= 25, "{class:?}: {} calls", calls.lock().len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cloud_that_is_throttled_or_down_is_not_asked_again_and_again() {
        for (class, at_most) in [(FailureClass::Throttled, 1), (FailureClass::Credentials, 1)] {
            let (batcher, calls) = cloud(Some(("7", class)));
            assert!(sweep(&batcher, 1000, 1).await.iter().all(Result::is_err));
            assert!(calls.lock().len() <= at_most, "{class:?}: {} calls", calls.lock().len());
        }
        let down = |looks: Vec<Look>| {
            drop(looks);
            std::future::ready(Err::<Vec<String>, _>(failure(FailureClass::Transient)))
        };
        let calls = Calls::default();
        let noted = calls.clone();
        let counted = move |looks: Vec<Look>| {
            noted.lock().push(looks.len());
            down(looks)
        };
        assert!(sweep(&Batcher::start(counted, FOR_A_RESYNC), 1000, 1).await.iter().all(Result::is_err));
        assert!(calls.lock().len() <= 5, "{} calls", calls.lock().len());
    }
}
