//! Objects that do not decode as their kind, because an older or newer CRD accepted them. They are reported, and a
//! deletion is still carried out, by the same step as for any other object: it needs the identity of the object, the
//! ids in its status, and what its lifecycle forbids, all read from the JSON as far as it decodes. Client required.

use std::sync::Arc;

use kraken_api::{Approval, Deletion, Lifecycle, ResourceStatus, conditions, reasons::Reason};
use kraken_runtime::{
    patch::{ApiError, Version, replace_status, within},
    queue::Requeue,
    watch::{ObjectKey, RawObject},
    work::Slot,
};
use kube::{Api, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json, value::RawValue};
use tracing::warn;

use crate::{
    context::{Context, Reconcile},
    controller::isolate,
    dynamic::{Object, Spec, account_of},
    model::{
        intent::Intent,
        memory::Memory,
        outcome::{Outcome, attributed},
        recorded::has_finalizer,
        release_policy::{ReleasePolicy, adopted},
    },
    steps::{connect, remove::remove},
};

/// A spec of which only the lifecycle was decoded, as far as a deletion needs it.
#[derive(Clone, Debug)]
pub(crate) struct Unreadable(Lifecycle);

impl Spec for Unreadable {
    fn lifecycle(&self) -> &Lifecycle {
        &self.0
    }

    fn json(&self) -> Value {
        Value::Null
    }
}

/// The deletion options of `spec.lifecycle`, whatever else does not decode. A value that does not decode forbids the
/// deletion.
fn lifecycle_of(spec: &Value, status: &Value) -> Lifecycle {
    let lifecycle = &spec["lifecycle"];
    let is_readable = |value: &Value| value.is_null() || value.is_object();
    let is_on = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    let unreadable = !is_readable(spec) || !is_readable(lifecycle);
    Lifecycle {
        paused: is_on(&lifecycle["paused"]),
        protect: unreadable || is_on(&lifecycle["protect"]),
        deletion: match &lifecycle["deletion"] {
            // An adopting resource may have adopted all its objects.
            Value::Null if !lifecycle["adopt"].is_null() && status["adopted"].is_null() => {
                Some(Deletion::Retain)
            }
            Value::Null => None,
            Value::String(text) if text == "Delete" => Some(Deletion::Delete),
            _ => Some(Deletion::Retain),
        },
        approval: match lifecycle["approval"].as_str() {
            None if lifecycle["approval"].is_null() => Approval::Automatic,
            Some("Automatic") => Approval::Automatic,
            _ => Approval::Manual,
        },
        ..Lifecycle::default()
    }
}

/// A member of the object as JSON.
fn json_of(member: Option<&RawValue>) -> Value {
    RawObject::decode(member).unwrap_or_default()
}

