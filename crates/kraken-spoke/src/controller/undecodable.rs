//! Objects that do not decode as their kind, because an older or newer CRD accepted them. They are reported, and a
//! deletion is still carried out, by the same step as for any other object: it needs the identity of the object, the
//! ids in its status, and what its lifecycle forbids, all read from the JSON as far as it decodes. Client required.

use std::sync::Arc;

use kraken_api::{ResourceStatus, conditions, reasons::Reason};
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
    dynamic::Object,
    model::{
        memory::Memory,
        outcome::{Outcome, attributed},
        recorded::has_finalizer,
    },
    policy::undecoded::{self, Undecoded},
    steps::{connect, remove::remove},
};

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
        outcome => outcome.requeue(None, memory.in_a_row(outcome)),
    };
    if matches!(outcome, Outcome::Removed) {
        context.in_use.release(&context.queue);
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
    let account = match context.info().account_of(object.spec.as_deref()) {
        Ok(account) => account,
        Err(why) => return Outcome::Account(Reason::AccountNotFound, why),
    };
    let (spec, status) = (json_of(object.spec.as_deref()), json_of(object.status.as_deref()));
    let (spec, status) = (Undecoded(undecoded::lifecycle(&spec, &status)), status_of(&status));
    let object = Object::new(object.metadata.clone(), spec, Some(status)).using(account);
    let mut reconcile = Reconcile::new(context.clone(), Arc::new(object), memory, slot);
    if let Err(outcome) = connect::open(&mut reconcile).await {
        return outcome;
    }
    let (Ok(outcome) | Err(outcome)) = remove(&mut reconcile).await;
    attributed(outcome, reconcile.context.rules.as_deref())
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

    #[test]
    fn ids_are_read_from_a_partly_undecodable_status() {
        let status = json!({"externalIds": ["i-1", 7, "i-2"], "epoch": 3, "conditions": "oh", "location": 7});
        let status = status_of(&status);
        assert_eq!((status.external_ids, status.epoch), (vec!["i-1".into(), "i-2".into()], Some(3)));
        assert_eq!(status.location, None);
    }
}
