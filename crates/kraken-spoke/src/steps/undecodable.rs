//! Objects that do not decode as their kind: an older or newer CRD let them in. They are reported, and a deletion is still
//! carried out: it needs who the object is and which ids its status has, read from the JSON as it is. Client required.

use kraken_api::{Deletion, Lifecycle, conditions, reasons::Reason};
use kraken_runtime::{
    events::EventType,
    patch::{Version, replace_status, within},
    queue::{Lane, Requeue},
    watch::ObjectKey,
    work::Slot,
};
use kube::{Api, Resource, ResourceExt, api::DynamicObject, core::ApiResource};
use serde_json::{Value, json};
use tracing::warn;

use crate::{
    External, Identity,
    context::Context,
    fates::Fates,
    intent::{Clock, Intent},
    memory::Memory,
    outcome::{Outcome, listed, refused},
    steps::{
        location,
        observe::{Known, Shown, has_finalizer, is_outstanding, observe, union},
        references::{self, Expected},
        remove::{take_finalizer_off, unblocked},
        retag::claim,
    },
};

/// What `spec.lifecycle` says of a deletion, whatever else does not decode. What cannot be read forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    /// Nothing is touched.
    paused: bool,
    protect: bool,
    /// What the resource says for all of its objects, if it does.
    deletion: Option<Deletion>,
    /// Each deletion waits for a person.
    manual: bool,
}

impl Rules {
    fn of(object: &Value) -> Self {
        let (spec, lifecycle) = (&object["spec"], &object["spec"]["lifecycle"]);
        let is_readable = |value: &Value| value.is_null() || value.is_object();
        let is_on = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        let unreadable = !is_readable(spec) || !is_readable(lifecycle);
        Self {
            paused: is_on(&lifecycle["paused"]),
            protect: unreadable || is_on(&lifecycle["protect"]),
            deletion: match &lifecycle["deletion"] {
                // Adopting, it may have adopted everything.
                Value::Null if !lifecycle["adopt"].is_null() && object["status"]["adopted"].is_null() => {
                    Some(Deletion::Retain)
                }
                Value::Null => None,
                Value::String(text) if text == "Delete" => Some(Deletion::Delete),
                _ => Some(Deletion::Retain),
            },
            manual: !matches!(&lifecycle["approval"], Value::Null)
                && lifecycle["approval"].as_str() != Some("Automatic"),
        }
    }
}

/// One run for such an object. `error` says why it does not decode.
pub(crate) async fn run<E: External>(
    context: &Context<E>,
    key: &ObjectKey,
    error: &str,
    slot: &mut Slot,
) -> Requeue {
    let api = api_of::<E>(context, key);
    let object = match within("read an object", api.get_opt(&key.name)).await {
        Ok(Some(object)) => object,
        Ok(None) => {
            context.undecodable.lock().remove(key);
            context.memories.forget(key);
            return match references::release_of(context, key, Expected::IfUnselected).await {
                Ok(()) => Requeue::Never,
                Err(_) => Requeue::Backoff,
            };
        }
        Err(error) => {
            warn!(namespace = &*key.namespace, name = &*key.name, %error, "failed to read an object that does not decode");
            return Requeue::Backoff;
        }
    };
    let unreadable = format!("this object cannot be read as {}: {error}", E::Kind::kind(&()));
    if object.metadata.deletion_timestamp.is_none() {
        if report(context, &api, &object, Reason::InvalidSpec, &unreadable).await {
            warn!(
                namespace = &*key.namespace,
                name = &*key.name,
                error,
                "an object does not decode and is passed over"
            );
        }
        return Requeue::Never;
    }
    let uid = object.uid().unwrap_or_default();
    let mut memory = context.memories.take(key, &uid);
    let outcome = remove(context, &api, &object, &mut memory, slot).await;
    let requeue = match &outcome {
        Outcome::InProgress(Reason::AwaitingApproval, _) => Requeue::Never,
        outcome => outcome.requeue(None, memory.count_refusals(outcome)),
    };
    if matches!(outcome, Outcome::Removed) {
        // It counts as unreadable until the watch says that it is gone: the store still has its last readable form.
        context.memories.forget(key);
        return Requeue::Never;
    }
    context.memories.put(key.clone(), uid, memory);
    let (_, reason, message) = outcome.ready();
    report(context, &api, &object, reason, &format!("{message}; besides, {unreadable}")).await;
    requeue
}

fn api_of<E: External>(context: &Context<E>, key: &ObjectKey) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<E::Kind>(&());
    Api::namespaced_with(context.shell.client.clone(), &key.namespace, &resource)
}

