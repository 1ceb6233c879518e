#![cfg_attr(doctest, doc = include_str!("../README.md"))]
//! An in-memory API server of Kubernetes for tests and deterministic simulations of controllers, with the messages, codes and order of
//! checks of kube-apiserver 1.35. The README shows what it can do.
//!
//! [`ApiServer::handle`] is synchronous: the effect of a request is atomic. [`ApiServer::client`] is a client of it. It is deterministic,
//! starts no task and reads no other clock than tokio's and the [`Clock`] that it is given: the same requests at the same times have the
//! same responses.

mod apply;
mod connection;
mod controllers;
mod decode;
mod delete;
mod discovery;
mod events;
mod fault;
mod fields;
mod kinds;
mod merge_patch;
mod meta;
mod operations;
mod patch;
mod read;
mod reply;
mod request;
mod scale;
mod secrets;
mod selectors;
mod store;
mod strategy;
mod time;
mod uids;
mod watch;
mod write;

use std::{collections::BTreeMap, sync::Arc, task::Waker, time::Duration};

use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use hyper::body::Bytes;
use kube_schema::{self as schema, cause, go};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

pub use connection::Connection;
pub use kinds::Kinds;
pub use kube_schema::SchemaError;
pub use reply::{Events, Reply};
pub use time::Clock;

use delete::Deleted;
use fault::Fault;
use request::{Endpoint, Query, Target};
use store::Store;
use uids::Uids;
use watch::Watch;
use write::Written;

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// The server. Cloning gives another handle of the same one.
#[derive(Clone, Debug)]
pub struct ApiServer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kinds: Arc<Kinds>,
    clock: Clock,
    state: Mutex<State>,
    /// Notifies the controllers of a change.
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    store: Store,
    uids: Uids,
    /// The watches that wait for a write, by kind.
    sleepers: Vec<BTreeMap<u64, Waker>>,
    next_watch: u64,
    next_client: u64,
    /// How often all watches were cut.
    cuts: u64,
    /// How often those of one client were cut.
    cuts_of: BTreeMap<u64, u64>,
    /// How often the history was thrown away.
    compactions: u64,
    /// How far the cache is behind from which lists at version 0 are answered.
    cache_lag: Option<Duration>,
    /// How far the watches of a client are behind, by kind.
    lags: BTreeMap<(u64, usize), Duration>,
    /// The number of changes that concern the controllers of Kubernetes.
    controller_changes: u64,
    changed: Arc<Notify>,
}

/// All objects at one time, as a backup of etcd has them.
#[derive(Clone, Debug)]
pub struct Snapshot(Store);

/// What becomes of the resourceVersions when a snapshot is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revisions {
    /// They go back: a watcher that was ahead hears nothing until they have caught up.
    GoBack,
    /// They jump ahead and the history is compacted, as `etcdutl snapshot restore --bump-revision --mark-compacted` does:
    /// every watcher lists again.
    Bumped,
}

impl ApiServer {
    /// A server with the namespaces that every cluster has, and no other objects. `seed` determines the UIDs and generated names; `clock`
    /// is called for the times in objects.
    pub fn new(kinds: Arc<Kinds>, seed: u64, clock: Clock) -> Self {
        let count = kinds.iter().count();
        let state = State {
            store: Store::new(count),
            uids: Uids::new(seed),
            sleepers: (0..count).map(|_| BTreeMap::new()).collect(),
            next_watch: 0,
            next_client: 0,
            cuts: 0,
            cuts_of: BTreeMap::new(),
            compactions: 0,
            cache_lag: None,
            lags: BTreeMap::new(),
            controller_changes: 0,
            changed: Arc::default(),
        };
        let inner = Inner { kinds, clock, changed: state.changed.clone(), state: Mutex::new(state) };
        let server = Self(Arc::new(inner));
        for name in NAMESPACES {
            let body = json!({"metadata": {"name": name}}).to_string();
            let mut request = Request::new(Bytes::from(body));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = http::Uri::from_static("/api/v1/namespaces");
            server.handle(request);
        }
        server
    }

    /// Handles a request. Its writes are complete when this returns.
    pub fn handle(&self, request: Request<Bytes>) -> Response<Reply> {
        self.handle_of(0, request)
    }

    fn handle_of(&self, client: u64, request: Request<Bytes>) -> Response<Reply> {
        let (head, body) = request.into_parts();
        let query = Query::of(head.uri.query());
        let answer = match Endpoint::of(&self.0.kinds, head.uri.path()) {
            Ok(Endpoint::Document(path)) => {
                discovery::document(&self.0.kinds, &path).map(|document| (200, Reply::json(&document)))
            }
            Ok(Endpoint::Resource(target)) => {
                self.resource(client, &head.method, &target, (&query, &head.headers), &body)
            }
            Err(fault) => Err(fault),
        };
        let (code, reply) =
            answer.unwrap_or_else(|fault| (fault.status().as_u16(), Reply::json(&fault.body())));
        let mut response = Response::new(reply);
        *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }

