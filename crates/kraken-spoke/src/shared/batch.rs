//! Batches the observations of many resources into few calls.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use kraken_kind::{
    Failure, FailureClass, ObserveRequest,
    dynamic::{Calls, Observed},
};
use kraken_model::outcome::{FailureRow, Split};
use kraken_runtime::queue::Lane;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::{Instant, timeout_at},
};

/// How long a batch waits for the next request, and how long its first request waits at most, regardless of how many
/// follow.
#[derive(Clone, Copy, Debug)]
struct BatchWindow {
    gap: Duration,
    window: Duration,
    /// The maximum number of concurrent batches: a response with a thousand objects takes megabytes.
    at_once: usize,
}

/// For edits: a single request is delayed only briefly.
const FOR_AN_EDIT: BatchWindow =
    BatchWindow { gap: Duration::from_millis(20), window: Duration::from_millis(100), at_once: 32 };
/// For resyncs: the whole sweep of an interval must share its calls, also on a busy machine.
const FOR_A_RESYNC: BatchWindow =
    BatchWindow { gap: Duration::from_millis(200), window: Duration::from_secs(3), at_once: 2 };

/// The maximum number of ids in a batch, and therefore of requests: the number of ids that one Describe call accepts.
pub(crate) const MAX_OBSERVE_REQUESTS: usize = 1000;
/// The maximum number of additional calls for a failed batch, to find the request that causes the failure.
const SPLITS: usize = 64;
/// How many requests may be queued before callers wait.
const BACKLOG: usize = 4 * MAX_OBSERVE_REQUESTS;

type Answer<O> = oneshot::Sender<Result<O, Failure>>;

/// Observes in batches. Clones share the same task.
#[derive(Debug)]
pub(crate) struct Batcher<O> {
    requests: mpsc::Sender<(ObserveRequest, Answer<O>)>,
}

impl<O> Clone for Batcher<O> {
    fn clone(&self) -> Self {
        Self { requests: self.requests.clone() }
    }
}

