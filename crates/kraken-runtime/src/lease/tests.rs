//! Candidates for an in-memory lease with resourceVersions like the API server's. The clock is tokio's, paused.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use http::{Method, Request, Response};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime;
use tower::service_fn;

use super::*;

const DURATION: Duration = Duration::from_secs(15);

/// One lease and the network links to it.
#[derive(Clone, Default)]
pub(crate) struct Server {
    lease: Arc<Mutex<Option<Value>>>,
    versions: Arc<AtomicUsize>,
    /// The time of its last write.
    writes: Arc<Mutex<Vec<std::time::Instant>>>,
}

/// The network of one candidate.
#[derive(Clone, Default)]
pub(crate) struct Link {
    /// Requests are lost.
    pub(crate) down: Arc<AtomicBool>,
    /// Requests fail after 300 ms.
    slow_errors: Arc<AtomicBool>,
    /// The next write arrives, and its response is lost.
    swallow: Arc<AtomicBool>,
}

fn status(code: u16) -> Response<Body> {
    let body = json!({"kind": "Status", "status": "Failure", "message": "no", "code": code,
        "reason": if code == 404 { "NotFound" } else { "Conflict" }});
    Response::builder().status(code).body(Body::from(body.to_string().into_bytes())).unwrap()
}

fn version_of(lease: &Value) -> &Value {
    &lease["metadata"]["resourceVersion"]
}

impl Server {
    fn answer(&self, method: &Method, body: &[u8]) -> Response<Body> {
        let mut stored = self.lease.lock();
        if *method == Method::GET {
            let Some(lease) = &*stored else { return status(404) };
            return Response::new(Body::from(lease.to_string().into_bytes()));
        }
        let mut wanted: Value = serde_json::from_slice(body).unwrap();
        match (&*stored, method) {
            (Some(_), &Method::POST) => return status(409),
            (None, &Method::PUT) => return status(404),
            (Some(old), &Method::PUT) if version_of(old) != version_of(&wanted) => return status(409),
            _ => {}
        }
        let version = self.versions.fetch_add(1, Ordering::SeqCst) + 1;
        wanted["metadata"]["resourceVersion"] = version.to_string().into();
        *stored = Some(wanted.clone());
        self.writes.lock().push(std::time::Instant::now());
        Response::new(Body::from(wanted.to_string().into_bytes()))
    }

    fn client(&self, link: &Link) -> Client {
        let (server, link) = (self.clone(), link.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (server, link) = (server.clone(), link.clone());
            async move {
                if link.down.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                if link.slow_errors.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    return Err(std::io::Error::other("connection reset"));
                }
                let method = request.method().clone();
                let body = request.into_body().collect_bytes().await.unwrap();
                let response = server.answer(&method, &body);
                if method != Method::GET && link.swallow.swap(false, Ordering::SeqCst) {
                    return Err(std::io::Error::other("connection reset"));
                }
                Ok(response)
            }
        });
        Client::new(service, "default")
    }

    pub(crate) fn candidate(&self, identity: &str, link: &Link) -> Lease {
        Lease::new(self.client(link), "kraken-system", "kraken-test", identity.to_owned(), DURATION)
    }

    pub(crate) fn holder(&self) -> String {
        self.lease.lock().as_ref().unwrap()["spec"]["holderIdentity"].as_str().unwrap().to_owned()
    }
}

async fn acquire(lease: Lease) -> LeaseGuard {
    lease.acquire(CancellationToken::new()).await.unwrap()
}

async fn within<T>(seconds: u64, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_secs(seconds), future).await.ok()
}