/// What the status records of the remote objects.
fn status_of(status: &Value) -> ResourceStatus {
    fn member<T: DeserializeOwned>(status: &Value, name: &str) -> Option<T> {
        serde_json::from_value(status[name].clone()).ok()
    }
    let texts = |name: &str| {
        let texts = status[name].as_array().into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    ResourceStatus {
        external_ids: texts("externalIds"),
        adopted: texts("adopted"),
        epoch: member(status, "epoch"),
        record_digest: member(status, "recordDigest"),
        replaced_before: member(status, "replacedBefore"),
        location: member(status, "location"),
        ..ResourceStatus::default()
    }
}

/// One reconcile of such an object. `error` states why it does not decode.
pub(crate) async fn run(context: &Arc<Context>, key: &ObjectKey, error: &str, slot: &mut Slot) -> Requeue {
    let api = context.api(&key.namespace);
    let object = match within("read an object", api.get_opt(&key.name)).await {
        Ok(Some(object)) => object,
        Ok(None) => {
            context.undecodable.lock().remove(key);
            return isolate::forget(context, key).await;
        }
        Err(error) => {
            warn!(namespace = &*key.namespace, name = &*key.name, %error, "failed to read an object that does not decode");
            return Requeue::Backoff;
        }
    };
    let unreadable = format!("this object does not decode as {}: {error}", context.info().name);
    if object.metadata.deletion_timestamp.is_none() {
        return match report(context, &api, &object, Reason::InvalidSpec, &unreadable).await {
            Ok(true) => {
                warn!(
                    namespace = &*key.namespace,
                    name = &*key.name,
                    error,
                    "object does not decode; skipped"
                );
                Requeue::Never
            }
            Ok(false) => Requeue::Never,
            // Nothing else triggers another attempt.
            Err(_) => Requeue::Backoff,
        };
    }
    let uid = object.uid().unwrap_or_default();
    let mut memory = context.memories.take(key, &uid);
    let outcome = removed(context, &object, &mut memory, slot).await;
    let requeue = match &outcome {
        Outcome::InProgress(Reason::AwaitingApproval, _) => Requeue::Never,
        outcome => outcome.requeue(None, memory.count_refusals(outcome)),
    };
    if matches!(outcome, Outcome::Removed) {
        // It counts as undecodable until the watch reports its deletion: the store still has its last decoded form.
        context.memories.removed(key, uid, &memory, has_finalizer(&object));
        return Requeue::Never;
    }
    context.memories.put(key.clone(), uid, memory);
    let (_, reason, message) = outcome.ready();
    match report(context, &api, &object, reason, &format!("{message}; {unreadable}")).await {
        Err(_) if matches!(requeue, Requeue::Never) => Requeue::Backoff,
        _ => requeue,
    }
}

/// One step of its deletion, as for any object that is being deleted.
async fn removed(
    context: &Arc<Context>,
    object: &RawObject,
    memory: &mut Memory,
    slot: &mut Slot,
) -> Outcome {
    let account = match context.info().accounts.map_or(Ok(None), |_| account_of(object.spec.as_deref())) {
        Ok(account) => account,
        Err(why) => return Outcome::Account(Reason::AccountNotFound, why),
    };
    let (spec, status) = (json_of(object.spec.as_deref()), json_of(object.status.as_deref()));
    let (spec, status) = (Unreadable(lifecycle_of(&spec, &status)), status_of(&status));
    let object = Object::new(object.metadata.clone(), spec, Some(status)).using(account);
    if awaits_approval(&object) {
        let message = "the deletion requires approval, and an object that does not decode has no plan: \
                       correct it, or set spec.lifecycle.approval to Automatic";
        return Outcome::InProgress(Reason::AwaitingApproval, message.to_owned());
    }
    let mut reconcile = Reconcile::new(context.clone(), Arc::new(object), memory, slot);
    if let Err(outcome) = connect::open(&mut reconcile).await {
        return outcome;
    }
    let outcome = remove(&mut reconcile).await;
    attributed(outcome, reconcile.context.rules.as_deref())
}

/// Whether a person would have to approve the deletion.
fn awaits_approval(object: &Object) -> bool {
    let lifecycle = object.lifecycle();
    let adopted = adopted(object.status.as_ref(), None);
    let intent = Intent::of(object);
    let policy = ReleasePolicy::of(lifecycle, &adopted, intent.as_ref());
    let ids = object.status.as_ref().map(|status| status.external_ids.as_slice()).unwrap_or_default();
    let is_next = has_finalizer(object) && !lifecycle.paused && !lifecycle.protect;
    is_next && lifecycle.approval == Approval::Manual && policy.deletes_any(ids)
}

/// Writes the Ready condition and leaves the rest of the status unchanged: its ids are the only record of the remote
/// objects. Returns whether the condition changed. An error is logged.
async fn report(
    context: &Context,
    api: &Api<RawObject>,
    object: &RawObject,
    reason: Reason,
    message: &str,
) -> Result<bool, ApiError> {
    let mut status = json_of(object.status.as_deref());
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
        return Ok(false);
    }
    let (name, version) = (object.name_any(), Version::of(object));
    match replace_status(api, context.manager.name, &name, &version, status).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => {
            let namespace = object.namespace().unwrap_or_default();
            warn!(namespace, name, %error, "failed to write the status of an object that does not decode; retrying");
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(lifecycle: Value) -> Lifecycle {
        lifecycle_of(&json!({"size": "not a number", "lifecycle": lifecycle}), &Value::Null)
    }

    #[test]
    fn decoded_lifecycle_options_are_applied() {
        assert_eq!(rules(Value::Null), Lifecycle::default());
        let deleting = Lifecycle { deletion: Some(Deletion::Delete), ..Lifecycle::default() };
        assert_eq!(rules(json!({"resyncInterval": 7, "protect": false, "deletion": "Delete"})), deleting);
        assert!(rules(json!({"paused": true})).paused);
        assert!(rules(json!({"protect": true})).protect);
        assert_eq!(rules(json!({"deletion": "Retain"})).deletion, Some(Deletion::Retain));
        assert_eq!(rules(json!({"approval": "Manual"})).approval, Approval::Manual);
        let adopting = rules(json!({"adopt": {"id": "i-1"}}));
        assert_eq!(adopting.deletion, Some(Deletion::Retain), "objects that may have been adopted are kept");
    }

    #[test]
    fn undecodable_lifecycle_options_forbid_the_deletion() {
        assert!(rules(json!({"protect": "yes", "paused": "true"})).protect);
        assert!(rules(json!({"paused": "true"})).paused);
        assert_eq!(rules(json!({"deletion": 7})).deletion, Some(Deletion::Retain));
        assert_eq!(rules(json!({"approval": 7})).approval, Approval::Manual);
        assert!(rules(json!("protect: true")).protect);
        assert!(lifecycle_of(&json!([]), &Value::Null).protect);
    }

    #[test]
    fn ids_are_read_from_a_partly_undecodable_status() {
        let status = json!({"externalIds": ["i-1", 7, "i-2"], "epoch": 3, "conditions": "oh", "location": 7});
        let status = status_of(&status);
        assert_eq!((status.external_ids, status.epoch), (vec!["i-1".into(), "i-2".into()], Some(3)));
        assert_eq!(status.location, None);
    }

    #[test]
    fn deletion_that_needs_approval_waits_unless_all_objects_are_kept() {
        let object = |lifecycle: Value, ids: &[&str]| {
            let metadata =
                serde_json::from_value(json!({"name": "a", "finalizers": [kraken_api::FINALIZER]}));
            let status = status_of(&json!({"externalIds": ids}));
            Object::new(metadata.unwrap(), Unreadable(rules(lifecycle)), Some(status))
        };
        assert!(awaits_approval(&object(json!({"approval": "Manual"}), &["i-1"])));
        assert!(awaits_approval(&object(json!({"approval": 7}), &[])), "objects may exist");
        assert!(!awaits_approval(&object(json!({"approval": "Manual", "deletion": "Retain"}), &["i-1"])));
        assert!(!awaits_approval(&object(json!({"approval": "Manual", "protect": true}), &["i-1"])));
        assert!(!awaits_approval(&object(Value::Null, &["i-1"])));
    }
}
