//! Step 1: restores the finalizer and the intent after they were removed or edited: by `kubectl replace`, a restored backup, or a person.
//! Without them a deletion would leave all remote objects behind, and a crash could cause a second launch. Client
//! required.

use jiff::Timestamp;
use kraken_api::{ResourceStatus, reasons::Reason};
use kraken_runtime::{events::EventType, patch::ApiError};
use kube::{Resource, core::object::HasStatus};
use tracing::warn;

use crate::{
    actions::persist::write,
    context::{Reconcile, place},
    dynamic::{Object, Observed},
    model::{
        ids::{listed, union},
        intent::{Intent, is_plausible},
        memory::{Deletion, Memory},
        outcome::Outcome,
        recorded::has_finalizer,
        secrecy::SecretFields,
    },
    steps::gather::learn_secret_fields_from_request,
};

/// The intent to restore, if the resource has or may have remote objects, and lacks the finalizer or the last intent.
fn due(
    object: &Object,
    memory: &Memory,
    owner: &str,
    adopts: bool,
    is_journaled: bool,
    now: Timestamp,
) -> Option<Intent> {
    let last = memory.launch.intent.clone();
    let is_present = last.is_some() && last == Intent::of(object);
    if object.meta().deletion_timestamp.is_some() || (is_present && has_finalizer(object)) {
        return None;
    }
    let status = object.status();
    let recorded = status.is_some_and(|s| !s.external_ids.is_empty() || s.epoch.is_some());
    let foreign = Intent::foreign(object, owner);
    // It came with the record of a former resource of its name. What that left is in its journal and in no list: without the journal,
    // a person decides.
    let is_restored = is_journaled && foreign.is_some();
    // An intent is never written without the finalizer: an intent without a finalizer means that another client removed
    // the finalizer. The finalizer is written with the first intent: without an intent, another client removed that, and
    // an earlier process may have made a launch. An adoption without a record is repeated.
    let is_launched = (has_finalizer(object) || is_restored) && !adopts;
    if last.is_none() && memory.owned.created.is_none() && !recorded && !is_launched {
        return None;
    }
    last.or_else(|| {
        let created = memory.owned.created.as_ref().map_or(0, |(epoch, _)| *epoch);
        let rebuilt = rebuilt(status, created, now);
        match foreign.filter(|_| memory.owned.created.is_none()) {
            // The objects of the former resource are where it created them.
            Some((former, there)) => {
                Some(Intent { location: rebuilt.location.clone().or(there), former: Some(former), ..rebuilt })
            }
            None => Some(rebuilt),
        }
    })
}

/// Rebuilds an intent from the status. A launch may have been in progress that left no record: the rebuilt intent
/// assumes it, so that it is waited for. Its number may have been another one, so its token is not used again.
pub(crate) fn rebuilt(status: Option<&ResourceStatus>, epoch: i64, now: Timestamp) -> Intent {
    let recorded = status.and_then(|status| status.epoch).filter(|epoch| is_plausible(*epoch));
    let last = recorded.unwrap_or_default().max(epoch);
    let boundary = status.and_then(|status| status.replaced_before);
    Intent {
        epoch: last + 1,
        at: now,
        // No replacement can have begun later.
        replaced_before: boundary.filter(|boundary| (1..=last + 1).contains(boundary)),
        adopted: status.map(|status| status.adopted.clone()).unwrap_or_default(),
        location: status.and_then(|status| status.location.clone()),
        // Of no generation: the status has them too, and counts alone when it reports the spec as in place.
        secret_fields: status
            .map(|status| status.secret_fields.iter().map(|field| (field.clone(), 0)).collect())
            .unwrap_or_default(),
        ..Intent::default()
    }
}

/// Restores what is missing. Also of a paused resource: no remote object may be left behind when it is deleted.
pub(crate) async fn restore(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    if !reconcile.is_deleted() {
        // A restored backup can undo a deletion, and the next one checks its dependents again.
        reconcile.memory.deletion = Deletion::default();
        learn_secret_fields_from_request(reconcile);
    }
    let Reconcile { memory, object, identity, .. } = reconcile;
    memory.launch.intent = memory.last_intent(&**object);
    memory.check_record(&identity.uid, object.status());
    let now = kraken_runtime::clock::now();
    let (adopts, is_journaled) = (reconcile.lifecycle().adopt.is_some(), reconcile.context.info().journaled);
    let (object, owner) = (&reconcile.object, &reconcile.identity.owner);
    let Some(mut intent) = due(object, reconcile.memory, owner, adopts, is_journaled, now) else {
        return Ok(());
    };
    for field in &reconcile.memory.secrets.fields {
        intent.secret_fields.entry(field.clone()).or_default();
    }
    restore_record(reconcile, &intent).await.map_err(Outcome::Kubernetes)?;
    if let Some(restored) = &reconcile.memory.copies.latest {
        reconcile.object = restored.clone();
    }
    Ok(())
}

