use std::sync::atomic::{AtomicUsize, Ordering};

use axum::routing::{get, post};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Semaphore,
};

use super::*;
use crate::router;

/// A served port with three places, and how many connections gave way.
struct Setup {
    address: std::net::SocketAddr,
    connections: Connections,
    gave_way: Arc<AtomicUsize>,
    shutdown: CancellationToken,
}

impl Setup {
    async fn serving(router: Router) -> Self {
        let gave_way = Arc::<AtomicUsize>::default();
        let counted = gave_way.clone();
        let connections = Connections::new("test", 3, move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
        tokio::spawn(connections.clone().serve(listener, router, shutdown.clone()));
        Self { address, connections, gave_way, shutdown }
    }

    /// Sends text on a new connection, and waits until the server has accepted it.
    async fn sent(&self, text: &str) -> TcpStream {
        let before = self.connections.port.state.lock().next;
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        socket.write_all(text.as_bytes()).await.unwrap();
        while self.connections.port.state.lock().next == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        socket
    }

    /// The whole response to a request on a new connection.
    async fn answer(&self, request: &str) -> String {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        received(&mut socket).await
    }
}

async fn received(socket: &mut TcpStream) -> String {
    let mut answer = vec![];
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn routes() -> Router {
    Router::new().route("/", get(async || "ok\n")).route("/", post(async |body: String| body))
}

const GET: &str = "GET / HTTP/1.1\r\nHost: k\r\nConnection: close\r\n\r\n";
const TRICKLED: &str = "POST / HTTP/1.1\r\nHost: k\r\nContent-Length: 1000000\r\n\r\na";

#[tokio::test]
async fn clients_that_trickle_a_request_do_not_keep_others_out() {
    let setup = Setup::serving(routes()).await;
    // Without a byte, with a part of the head, and with a part of the body.
    let mut slow = vec![];
    for text in ["", "POST / HT", TRICKLED] {
        slow.push(setup.sent(text).await);
    }
    assert_eq!((setup.connections.open(), setup.gave_way.load(Ordering::SeqCst)), (3, 0));
    for _ in 0..5 {
        let answer = setup.answer(GET).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer}");
    }
    assert!(setup.gave_way.load(Ordering::SeqCst) >= 1);
    // The one that waited longest was closed.
    assert_eq!(received(&mut slow[0]).await, "");
    setup.shutdown.cancel();
}

#[tokio::test]
async fn a_request_that_is_handled_does_not_give_way() {
    let handled = Arc::new(Semaphore::new(0));
    let waiting = handled.clone();
    let handler = move |request: axum::extract::Request| async move {
        if let Some(progress) = request.extensions().get::<Progress>() {
            progress.received();
        }
        let _ = waiting.acquire().await;
        "handled\n"
    };
    let setup = Setup::serving(Router::new().route("/", get(handler))).await;
    let working =
        || setup.connections.port.state.lock().open.values().filter(|o| o.phase == Phase::Working).count();
    let mut sockets = vec![];
    for _ in 0..3 {
        sockets.push(setup.sent(GET).await);
    }
    while working() < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // It waits for a place.
    let mut fourth = TcpStream::connect(setup.address).await.unwrap();
    fourth.write_all(GET.as_bytes()).await.unwrap();
    handled.add_permits(100);
    sockets.push(fourth);
    for mut socket in sockets {
        let answer = received(&mut socket).await;
        assert!(answer.ends_with("handled\n"), "{answer:?}");
    }
    assert_eq!(setup.gave_way.load(Ordering::SeqCst), 0);
}

#[test]
fn slow_clients_give_way_before_idle_connections_and_those_before_new_ones() {
    let now = Instant::now();
    let (old, older) = (now - USUAL * 2, now - USUAL * 3);
    let ranked = [
        Phase::Reading(older),
        Phase::Reading(old),
        Phase::Idle(older),
        Phase::Idle(now),
        Phase::Reading(now),
    ];
    assert!(ranked.windows(2).all(|pair| pair[0].rank() < pair[1].rank()), "{ranked:?}");
    assert_eq!(Phase::Working.rank(), None);
}

/// The deadline of a review includes its body, with a real socket: it ends although the client still sends.
#[tokio::test]
async fn a_review_whose_body_does_not_arrive_ends_at_its_deadline() {
    let setup = Setup::serving(router(crate::Mounts::default())).await;
    let mut socket = setup.sent(&TRICKLED.replace("POST /", "POST /validate/x")).await;
    let answer = received(&mut socket).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("was not received within 4 s"), "{answer}");
}
