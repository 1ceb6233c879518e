//! The server: it routes each request to the file of its verb, and gives tests what no request can do.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use hyper::body::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    delete::{self, Deleted},
    discovery,
    fault::Fault,
    kinds::Kinds,
    patch, read,
    reply::Reply,
    request::{self, Endpoint, Query, Target},
    state::{Inner, State},
    store::Store,
    time::Clock,
    uids::Uids,
    watch::Watch,
    write::Written,
};

/// The namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// The server. Cloning gives another handle of the same one.
#[derive(Clone, Debug)]
pub struct ApiServer(pub(super) Arc<Inner>);

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

    pub(super) fn handle_of(&self, client: u64, request: Request<Bytes>) -> Response<Reply> {
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