/// One step towards the end of it, as `remove` takes it for an object that decodes.
async fn remove<E: External>(
    context: &Context<E>,
    api: &Api<DynamicObject>,
    object: &DynamicObject,
    memory: &mut Memory<E::Kind>,
    slot: &mut Slot,
) -> Outcome {
    let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
    if !has_finalizer(object) {
        return Outcome::Removed;
    }
    let intent = Intent::of(object);
    let rules = Rules::of(&object.data);
    if rules.paused {
        return Outcome::Paused;
    }
    let there = serde_json::from_value(object.data["status"]["location"].clone()).ok();
    let there = there.or_else(|| intent.as_ref().and_then(|intent| intent.location.clone()));
    if let Err(outcome) = location::agreed(context, there).await {
        return outcome;
    }
    let clock = memory.clock(context.visibility_window);
    let mut known = known(&object.data, intent.as_ref(), memory, clock);
    let lifecycle = Lifecycle { deletion: rules.deletion, ..Lifecycle::default() };
    let fates = Fates { lifecycle: &lifecycle, adopted: adopted(&object.data, intent.as_ref()) };
    let expects_deletion = fates.deletes_any(&known.ids);
    if expects_deletion && let Err(outcome) = permitted(context, (&namespace, &name), rules, memory).await {
        return outcome;
    }
    let identity = Identity {
        cluster: context.shell.cluster_id.clone(),
        uid: object.uid().unwrap_or_default(),
        owner: format!("{}/{namespace}/{name}", E::Kind::kind(&())),
    };
    let observed = match slot.lend(observe(context, Lane::Edit, &identity, &known, true, false)).await {
        Ok(observed) => observed,
        Err(failure) => return Outcome::Failed(failure),
    };
    let untagged: Vec<String> = E::untagged(&observed).into_iter().filter(|id| !fates.keeps(id)).collect();
    if !untagged.is_empty() {
        let facts = (intent.as_ref(), &known, None);
        return match claim(context, memory, &identity, &observed, &untagged, facts).await {
            Ok(note) => Outcome::InProgress(Reason::Deleting, note),
            Err(failure) => Outcome::Failed(failure),
        };
    }
    let shown = Shown::of::<E>(&observed, &known, memory, intent.as_ref(), clock);
    known.confirm(&shown, intent.as_ref());
    let is_unseen = memory.is_vanishing(&shown.vanished)
        || !shown.unseen.is_empty()
        || is_outstanding(intent.as_ref(), known.epoch, memory, clock);
    let kept: Vec<String> = E::shown(&observed).into_iter().filter(|id| fates.keeps(id)).collect();
    let (kept, doomed) = E::select(observed, &kept);
    if !E::is_gone(&doomed) {
        if !expects_deletion
            && let Err(outcome) = permitted(context, (&namespace, &name), rules, memory).await
        {
            return outcome;
        }
        return delete(context, object, memory, &identity, &doomed).await;
    }
    if is_unseen {
        let message = "waiting until the last launch must be visible".to_owned();
        return Outcome::InProgress(Reason::Deleting, message);
    }
    let ids = E::ids(&kept);
    if ids.is_empty() {
        return finish(context, api, object, Reason::Deleted, "everything is gone").await;
    }
    if let Err(failure) = context.external.release(&identity, &kept).await {
        return Outcome::Failed(failure);
    }
    memory.released(&ids);
    let note = format!("kept {}, without Kraken's tags", listed(&ids));
    finish(context, api, object, Reason::Released, &note).await
}

/// Whether anything may be deleted now.
async fn permitted<E: External>(
    context: &Context<E>,
    (namespace, name): (&str, &str),
    rules: Rules,
    memory: &Memory<E::Kind>,
) -> Result<(), Outcome> {
    if rules.protect {
        let message = "spec.lifecycle.protect is true: set it to false to let the deletion go on";
        return Err(Outcome::Protected(message.to_owned()));
    }
    if rules.manual {
        let message = "the deletion waits for an approval, and there is no plan of an object that cannot be read: \
                       correct it, or set spec.lifecycle.approval to Automatic";
        return Err(Outcome::InProgress(Reason::AwaitingApproval, message.to_owned()));
    }
    unblocked(context, (namespace, name), memory).await
}

/// Asks for the deletion of what is left, or waits for it.
async fn delete<E: External>(
    context: &Context<E>,
    object: &DynamicObject,
    memory: &mut Memory<E::Kind>,
    identity: &Identity,
    doomed: &E::Observed,
) -> Outcome {
    let ids = E::ids(doomed);
    if ids.is_empty() {
        return Outcome::InProgress(Reason::Deleting, "waiting for the deletion in the cloud".to_owned());
    }
    let is_first = memory.deleted.is_none();
    match context.external.delete(identity, doomed).await {
        Ok(()) => {
            memory.deleted = memory.deleted.max(Some(E::epoch(doomed)));
            memory.deleting(&ids);
            if is_first {
                let note = format!("asked for the deletion of {}", listed(&ids));
                record::<E>(context, object, Reason::Deleted, &note).await;
            }
            Outcome::InProgress(Reason::Deleting, format!("deleting {}", listed(&ids)))
        }
        Err(failure) => refused(failure, Reason::Deleting),
    }
}

/// The ids that existed before the resource.
fn adopted(object: &Value, intent: Option<&Intent>) -> Vec<String> {
    let of_status = object["status"]["adopted"].as_array().into_iter().flatten();
    let of_status = of_status.filter_map(Value::as_str).map(str::to_owned).collect();
    union(of_status, intent.map(|intent| intent.adopted.as_slice()).unwrap_or_default())
}