    fn resource(
        &self,
        client: u64,
        method: &Method,
        target: &Target,
        (query, headers): (&Query, &HeaderMap),
        body: &Bytes,
    ) -> Result<(u16, Reply), Fault> {
        let inner = &self.0;
        let form = request::form(headers);
        let mut state = inner.state.lock();
        let state = &mut *state;
        let named = !target.name.is_empty();
        let whole = |bytes: Bytes| (200, Reply::Whole(Some(bytes)));
        if request::is_read(method) {
            if query.is_true("watch") && !named {
                let watch = Watch::open(inner, state, (client, target), query, form)?;
                return Ok((200, Reply::watch(watch)));
            }
            let result = if named {
                inner.get(state, target, query, form)
            } else {
                inner.list(state, target, query, form)
            };
            return result.map(whole);
        }
        request::check_options(method, query, headers)?;
        let write = patch::Request { target, query, headers, body };
        let main = target.subresource.is_empty();
        let written = match *method {
            // The name in the path of a custom resource is not used.
            Method::POST if !named || (main && target.kind.is_custom()) => inner.post(state, &write)?,
            Method::PUT if named => inner.put(state, &write)?,
            Method::PATCH if named => inner.patch(state, &write)?,
            Method::DELETE if named && main => {
                let options = delete::Options::read(query, body)?;
                return Ok(match inner.delete(state, target, &options)? {
                    Deleted::Pending(object) if options.cascades => {
                        (202, Reply::Whole(Some(object.bytes(form))))
                    }
                    Deleted::Pending(object) => whole(object.bytes(form)),
                    Deleted::Gone(status) => (200, Reply::json(&status)),
                });
            }
            Method::DELETE if main => {
                let options = delete::Options::read(query, body)?;
                let selector = read::selector(target, query)?;
                let objects = inner.delete_all(state, target, &selector, &options)?;
                let form = read::item_form(&target.kind, form);
                let items: Vec<Bytes> = objects.iter().map(|object| object.bytes(form)).collect();
                return Ok(whole(read::body(&target.kind, form, state.store.revision, &items, None, None)));
            }
            _ => return Err(Fault::method_not_allowed()),
        };
        Ok(match written {
            Written::Stored(code, object) => (code, Reply::Whole(Some(object.bytes(form)))),
            Written::Gone(object) => whole(object.bytes(form)),
        })
    }

    /// The objects of a kind, by namespace and name.
    pub fn objects(&self, group: &str, plural: &str) -> Vec<Arc<Value>> {
        let Some(kind) = self.0.kinds.find(group, plural) else { return Vec::new() };
        let state = self.0.state.lock();
        let objects = state.store.table(kind.index).into_iter().flat_map(|table| table.objects.values());
        objects.map(|object| object.value.clone()).collect()
    }

    /// All objects, by kind, namespace and name.
    pub fn all_objects(&self) -> Vec<Arc<Value>> {
        let state = self.0.state.lock();
        let objects = state.store.tables.iter().flat_map(|table| table.objects.values());
        objects.map(|object| object.value.clone()).collect()
    }

    /// The number of the last write.
    pub fn revision(&self) -> u64 {
        self.0.state.lock().store.revision
    }

    /// Throws the history away: every open watch ends with 410, and so does every one from an older version.
    pub fn compact(&self) {
        let mut state = self.0.state.lock();
        state.store.compact();
        state.compactions += 1;
        state.notify_all_watches();
    }

    /// Breaks every open watch, as a restart of the server or of a load balancer does.
    pub fn cut_watches(&self) {
        let mut state = self.0.state.lock();
        state.cuts += 1;
        state.notify_all_watches();
    }

    /// A backup of the current state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.0.state.lock().store.clone())
    }

    /// Restores a backup. All watches break; the history is that of the backup.
    pub fn restore(&self, snapshot: &Snapshot, revisions: Revisions) {
        let mut state = self.0.state.lock();
        let ahead = state.store.revision.saturating_add(1_000_000);
        state.store = snapshot.0.clone();
        if revisions == Revisions::Bumped {
            state.store.revision = ahead;
            state.store.compact();
            state.compactions += 1;
        }
        state.cuts += 1;
        state.notify_all_watches();
        state.notify_controllers();
    }

    /// The staleness of lists with version 0; `None` for none.
    pub fn set_cache_lag(&self, lag: Option<Duration>) {
        self.0.state.lock().cache_lag = lag;
    }
}

impl Inner {
    /// The time, as objects have it.
    fn now(&self) -> String {
        time::text((self.clock)())
    }
}

impl State {
    /// Something of this kind was written.
    fn notify_watches(&mut self, kind: usize) {
        if let Some(sleepers) = self.sleepers.get_mut(kind) {
            for waker in std::mem::take(sleepers).into_values() {
                waker.wake();
            }
        }
    }

    /// Something happened that concerns the controllers of Kubernetes.
    fn notify_controllers(&mut self) {
        self.controller_changes += 1;
        self.changed.notify_waiters();
    }

    fn notify_all_watches(&mut self) {
        for sleepers in &mut self.sleepers {
            for waker in std::mem::take(sleepers).into_values() {
                waker.wake();
            }
        }
    }

    fn sleep(&mut self, kind: usize, watch: u64, waker: Waker) {
        if let Some(sleepers) = self.sleepers.get_mut(kind) {
            sleepers.insert(watch, waker);
        }
    }

    fn forget(&mut self, kind: usize, watch: u64) {
        if let Some(sleepers) = self.sleepers.get_mut(kind) {
            sleepers.remove(&watch);
        }
    }

    /// How often the watches of a client were cut.
    fn cuts(&self, client: u64) -> u64 {
        self.cuts + self.cuts_of.get(&client).copied().unwrap_or_default()
    }

    fn lag(&self, client: u64, kind: usize) -> Duration {
        self.lags.get(&(client, kind)).copied().unwrap_or_default()
    }
}