impl<O: Send + 'static> Batcher<O> {
    /// Starts the task that collects requests; it ends when the last handle is dropped.
    fn start<F, Answered>(observe: F, window: BatchWindow) -> Self
    where
        F: Fn(Vec<ObserveRequest>) -> Answered + Clone + Send + Sync + 'static,
        Answered: Future<Output = Result<Vec<O>, Failure>> + Send,
    {
        let (sender, mut receiver) = mpsc::channel::<(ObserveRequest, Answer<O>)>(BACKLOG);
        let permits = Arc::new(Semaphore::new(window.at_once));
        kraken_runtime::task::spawn(async move {
            // The request that did not fit into the previous batch starts the next one.
            let mut left_over = None;
            loop {
                let first = match left_over.take() {
                    Some(first) => first,
                    None => match receiver.recv().await {
                        Some(first) => first,
                        None => return,
                    },
                };
                let deadline = Instant::now() + window.window;
                let mut size = weight(&first.0);
                let mut batch = vec![first];
                while size < MAX_OBSERVE_REQUESTS {
                    match timeout_at(deadline.min(Instant::now() + window.gap), receiver.recv()).await {
                        Ok(Some(next)) if size + weight(&next.0) > MAX_OBSERVE_REQUESTS => {
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
                // Batches overlap: a slow response delays few later requests. The semaphore is never closed.
                let permit = permits.clone().acquire_owned().await;
                let observe = observe.clone();
                kraken_runtime::task::spawn(async move {
                    answer(observe, batch).await;
                    drop(permit);
                });
            }
        });
        Self { requests: sender }
    }

    /// The observed objects for this request.
    ///
    /// # Errors
    /// The failure of the call that the request was part of.
    pub(crate) async fn observe(&self, request: ObserveRequest) -> Result<O, Failure> {
        let (answer, answered) = oneshot::channel();
        if self.requests.send((request, answer)).await.is_err() {
            return Err(lost());
        }
        answered.await.unwrap_or_else(|_| Err(lost()))
    }
}

/// A batcher for each lane, so that an edit never waits for the batch window of a sweep. A clone is another handle.
#[derive(Clone, Debug)]
pub(crate) struct Batchers {
    edits: Batcher<Observed>,
    resyncs: Batcher<Observed>,
}

impl Batchers {
    pub(crate) fn start(external: &Arc<dyn Calls>) -> Self {
        let observe = {
            let external = external.clone();
            move |requests: Vec<ObserveRequest>| {
                let external = external.clone();
                async move { external.observe(&requests).await }
            }
        };
        Self {
            edits: Batcher::start(observe.clone(), FOR_AN_EDIT),
            resyncs: Batcher::start(observe, FOR_A_RESYNC),
        }
    }

    /// The batcher of this lane.
    pub(crate) fn of(&self, lane: Lane) -> &Batcher<Observed> {
        match lane {
            Lane::Edit => &self.edits,
            Lane::Resync => &self.resyncs,
        }
    }
}

/// The size of a request: a search without ids counts as one id.
fn weight(request: &ObserveRequest) -> usize {
    request.ids.len().max(1)
}

/// Observes a batch. If the call fails because of one request, the others must not fail with it: the batch is halved
/// until that request is alone.
async fn answer<O, F, Answered>(observe: F, batch: Vec<(ObserveRequest, Answer<O>)>)
where
    F: Fn(Vec<ObserveRequest>) -> Answered,
    Answered: Future<Output = Result<Vec<O>, Failure>>,
{
    let mut open = VecDeque::from([batch]);
    let mut splits = SPLITS;
    // Whether any part of the batch succeeded: then a failure is not an outage of the provider.
    let mut any_good = false;
    let mut refused = 0;
    while let Some(mut batch) = open.pop_front() {
        // A request whose caller was cancelled needs no response.
        batch.retain(|(_, answer)| !answer.is_closed());
        if batch.is_empty() {
            continue;
        }
        let requests: Vec<ObserveRequest> = batch.iter().map(|(request, _)| request.clone()).collect();
        let failure = match observe(requests).await {
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
        let may_be_one_request = match FailureRow::of(failure.class).split {
            Split::Never => false,
            // The network, or one request's part of the call: two failures and no success mean that it is the network.
            Split::UnlessOutage => any_good || refused < 3,
            Split::Always => true,
        };
        if batch.len() > 1 && may_be_one_request && splits > 0 {
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
        action: "failed to observe remote objects".to_owned(),
        code: String::new(),
        message: "the batched read ended without a response; retrying".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kraken_kind::Identity;
    use parking_lot::Mutex;

    use super::*;

    type Calls = Arc<Mutex<Vec<usize>>>;

    fn request(name: &str, ids: usize) -> ObserveRequest {
        ObserveRequest {
            identity: Identity { cluster: "c".into(), uid: name.into(), owner: String::new() },
            ids: (0..ids).map(|n| format!("{name}-{n}")).collect(),
            search: false,
            deep: false,
            launched: 0,
            is_own_record: false,
            wanted: None,
        }
    }

    fn failure(class: FailureClass) -> Failure {
        Failure { class, ..lost() }
    }

    /// A provider that returns the owner of each request, rejects every call that contains `bad`, and records the
    /// number of ids of each call.
    fn cloud(bad: Option<(&'static str, FailureClass)>) -> (Batcher<String>, Calls) {
        let calls = Calls::default();
        let noted = calls.clone();
        let observe = move |requests: Vec<ObserveRequest>| {
            noted.lock().push(requests.iter().map(|request| request.ids.len()).sum());
            let is_bad =
                |(owner, _): &(&str, FailureClass)| requests.iter().any(|l| l.identity.uid == *owner);
            let answer = match bad.filter(is_bad) {
                Some((_, class)) => Err(failure(class)),
                None => Ok(requests.into_iter().map(|request| request.identity.uid).collect()),
            };
            std::future::ready(answer)
        };
        (Batcher::start(observe, FOR_A_RESYNC), calls)
    }

    async fn sweep(batcher: &Batcher<String>, resources: usize, ids: usize) -> Vec<Result<String, Failure>> {
        let each = (0..resources).map(|n| batcher.observe(request(&n.to_string(), ids)));
        futures::future::join_all(each).await
    }

    #[tokio::test(start_paused = true)]
    async fn batch_is_limited_by_ids_and_not_by_resources() {
        let (batcher, calls) = cloud(None);
        assert!(sweep(&batcher, 1000, 100).await.iter().all(Result::is_ok));
        assert_eq!(calls.lock().len(), 100);
        assert!(calls.lock().iter().all(|ids| *ids == 1000), "{:?}", calls.lock());
        calls.lock().clear();
        assert!(sweep(&batcher, 1000, 1).await.iter().all(Result::is_ok));
        assert_eq!(*calls.lock(), [1000]);
    }

    #[tokio::test(start_paused = true)]
    async fn failing_request_does_not_fail_the_rest_of_its_batch() {
        for class in [FailureClass::Terminal, FailureClass::Transient] {
            let (batcher, calls) = cloud(Some(("7", class)));
            let answers = sweep(&batcher, 1000, 1).await;
            let failed: Vec<usize> = (0..1000).filter(|n| answers[*n].is_err()).collect();
            assert_eq!(failed, [7], "{class:?}");
            assert!(calls.lock().len() <= 25, "{class:?}: {} calls", calls.lock().len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn throttled_or_unavailable_provider_gets_few_calls() {
        for (class, at_most) in [(FailureClass::Throttled, 1), (FailureClass::Credentials, 1)] {
            let (batcher, calls) = cloud(Some(("7", class)));
            assert!(sweep(&batcher, 1000, 1).await.iter().all(Result::is_err));
            assert!(calls.lock().len() <= at_most, "{class:?}: {} calls", calls.lock().len());
        }
        let down = |requests: Vec<ObserveRequest>| {
            drop(requests);
            std::future::ready(Err::<Vec<String>, _>(failure(FailureClass::Transient)))
        };
        let calls = Calls::default();
        let noted = calls.clone();
        let counted = move |requests: Vec<ObserveRequest>| {
            noted.lock().push(requests.len());
            down(requests)
        };
        assert!(sweep(&Batcher::start(counted, FOR_A_RESYNC), 1000, 1).await.iter().all(Result::is_err));
        assert!(calls.lock().len() <= 5, "{} calls", calls.lock().len());
    }
}
