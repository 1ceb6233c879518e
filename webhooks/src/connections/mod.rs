//! A bounded number of connections to a port that every pod may connect to. When all places are taken, the slowest connection
//! gives way to a new one, so that clients that send nothing, or a byte now and then, cannot keep others out.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use axum::Router;
use hyper::{
    body::Incoming,
    rt::{Read, Write},
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// A client that needs longer to send a request gives way before connections that are idle between requests.
const USUAL: Duration = Duration::from_secs(1);
/// The timeout of reading the head of a request, and of a connection without requests.
const HEAD: Duration = Duration::from_mins(2);
/// The timeout of requests in flight at shutdown.
const DRAIN: Duration = Duration::from_secs(5);
/// The delay after a failed `accept`, when file descriptors are exhausted.
const PAUSE: Duration = Duration::from_millis(100);
/// The shortest time between two log lines about connections that gave way.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// The connections of one port. Clones share the same places.
#[derive(Clone)]
pub struct Connections {
    port: Arc<Port>,
}

struct Port {
    name: &'static str,
    max: usize,
    state: Mutex<State>,
    /// Notified when a place may have become free.
    freed: Notify,
    /// Called for each connection that gave way.
    gave_way: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    open: BTreeMap<u64, Open>,
    next: u64,
    /// How many gave way since the last log line, and when it was written.
    unlogged: u64,
    logged: Option<Instant>,
}

struct Open {
    phase: Phase,
    stop: Arc<Notify>,
}

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The client sends a request, or sets the connection up, since this time.
    Reading(Instant),
    /// A request was received and is handled.
    Working,
    /// The last request was handled at this time.
    Idle(Instant),
}

impl Phase {
    /// The order in which connections give way; `None` for one that does not.
    fn rank(self) -> Option<(u8, Instant)> {
        match self {
            Self::Working => None,
            Self::Reading(since) if since.elapsed() >= USUAL => Some((0, since)),
            Self::Idle(since) => Some((1, since)),
            Self::Reading(since) => Some((2, since)),
        }
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("port", &self.port.name).finish_non_exhaustive()
    }
}

impl Connections {
    /// At most `max` open connections to the port of this name, for logs. `gave_way` is called for each that gave way.
    pub fn new(name: &'static str, max: usize, gave_way: impl Fn() + Send + Sync + 'static) -> Self {
        let gave_way = Box::new(gave_way);
        Self { port: Arc::new(Port { name, max, state: Mutex::default(), freed: Notify::new(), gave_way }) }
    }

    /// Serves HTTP without TLS until shutdown, then finishes the requests in flight.
    pub async fn serve(self, listener: TcpListener, router: Router, shutdown: CancellationToken) {
        let stop = shutdown.clone();
        self.accept(listener, shutdown, move |socket, place| {
            let (router, stop) = (router.clone(), stop.clone());
            async move { place.serve(socket, router, stop).await }
        })
        .await;
    }

    /// Accepts connections until shutdown, then waits for their ends.
    pub(crate) async fn accept<F>(
        self,
        listener: TcpListener,
        shutdown: CancellationToken,
        connection: impl Fn(TcpStream, Place) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                accepted = listener.accept() => accepted,
            };
            let Ok((socket, _)) = accepted else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Some(place) = shutdown.run_until_cancelled(self.place()).await else { break };
            while connections.try_join_next().is_some() {}
            // Responses are one small write, which Nagle's algorithm would only delay.
            let _ = socket.set_nodelay(true);
            let stop = place.stop.clone();
            let connection = connection(socket, place);
            connections.spawn(async move {
                tokio::select! {
                    () = connection => {}
                    () = stop.notified() => {}
                }
            });
        }
        let _ = tokio::time::timeout(DRAIN, async { while connections.join_next().await.is_some() {} }).await;
    }

    /// A place for a new connection. If all are taken, the slowest client loses its own; requests that are being handled do not.
    async fn place(&self) -> Place {
        loop {
            let mut freed = std::pin::pin!(self.port.freed.notified());
            // Subscribe before checking, or the last notification could be missed.
            freed.as_mut().enable();
            if let Some(place) = self.free_place() {
                return place;
            }
            freed.await;
        }
    }

    fn free_place(&self) -> Option<Place> {
        let mut state = self.port.state.lock();
        if state.open.len() >= self.port.max {
            let ranks = state.open.iter().filter_map(|(id, open)| Some((open.phase.rank()?, *id)));
            let (_, slowest) = ranks.min()?;
            if let Some(open) = state.open.remove(&slowest) {
                open.stop.notify_one();
            }
            self.report(&mut state);
        }
        let (id, stop) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        state.open.insert(id, Open { phase: Phase::Reading(Instant::now()), stop: stop.clone() });
        let progress = Progress { port: self.port.clone(), id };
        Some(Place { progress, stop })
    }

    fn report(&self, state: &mut State) {
        (self.port.gave_way)();
        state.unlogged += 1;
        if state.logged.is_none_or(|logged| logged.elapsed() >= LOG_INTERVAL) {
            state.logged = Some(Instant::now());
            warn!(
                port = self.port.name,
                closed = std::mem::take(&mut state.unlogged),
                "all {} connections are in use; the slowest are closed: which clients open so many?",
                self.port.max
            );
        }
    }

    #[cfg(test)]
    fn open(&self) -> usize {
        self.port.state.lock().open.len()
    }
}

/// The place of one open connection; dropping it frees it.
pub(crate) struct Place {
    progress: Progress,
    stop: Arc<Notify>,
}

impl Place {
    /// Serves the requests of one connection.
    pub(crate) async fn serve(
        &self,
        socket: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
        router: Router,
        shutdown: CancellationToken,
    ) {
        if let Err(error) = self.requests(TokioIo::new(socket), router, shutdown).await {
            debug!(%error, "a connection ended");
        }
    }

    async fn requests(
        &self,
        socket: impl Read + Write + Unpin,
        router: Router,
        shutdown: CancellationToken,
    ) -> hyper::Result<()> {
        let (router, progress) = (TowerToHyperService::new(router), self.progress.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            let progress = progress.clone();
            // Its head is received, and its body follows.
            progress.set(Phase::Reading(Instant::now()));
            request.extensions_mut().insert(progress.clone());
            let response = router.call(request);
            async move {
                let response = response.await;
                progress.set(Phase::Idle(Instant::now()));
                response
            }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(Some(HEAD));
        let mut connection = std::pin::pin!(builder.serve_connection(socket, service));
        tokio::select! {
            ended = connection.as_mut() => ended,
            () = shutdown.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Progress { port, id } = &self.progress;
        port.state.lock().open.remove(id);
        port.freed.notify_one();
    }
}

/// The progress of the request of a connection, as an extension of the request.
#[derive(Clone)]
pub(crate) struct Progress {
    port: Arc<Port>,
    id: u64,
}

impl Progress {
    /// The request is received: what follows is not the client's delay.
    pub(crate) fn received(&self) {
        self.set(Phase::Working);
    }

    fn set(&self, phase: Phase) {
        if let Some(open) = self.port.state.lock().open.get_mut(&self.id) {
            open.phase = phase;
        }
        if phase != Phase::Working {
            // It may give way now.
            self.port.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