/// Restores the record of a resource whose remote objects are known only by their tags. Their values are taken to be from
/// the same Secrets as those of the spec.
pub(crate) async fn restore_from_tags(
    reconcile: &mut Reconcile<'_>,
    epoch: i64,
    secret_fields: &SecretFields,
) -> Result<(), ApiError> {
    let secret_fields = secret_fields.launched(reconcile.object.meta().generation);
    let rebuilt = rebuilt(reconcile.object.status(), epoch, kraken_runtime::clock::now());
    // They were found where this controller works.
    let location = rebuilt.location.or_else(|| reconcile.facts.location.clone());
    let intent = Intent { location, secret_fields, ..rebuilt };
    restore_record(reconcile, &intent).await
}

/// Continues a replacement that a restored backup interrupted: the record of this resource is rebuilt, and of a kind with a journal, the
/// objects of earlier launches are those that were replaced. Says what it found.
pub(crate) async fn continue_replacement(
    reconcile: &mut Reconcile<'_>,
    intent: &Intent,
    observed: &Observed,
) -> Result<Option<String>, ApiError> {
    let is_unknown = intent.former.is_some() && intent.is_rebuilt() && intent.replaced_before.is_none();
    if !reconcile.context.info().journaled || !is_unknown {
        return Ok(None);
    }
    let epoch = observed.epoch();
    let outgoing = observed.split(epoch).0.ids();
    if outgoing.is_empty() {
        return Ok(None);
    }
    let note =
        format!("continues the replacement of {}, during which the backup was made", listed(&outgoing));
    let intent =
        Intent { epoch: intent.epoch.max(epoch), replaced_before: Some(epoch), outgoing, ..intent.clone() };
    write(reconcile, &intent).await?;
    Ok(Some(note))
}

async fn restore_record(reconcile: &mut Reconcile<'_>, intent: &Intent) -> Result<(), ApiError> {
    write(reconcile, intent).await?;
    let Reconcile { context, object, memory, .. } = reconcile;
    let (namespace, name) = place(&**object);
    let created = memory.owned.created.as_ref().map(|(_, ids)| ids.clone()).unwrap_or_default();
    let ids = union(object.status().map(|status| status.external_ids.clone()).unwrap_or_default(), &created);
    let what = if ids.is_empty() { "remote objects".to_owned() } else { listed(&ids) };
    let note = format!(
        "restored the finalizer and the launch record, which were removed or edited although this resource manages {what}; to \
         release its remote objects, set spec.lifecycle.deletion to Retain and delete the resource"
    );
    warn!(namespace, name, "{note}");
    let (reference, reason) = (object.object_ref(&context.info().resource), Reason::RecordRestored.as_str());
    context.manager.events.publish(&reference, EventType::Warning, reason, "Restore", &note).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_intent_is_rebuilt_so_that_a_launch_in_progress_is_not_repeated() {
        let status = ResourceStatus {
            epoch: Some(3),
            replaced_before: Some(2),
            adopted: vec!["i-1".into()],
            secret_fields: vec!["image".into()],
            ..ResourceStatus::default()
        };
        let intent = rebuilt(Some(&status), 1, Timestamp::UNIX_EPOCH);
        assert_eq!((intent.epoch, intent.replaced_before), (4, Some(2)));
        assert_eq!(intent.adopted, ["i-1"]);
        assert!(intent.secret_fields.contains_key("image"));
        assert_eq!(rebuilt(None, 0, Timestamp::UNIX_EPOCH).epoch, 1);
        assert!(
            !intent.is_last(Some(&status)),
            "the launch may have had another number: its token proves nothing"
        );
    }

    #[test]
    fn numbers_that_a_client_set_are_not_used_for_a_rebuilt_intent() {
        let status =
            |epoch, replaced_before| ResourceStatus { epoch, replaced_before, ..ResourceStatus::default() };
        let of = |status: ResourceStatus| {
            let intent = rebuilt(Some(&status), 0, Timestamp::UNIX_EPOCH);
            (intent.epoch, intent.replaced_before)
        };
        assert_eq!(of(status(Some(i64::MAX), None)), (1, None));
        assert_eq!(of(status(Some(-1), Some(-1))), (1, None));
        assert_eq!(of(status(Some(1), Some(5))), (2, None));
        assert_eq!(of(status(Some(1), Some(2))), (2, Some(2)));
    }
}