#[tokio::test(start_paused = true)]
async fn a_standby_acquires_a_released_lease_at_once() {
    let server = Server::default();
    let leader = acquire(server.candidate("a", &Link::default())).await;
    let standby = crate::task::spawn(acquire(server.candidate("b", &Link::default())));
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(!leader.lost().is_cancelled() && !standby.is_finished());
    leader.release().await;
    let next = within(3, standby).await.expect("the standby is still waiting").unwrap();
    assert_eq!(server.holder(), "b");
    next.release().await;
    assert_eq!(server.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn a_leader_knows_how_long_the_former_one_can_have_worked() {
    let server = Server::default();
    let former = acquire(server.candidate("a", &Link::default())).await;
    assert_eq!(former.predecessor_ended_at(), Some(Timestamp::MIN), "there was none");
    former.release().await;
    let released = server.lease.lock().as_ref().unwrap()["spec"]["renewTime"].clone();
    // The lease is this replica's when it is read again.
    let link = Link::default();
    link.swallow.store(true, Ordering::SeqCst);
    let leader = acquire(server.candidate("b", &link)).await;
    assert_eq!(leader.predecessor_ended_at(), Some(released.as_str().unwrap().parse().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_disconnected_leader_stops_before_its_successor_starts() {
    let server = Server::default();
    let link = Link::default();
    let leader = acquire(server.candidate("a", &link)).await;
    let standby = crate::task::spawn(acquire(server.candidate("b", &Link::default())));
    tokio::time::sleep(Duration::from_mins(1)).await;
    link.down.store(true, Ordering::SeqCst);
    let cut = Instant::now();
    leader.lost().cancelled().await;
    assert!(!standby.is_finished(), "two leaders");
    assert!(cut.elapsed() <= Duration::from_secs(10));
    assert!(within(20, standby).await.is_some(), "no replica leads");
    assert_eq!(server.holder(), "b");
}

#[tokio::test(start_paused = true)]
async fn a_leader_stops_two_thirds_of_the_duration_after_its_last_renewal() {
    let server = Server::default();
    let link = Link::default();
    let leader = acquire(server.candidate("a", &link)).await;
    // The last renewal was two seconds ago.
    tokio::time::sleep(Duration::from_secs(62)).await;
    link.slow_errors.store(true, Ordering::SeqCst);
    let failing = Instant::now();
    leader.lost().cancelled().await;
    assert!(failing.elapsed() <= Duration::from_secs(8), "a successor counts on it: {:?}", failing.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_lease_taken_by_force_is_lost_at_the_next_renewal() {
    let server = Server::default();
    let leader = acquire(server.candidate("a", &Link::default())).await;
    {
        let mut stored = server.lease.lock();
        let lease = stored.as_mut().unwrap();
        lease["spec"]["holderIdentity"] = "b".into();
        lease["metadata"]["resourceVersion"] = "1000".into();
    }
    assert!(within(7, leader.lost().cancelled()).await.is_some());
    assert_eq!(server.holder(), "b", "a lost lease must not be released");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_with_a_lost_response_is_recognised() {
    let server = Server::default();
    let link = Link::default();
    let leader = acquire(server.candidate("a", &link)).await;
    link.swallow.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(!leader.lost().is_cancelled());
    leader.release().await;
    assert_eq!(server.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_created_again() {
    let server = Server::default();
    let leader = acquire(server.candidate("a", &Link::default())).await;
    *server.lease.lock() = None;
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(server.holder(), "a");
    assert!(!leader.lost().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_release_is_retried_after_a_conflict() {
    let server = Server::default();
    let leader = acquire(server.candidate("a", &Link::default())).await;
    server.lease.lock().as_mut().unwrap()["metadata"]["resourceVersion"] = "1000".into();
    leader.release().await;
    assert_eq!(server.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn a_standby_stops_waiting_on_shutdown() {
    let server = Server::default();
    let _leader = acquire(server.candidate("a", &Link::default())).await;
    let shutdown = CancellationToken::new();
    let standby = crate::task::spawn(server.candidate("b", &Link::default()).acquire(shutdown.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    shutdown.cancel();
    assert!(within(1, standby).await.unwrap().unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn one_of_many_candidates_leads() {
    let server = Server::default();
    let candidates: Vec<_> = (0..10)
        .map(|n| crate::task::spawn(acquire(server.candidate(&n.to_string(), &Link::default()))))
        .collect();
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(candidates.iter().filter(|candidate| candidate.is_finished()).count(), 1);
}

/// Every worker thread computes for two seconds repeatedly, which is worse than tenants can cause.
#[test]
fn workers_that_compute_do_not_delay_a_renewal() {
    const SHORT: Duration = Duration::from_secs(1);
    let server = Server::default();
    let workers = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let thread = LeaseThread::start().unwrap();
    let lease = thread
        .candidate(
            || Ok::<_, std::io::Error>(server.client(&Link::default())),
            "kraken-system",
            "kraken-test",
            "a".to_owned(),
            SHORT,
        )
        .unwrap();
    let guard = workers.block_on(async { lease.acquire(CancellationToken::new()).await.unwrap() });
    let busy = |length: Duration| {
        let begin = std::time::Instant::now();
        while begin.elapsed() < length {
            std::hint::black_box(begin.elapsed());
        }
    };
    let computing: Vec<_> = (0..2).map(|_| workers.spawn(async move { busy(SHORT * 2) })).collect();
    busy(SHORT * 2);
    assert!(!guard.lost().is_cancelled(), "the lease was lost");
    workers.block_on(async move {
        for work in computing {
            work.await.unwrap();
        }
        assert!(!guard.lost().is_cancelled());
        guard.release().await;
    });
    assert_eq!(server.holder(), "");
}

/// The most expensive queries within the budget of a reconcile, evaluated continuously by both worker threads; the hub
/// evaluates them on other threads. The result is in docs/performance/lease.md.
#[test]
fn the_worst_queries_of_tenants_delay_a_renewal_by_less_than_a_second() {
    use kraken_options::{Budget, Path};
    const DURATION: Duration = Duration::from_secs(3);
    const QUERIES: [&str; 5] = [
        "$..[?@..b]",
        "$[?count($..b) > 1]",
        "$..*..*..*",
        "$[?@.a == $[0].a || @ == $[19999]]",
        "$[?search(@.a.c, '(x+x+)+y')]",
    ];
    let server = Server::default();
    let workers = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let thread = LeaseThread::start().unwrap();
    let (name, me) = ("kraken-test", "a".to_owned());
    let connect = || Ok::<_, std::io::Error>(server.client(&Link::default()));
    let lease = thread.candidate(connect, "kraken-system", name, me, DURATION).unwrap();
    let guard = workers.block_on(async { lease.acquire(CancellationToken::new()).await.unwrap() });
    // The maximum size of a StateDeclaration.
    let data: Value = (0..20_000).map(|n| json!({"a": {"b": n, "c": format!("text {n}")}})).collect();
    let data = Arc::new(data);
    let begin = std::time::Instant::now();
    let computing: Vec<_> = (0..2)
        .map(|_| {
            let data = data.clone();
            workers.spawn(async move {
                let mut reconciles = 0;
                while begin.elapsed() < DURATION * 2 {
                    let mut budget = Budget::default();
                    for query in QUERIES {
                        let _ = Path::parse(query).unwrap().find_within(&data, &mut budget);
                    }
                    reconciles += 1;
                }
                reconciles
            })
        })
        .collect();
    workers.block_on(async move {
        for work in computing {
            assert!(work.await.unwrap() > 1, "queries must be evaluated during the measurement");
        }
        assert!(!guard.lost().is_cancelled());
        guard.release().await;
    });
    let writes = server.writes.lock();
    let gaps = writes.windows(2).map(|pair| pair[1].duration_since(pair[0]));
    let delay = gaps.max().unwrap().saturating_sub(DURATION / 3);
    println!("a renewal was delayed by {delay:?} at most");
    assert!(writes.len() > 4 && delay < Duration::from_secs(1), "{delay:?}, {} writes", writes.len());
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_lease_marks_the_old_lease_and_a_later_leader_removes_the_mark() {
    let (server, link) = (Server::default(), Link::default());
    let unused =
        || server.lease.lock().as_ref().is_some_and(|lease| lease.to_string().contains("election-off"));
    let leave = || leave_unused(server.client(&link), "kraken-system", "kraken-test", "kraken-test");
    leave().await.unwrap();
    assert!(server.lease.lock().is_none(), "no lease is created for the mark");
    acquire(server.candidate("a", &link)).await.release().await;
    leave().await.unwrap();
    assert!(unused());
    let writes = server.writes.lock().len();
    leave().await.unwrap();
    assert_eq!(server.writes.lock().len(), writes, "once");
    let leader = acquire(server.candidate("b", &link)).await;
    assert!(!unused());
    leader.release().await;
}
