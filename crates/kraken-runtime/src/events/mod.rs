//! Events on users' objects: actions, their time and their results.
//!
//! kube-runtime's recorder aggregates all events with the same reason and keeps the first note: an outdated id, or an
//! old plan's hash. Here only events with the same reason **and** the same note are aggregated. An event that cannot be
//! written is logged and dropped.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use crate::hash::HashMap;

use k8s_openapi::{
    api::{
        core::v1::ObjectReference,
        events::v1::{Event, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
pub use kube::runtime::events::EventType;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    errors::one_line,
    patch::{ApiError, within},
};

/// The maximum length of a note that the API server accepts, in bytes.
const NOTE_MAX: usize = 1024;
/// The suffix of a truncated note.
const CUT: &str = "...";
/// The time within which equal events are aggregated; Kubernetes uses a similar time for its series.
const SERIES: Duration = Duration::from_mins(6);
/// The maximum length of a name in Kubernetes, minus the suffix that makes an event's name unique.
const NAME_MAX: usize = 253 - 17;

/// Publishes events. Cloning it gives another handle of the same publisher.
#[derive(Clone)]
pub struct Events {
    client: Client,
    controller: Arc<str>,
    instance: Arc<str>,
    recent: Arc<Mutex<Recent>>,
    /// Makes the names of events of the same nanosecond unique.
    last_name: Arc<AtomicI64>,
}

/// The key by which events are aggregated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct EventKey {
    /// UID, kind, namespace and name of the object.
    object: [String; 4],
    type_: EventType,
    reason: String,
    action: String,
    note: String,
}

/// A recently written event.
#[derive(Clone, Debug)]
struct Written {
    name: String,
    count: i32,
    last: Instant,
}

/// The events that the next one can be aggregated with.
#[derive(Debug, Default)]
struct Recent {
    written: HashMap<EventKey, Written>,
    /// When old events were last dropped: checking all of them for each event would be too expensive.
    swept: Option<Instant>,
}

impl Events {
    /// Events of the controller `name`; `instance` identifies the replica.
    pub fn new(client: Client, name: &str, instance: &str) -> Self {
        Self {
            client,
            controller: name.into(),
            instance: instance.into(),
            recent: Arc::default(),
            last_name: Arc::default(),
        }
    }

    /// Publishes one event about `object`. `reason` and `action` are CamelCase words of at most 128 bytes; `note` is
    /// for users and is truncated at 1024 bytes.
    ///
    /// An event that equals an event of the last 6 minutes, including its note, is aggregated with it. A changed note
    /// is a new event.
    pub async fn publish(
        &self,
        object: &ObjectReference,
        type_: EventType,
        reason: &str,
        action: &str,
        note: &str,
    ) {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let key = EventKey {
            object: [text(&object.uid), text(&object.kind), text(&object.namespace), text(&object.name)],
            type_,
            reason: reason.to_owned(),
            action: action.to_owned(),
            note: bounded(note),
        };
        if let Err(error) = self.write(object, key).await {
            let name = object.name.as_deref().unwrap_or_default();
            let namespace = object.namespace.as_deref().unwrap_or_default();
            let kind = object.kind.as_deref().unwrap_or_default();
            if error.is_namespace_terminating() {
                // Kubernetes rejects events in it. This message is only in the log.
                tracing::info!(
                    kind,
                    namespace,
                    name,
                    reason,
                    note,
                    "an event in a namespace that is being deleted"
                );
            } else {
                tracing::warn!(
                    kind,
                    namespace,
                    name,
                    reason,
                    "failed to publish an event: {}",
                    one_line(&error)
                );
            }
        }
    }

    async fn write(&self, object: &ObjectReference, key: EventKey) -> Result<(), ApiError> {
        let namespace = object.namespace.as_deref().unwrap_or("default");
        let api: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let before = self.recent.lock().find(&key);
        if let Some(before) = before {
            let count = before.count.saturating_add(1);
            match self.count(&api, &before.name, count).await {
                Ok(()) => {
                    self.recent.lock().note(key, Written { count, last: Instant::now(), ..before });
                    return Ok(());
                }
                // It expired or was deleted: create a new event.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let event = self.event(object, &key);
        let name = event.metadata.name.clone().unwrap_or_default();
        within("publish an event", api.create(&PostParams::default(), &event)).await?;
        self.recent.lock().note(key, Written { name, count: 1, last: Instant::now() });
        Ok(())
    }

    async fn count(&self, api: &Api<Event>, name: &str, count: i32) -> Result<(), ApiError> {
        let series = EventSeries { count, last_observed_time: MicroTime(crate::clock::now()) };
        let patch = Patch::Merge(json!({"series": series}));
        within("publish an event", api.patch(name, &PatchParams::default(), &patch)).await.map(drop)
    }

    fn event(&self, object: &ObjectReference, key: &EventKey) -> Event {
        let now = crate::clock::now();
        let nanos = i64::try_from(now.as_nanosecond()).unwrap_or_default();
        let mut unique = nanos;
        let _ = self.last_name.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
            unique = nanos.max(last.saturating_add(1));
            Some(unique)
        });
        let about = object.name.as_deref().unwrap_or(&self.controller);
        let about = about[..about.floor_char_boundary(NAME_MAX)].trim_end_matches(['-', '.']);
        Event {
            metadata: ObjectMeta {
                namespace: object.namespace.clone(),
                name: Some(format!("{about}.{unique:x}")),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            regarding: Some(object.clone()),
            type_: Some(match key.type_ {
                EventType::Normal => "Normal".to_owned(),
                EventType::Warning => "Warning".to_owned(),
            }),
            reason: Some(key.reason.clone()),
            action: Some(key.action.clone()),
            note: Some(key.note.clone()),
            reporting_controller: Some(self.controller.to_string()),
            reporting_instance: Some(self.instance.to_string()),
            ..Event::default()
        }
    }
}

impl Recent {
    fn find(&self, key: &EventKey) -> Option<Written> {
        self.written.get(key).filter(|written| written.last.elapsed() < SERIES).cloned()
    }

    fn note(&mut self, key: EventKey, written: Written) {
        if self.swept.is_none_or(|swept| swept.elapsed() >= SERIES) {
            self.written.retain(|_, written| written.last.elapsed() < SERIES);
            self.swept = Some(Instant::now());
        }
        self.written.insert(key, written);
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

/// The note, within the limit of the API server.
fn bounded(note: &str) -> String {
    if note.len() <= NOTE_MAX {
        return note.to_owned();
    }
    let end = note.floor_char_boundary(NOTE_MAX - CUT.len());
    format!("{}{CUT}", &note[..end])
}

#[cfg(test)]
mod tests;
