//! Watches: a body of one JSON line per event, that waits for the next write.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::body::Bytes;
use serde_json::json;
use tokio::time::{Instant, Sleep};

use super::{
    decode::zero,
    fault::Fault,
    meta,
    read::selector,
    request::{self, Form, Query, Target},
    selectors::Selector,
    state::{Inner, State},
    store::{Entry, Object},
};

/// The interval of bookmarks of a watch without events.
const BOOKMARK: Duration = Duration::from_mins(1);
/// The default timeout of a watch.
const TIMEOUT: Duration = Duration::from_mins(40);

/// An open watch.
pub(super) struct Watch {
    server: Arc<Inner>,
    id: u64,
    client: u64,
    target: Target,
    selector: Selector,
    form: Form,
    /// The last revision that was delivered or passed over.
    seen: u64,
    /// The initial events.
    first: Vec<Bytes>,
    bookmarks: bool,
    next_bookmark: Instant,
    deadline: Instant,
    cuts: u64,
    compactions: u64,
    ended: bool,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Watch {
    /// Opens one.
    pub(super) fn open(
        server: &Arc<Inner>,
        state: &mut State,
        (client, target): (u64, &Target),
        query: &Query,
        form: Form,
    ) -> Result<Self, Fault> {
        request::check_list(query)?;
        let selector = selector(target, query)?;
        let requested = query
            .number("resourceVersion")
            .map_err(|_| Fault::internal("resourceVersion is not a number"))?;
        let lasts = query.number("timeoutSeconds")?.map_or(TIMEOUT, Duration::from_secs);
        let now = Instant::now();
        let sends_all = query.is_true("sendInitialEvents")
            || (matches!(requested, None | Some(0)) && query.get("sendInitialEvents").is_none());
        state.next_watch += 1;
        let mut watch = Self {
            server: server.clone(),
            id: state.next_watch,
            client,
            target: target.clone(),
            selector,
            form,
            seen: requested.unwrap_or_default(),
            first: Vec::new(),
            bookmarks: query.is_true("allowWatchBookmarks"),
            next_bookmark: now + BOOKMARK,
            deadline: now + lasts,
            cuts: state.cuts(client),
            compactions: state.compactions,
            ended: false,
            sleep: None,
        };
        let newest = state.store.revision;
        if sends_all && watch.seen > newest {
            watch.fail(&Fault::too_large_version(watch.seen, newest));
        } else if sends_all {
            watch.seen = state.store.revision;
            let objects =
                state.store.table(target.kind.index).into_iter().flat_map(|table| table.objects.values());
            let of = objects.filter(|object| watch.selector.matches(&object.value));
            watch.first = of.map(|object| line("ADDED", &object.bytes(form))).collect();
            if watch.bookmarks {
                watch.first.push(watch.bookmark(true));
            }
            watch.first.reverse();
        } else if watch.seen == 0 {
            watch.seen = state.store.revision;
        } else if watch.seen < state.store.compacted {
            watch.expire(state);
        }
        Ok(watch)
    }

    /// The watched kind.
    pub(super) fn kind(&self) -> &str {
        &self.target.kind.kind
    }

    /// Ends with an error that makes the watcher list again.
    fn expire(&mut self, state: &State) {
        let message = format!("too old resource version: {} ({})", self.seen, state.store.compacted);
        self.fail(&Fault::expired(message));
    }

    fn fail(&mut self, fault: &Fault) {
        self.first = vec![line("ERROR", &Bytes::from(fault.body().to_string()))];
        self.ended = true;
    }

    fn bookmark(&self, ends_initial: bool) -> Bytes {
        let (kind, api_version) = match self.form {
            Form::Full | Form::Item => (self.target.kind.kind.clone(), self.target.kind.api_version()),
            Form::Metadata => ("PartialObjectMetadata".to_owned(), "meta.k8s.io/v1".to_owned()),
        };
        let mut metadata = json!({"resourceVersion": self.seen.to_string()});
        if ends_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        if self.form != Form::Metadata {
            for (field, value) in zero(&self.target.kind) {
                object[field] = value;
            }
        }
        line("BOOKMARK", &Bytes::from(object.to_string()))
    }

    /// The next event for this watch; otherwise when to check again.
    fn next(&mut self, state: &State, now: Instant) -> Result<Bytes, Option<Instant>> {
        let lag = state.lag(self.client, self.target.kind.index);
        let Some(table) = state.store.table(self.target.kind.index) else { return Err(None) };
        let from = table.history.partition_point(|entry| entry.revision <= self.seen);
        for entry in table.history.range(from..) {
            let due = entry.at + lag;
            if due > now {
                return Err(Some(due));
            }
            self.seen = entry.revision;
            if let Some(event) = event(entry, &self.selector, self.form) {
                return Ok(event);
            }
        }
        // Nothing of this kind is missing.
        self.seen = self.seen.max(state.store.revision);
        Err(None)
    }

    /// The next event, or the end of the watch.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let server = self.server.clone();
        loop {
            let mut state = server.state.lock();
            if state.cuts(self.client) != self.cuts && !self.ended {
                self.ended = true;
                self.first.clear();
                let why = io::Error::new(io::ErrorKind::ConnectionReset, "the watch was cut");
                return Poll::Ready(Some(Err(why)));
            }
            if let Some(first) = self.first.pop() {
                return Poll::Ready(Some(Ok(first)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            if state.compactions != self.compactions {
                self.compactions = state.compactions;
                self.expire(&state);
                continue;
            }
            let now = Instant::now();
            let look_again = match self.next(&state, now) {
                Ok(event) => return Poll::Ready(Some(Ok(event))),
                Err(look_again) => look_again,
            };
            if now >= self.deadline {
                self.ended = true;
                continue;
            }
            let mut wake_at = self.deadline;
            if self.bookmarks {
                if now >= self.next_bookmark {
                    self.next_bookmark = now + BOOKMARK;
                    return Poll::Ready(Some(Ok(self.bookmark(false))));
                }
                wake_at = wake_at.min(self.next_bookmark);
            }
            wake_at = look_again.map_or(wake_at, |at| wake_at.min(at));
            state.sleep(self.target.kind.index, self.id, context.waker().clone());
            drop(state);
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(wake_at)));
            if sleep.deadline() != wake_at {
                sleep.as_mut().reset(wake_at);
            }
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.server.state.lock().forget(self.target.kind.index, self.id);
    }
}

/// The event of a write for a watch with a selector: an object that starts or stops matching is added or deleted.
fn event(entry: &Entry, selector: &Selector, form: Form) -> Option<Bytes> {
    let was = entry.before.as_ref().is_some_and(|before| selector.matches(&before.value));
    let is = !entry.deleted && selector.matches(&entry.after.value);
    match (was, is) {
        (false, false) => None,
        (false, true) => Some(line("ADDED", &entry.after.bytes(form))),
        (true, true) => Some(line("MODIFIED", &entry.after.bytes(form))),
        (true, false) if entry.deleted => Some(line("DELETED", &entry.after.bytes(form))),
        (true, false) => Some(line("DELETED", &no_longer_selected(entry)?.bytes(form))),
    }
}

/// The last version that was selected, with the revision of the one that is not.
fn no_longer_selected(entry: &Entry) -> Option<Object> {
    let before = entry.before.as_ref()?;
    let mut value = (*before.value).clone();
    meta::set(&mut value, "resourceVersion", entry.revision.to_string().into());
    Some(Object::new(value, before.managed.clone(), false))
}

fn line(type_: &str, object: &Bytes) -> Bytes {
    let head = format!("{{\"type\":\"{type_}\",\"object\":");
    let mut text = Vec::with_capacity(head.len() + object.len() + 2);
    text.extend_from_slice(head.as_bytes());
    text.extend_from_slice(object);
    text.extend_from_slice(b"}\n");
    text.into()
}
