//! Events on the objects that users look at. They are a courtesy: one that cannot be written is logged and
//! forgotten.

use std::fmt;

use k8s_openapi::api::core::v1::ObjectReference;
pub use kube::runtime::events::EventType;
use kube::{
    Client,
    runtime::events::{Event, Recorder, Reporter},
};

use crate::errors::one_line;

/// The API server refuses a longer note (in bytes).
const NOTE_MAX: usize = 1024;
/// What says that a note was cut.
const CUT: &str = "...";

/// Publishes events. Cloning it gives another handle of the same publisher.
#[derive(Clone)]
pub struct Events {
    recorder: Recorder,
}

impl Events {
    /// Events of the controller `name`, told apart from its other replicas' by `instance`.
    pub fn new(client: Client, name: &str, instance: &str) -> Self {
        let reporter = Reporter { controller: name.to_owned(), instance: Some(instance.to_owned()) };
        Self { recorder: Recorder::new(client, reporter) }
    }

    /// Publishes one event about `object`. `reason` and `action` are CamelCase words of at most 128 bytes;
    /// `note` is for people and is cut at 1024 bytes.
    ///
    /// An event that repeats type, reason and action on the same object within 6 minutes is counted onto the
    /// first one, and keeps its note.
    pub async fn publish(
        &self,
        object: &ObjectReference,
        type_: EventType,
        reason: &str,
        action: &str,
        note: &str,
    ) {
        let event = Event {
            type_,
            reason: reason.to_owned(),
            action: action.to_owned(),
            note: Some(bounded(note)),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, object).await {
            let name = object.name.as_deref().unwrap_or_default();
            let namespace = object.namespace.as_deref().unwrap_or_default();
            let kind = object.kind.as_deref().unwrap_or_default();
            tracing::warn!(kind, namespace, name, reason, "failed to publish an event: {}", one_line(&error));
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

/// The note as the API server takes it.
fn bounded(note: &str) -> String {
    if note.len() <= NOTE_MAX {
        return note.to_owned();
    }
    let end = note.floor_char_boundary(NOTE_MAX - CUT.len());
    format!("{}{CUT}", &note[..end])
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use tower::service_fn;

    use super::*;

    #[test]
    fn a_long_note_is_cut_between_characters() {
        assert_eq!(bounded("short"), "short");
        let cut = bounded(&"é".repeat(600));
        assert!(cut.len() <= NOTE_MAX && cut.ends_with("é..."), "{}", cut.len());
    }

    #[tokio::test]
    async fn an_event_that_cannot_be_written_harms_nobody() {
        let server = service_fn(|_: Request<Body>| async {
            Err::<Response<Body>, _>(std::io::Error::other("connection refused"))
        });
        let events = Events::new(Client::new(server, "default"), "kraken-test", "pod-0");
        let object = ObjectReference { name: Some("a".to_owned()), ..ObjectReference::default() };
        events.publish(&object, EventType::Normal, "Created", "Create", "made it").await;
    }
}