/// What the status and the process know of its remote objects.
fn known<K>(object: &Value, intent: Option<&Intent>, memory: &Memory<K>, clock: Clock) -> Known {
    let status = &object["status"];
    let ids = status["externalIds"].as_array().into_iter().flatten();
    let ids = ids.filter_map(Value::as_str).map(str::to_owned).collect();
    let epoch = status["epoch"].as_i64().unwrap_or_default();
    let epoch = epoch.max(memory.created.as_ref().map_or(0, |(epoch, _)| *epoch));
    let outstanding = is_outstanding(intent, epoch, memory, clock);
    Known { ids, epoch, outstanding, may_exist: true }
}

async fn finish<E: External>(
    context: &Context<E>,
    api: &Api<DynamicObject>,
    object: &DynamicObject,
    reason: Reason,
    note: &str,
) -> Outcome {
    match take_finalizer_off(api, context.shell.name, object).await {
        Ok(()) => {}
        Err(error) if error.is_not_found() => {}
        Err(error) => return Outcome::Kubernetes(error),
    }
    record::<E>(context, object, reason, note).await;
    let key = ObjectKey::of(&object.metadata);
    if let Err(error) = references::release_of(context, &key, Expected::Yes).await {
        // The end of the object wakes us once more.
        warn!(namespace = &*key.namespace, name = &*key.name, %error, "failed to release the DependencyRequest");
    }
    Outcome::Removed
}

async fn record<E: External>(context: &Context<E>, object: &DynamicObject, reason: Reason, note: &str) {
    let about = object.object_ref(&ApiResource::erase::<E::Kind>(&()));
    let action = if reason == Reason::Released { "Release" } else { "Delete" };
    context.shell.events.publish(&about, EventType::Normal, reason.as_str(), action, note).await;
}

/// Writes the Ready condition and leaves the rest of the status as it is: the ids in it are all that is known of the remote
/// objects. Returns whether that was news.
async fn report<E: External>(
    context: &Context<E>,
    api: &Api<DynamicObject>,
    object: &DynamicObject,
    reason: Reason,
    message: &str,
) -> bool {
    let mut status = object.data["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let before = status.clone();
    let mut list = serde_json::from_value(status["conditions"].clone()).unwrap_or_default();
    let (state, reason, generation) = (conditions::State::False, reason.as_str(), object.metadata.generation);
    conditions::set(
        &mut list,
        conditions::READY,
        state,
        reason,
        message,
        generation,
        kraken_runtime::clock::now(),
    );
    status["conditions"] = json!(list);
    status["observedGeneration"] = json!(generation);
    if status == before {
        return false;
    }
    let (name, version) = (object.name_any(), Version::of(object));
    if let Err(error) = replace_status(api, context.shell.name, &name, &version, status).await {
        let namespace = object.namespace().unwrap_or_default();
        warn!(namespace, name, %error, "failed to report that an object does not decode");
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(lifecycle: Value) -> Rules {
        Rules::of(&json!({"spec": {"size": "not a number", "lifecycle": lifecycle}}))
    }

    #[test]
    fn what_can_be_read_of_the_lifecycle_is_obeyed() {
        let free = Rules { paused: false, protect: false, deletion: None, manual: false };
        assert_eq!(rules(Value::Null), free);
        let told = Rules { deletion: Some(Deletion::Delete), ..free };
        assert_eq!(rules(json!({"resyncInterval": 7, "protect": false, "deletion": "Delete"})), told);
        assert!(rules(json!({"paused": true})).paused);
        assert!(rules(json!({"protect": true})).protect);
        assert_eq!(rules(json!({"deletion": "Retain"})).deletion, Some(Deletion::Retain));
        assert!(rules(json!({"approval": "Manual"})).manual);
        let adopting = rules(json!({"adopt": {"id": "i-1"}}));
        assert_eq!(adopting.deletion, Some(Deletion::Retain), "what may have been adopted is kept");
    }

    #[test]
    fn what_cannot_be_read_forbids() {
        assert!(rules(json!({"protect": "yes", "paused": "true"})).protect);
        assert!(rules(json!({"paused": "true"})).paused);
        assert_eq!(rules(json!({"deletion": 7})).deletion, Some(Deletion::Retain));
        assert!(rules(json!({"approval": 7})).manual);
        assert!(rules(json!("protect: true")).protect);
        assert!(Rules::of(&json!({"spec": []})).protect);
    }

    #[test]
    fn ids_are_read_from_the_status_as_it_is() {
        let object = json!({"status": {"externalIds": ["i-1", 7, "i-2"], "epoch": 3, "conditions": "oh"}});
        let memory = Memory::<()>::default();
        let known = known(&object, None, &memory, memory.clock(std::time::Duration::ZERO));
        assert_eq!((known.ids, known.epoch, known.outstanding), (vec!["i-1".into(), "i-2".into()], 3, false));
    }
}
