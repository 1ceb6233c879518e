//! Publishes one event for each action on remote objects, after the action: the events are the audit trail. Client
//! required.

use kraken_api::reasons::Reason;
use kraken_model::secrecy::scrubbed_text;
use kraken_runtime::events::EventType;
use kube::Resource;

use crate::context::Reconcile;

/// Records an action on the remote objects of this resource.
pub(crate) async fn publish_event(reconcile: &Reconcile<'_>, reason: Reason, note: &str) {
    let Reconcile { context, object, .. } = reconcile;
    let (reference, action) = (object.object_ref(&context.info().resource), action_of(reason));
    // The provider may have returned a value of a Secret, which the note quotes.
    let note = scrubbed_text(note, &reconcile.memory.secrets.texts);
    context.manager.events.publish(&reference, EventType::Normal, reason.as_str(), action, &note).await;
}

/// The verb of an event's `action`.
fn action_of(reason: Reason) -> &'static str {
    match reason {
        Reason::Created => "Create",
        Reason::Scaled => "Scale",
        Reason::Updated => "Update",
        Reason::Replaced => "Replace",
        Reason::Deleted => "Delete",
        Reason::Released => "Release",
        Reason::Adopted => "Adopt",
        Reason::TakenOver => "TakeOver",
        Reason::DriftReverted => "Revert",
        _ => "Reconcile",
    }
}
