//! Step 1: restores the finalizer after a client removed it, as `kubectl replace` does, and the ledger after a restored backup took it
//! back. Without them a deletion would leave all remote objects behind, and a crash could cause a second launch. Client required.

use jiff::Timestamp;
use kraken_api::{ResourceStatus, reasons::Reason};
use kraken_kind::dynamic::{Object, Observed};
use kraken_model::{
    ids::{listed, union},
    ledger::{self, Ledger},
    memory::{Deletion, Memory},
    outcome::Outcome,
    recorded::has_finalizer,
    secrecy::SecretFields,
};
use kraken_runtime::{events::EventType, patch::ApiError};
use kube::{Resource, core::object::HasStatus};
use tracing::warn;

use crate::{
    actions::persist::write,
    context::{Reconcile, place},
    steps::gather::learn_secret_fields_from_request,
};

/// The ledger to write, if the resource has or may have remote objects, and lacks the finalizer or the last ledger.
fn due(object: &Object, memory: &Memory, owner: &str, is_journaled: bool, now: Timestamp) -> Option<Ledger> {
    let last = memory.launch.ledger.clone();
    let is_stored = last.is_some() && last == ledger::of(object) && ledger::annotation(object).is_none();
    if object.meta().deletion_timestamp.is_some() || (is_stored && has_finalizer(object)) {
        return None;
    }
    if last.is_some() {
        return last;
    }
    let status = object.status();
    let created = memory.owned.created.as_ref().map(|(epoch, _)| *epoch);
    // What a former resource of the name left is in its journal and in no list: without the journal, a person decides.
    let former = ledger::of_former(object, owner).filter(|_| is_journaled && created.is_none());
    let is_recorded = status.is_some_and(|status| !status.external_ids.is_empty());
    if !is_recorded && created.is_none() && former.is_none() {
        return None;
    }
    let rebuilt = rebuilt(status, created.unwrap_or_default(), now);
    Some(match former {
        // Its objects are where it created them.
        Some(Ledger { uid, location, .. }) => {
            Ledger { former: Some(uid.clone()), location: location.clone(), ..rebuilt }
        }
        None => rebuilt,
    })
}

/// Rebuilds a ledger from what the status shows to people, `epoch` being the last launch that is known otherwise. Another one may have been
/// in progress that left no record: the rebuilt ledger assumes it, so that it is waited for. Its number may have been another one, so its
/// token is not used again.
pub(crate) fn rebuilt(status: Option<&ResourceStatus>, epoch: i64, now: Timestamp) -> Ledger {
    Ledger {
        epoch: epoch + 1,
        at: now,
        objects: status.map(|status| status.external_ids.clone()).unwrap_or_default(),
        adopted: status.map(|status| status.adopted.clone()).unwrap_or_default(),
        location: status.and_then(|status| status.location.clone()),
        // Of no generation: the status has them too, and counts alone when it reports the spec as in place.
        secret_fields: status
            .map(|status| status.secret_fields.iter().map(|field| (field.clone(), 0)).collect())
            .unwrap_or_default(),
        ..Ledger::default()
    }
}

/// Restores what is missing. Also of a paused resource: no remote object may be left behind when it is deleted.
pub(crate) async fn restore(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    if !reconcile.is_deleted() {
        // A restored backup can undo a deletion, and the next one checks its dependents again.
        reconcile.memory.deletion = Deletion::default();
        learn_secret_fields_from_request(reconcile);
    }
    let Reconcile { memory, object, .. } = reconcile;
    memory.launch.ledger = memory.last_ledger(object);
    let now = kraken_runtime::clock::now();
    let is_journaled = reconcile.context.info().journaled;
    let (object, owner) = (&reconcile.object, &reconcile.identity.owner);
    let Some(mut ledger) = due(object, reconcile.memory, owner, is_journaled, now) else {
        return Ok(());
    };
    for field in &reconcile.memory.secrets.fields {
        ledger.secret_fields.entry(field.clone()).or_default();
    }
    restore_record(reconcile, &ledger).await.map_err(Outcome::Kubernetes)?;
    reconcile.object = reconcile.memory.copies.newest(reconcile.object.clone());
    Ok(())
}

/// Restores the record of a resource whose remote objects are known only by their tags. Their values are taken to be from
/// the same Secrets as those of the spec.
pub(crate) async fn restore_from_tags(
    reconcile: &mut Reconcile<'_>,
    found: &Observed,
    secret_fields: &SecretFields,
) -> Result<(), ApiError> {
    let secret_fields = secret_fields.launched(reconcile.object.meta().generation);
    let rebuilt = rebuilt(reconcile.object.status(), found.epoch(), kraken_runtime::clock::now());
    // They were found where this controller works.
    let location = rebuilt.location.clone().or_else(|| reconcile.facts.location.clone());
    let ledger = Ledger { location, secret_fields, ..rebuilt };
    let ledger = interrupted(reconcile, &ledger, found).unwrap_or(ledger);
    restore_record(reconcile, &ledger).await
}

/// Continues a replacement that a restored backup interrupted. Says what it found.
pub(crate) async fn continue_replacement(
    reconcile: &mut Reconcile<'_>,
    ledger: &Ledger,
    observed: &Observed,
) -> Result<Option<String>, ApiError> {
    let is_unknown = ledger.former.is_some() && ledger.is_rebuilt() && ledger.replaced_before.is_none();
    let Some(ledger) = interrupted(reconcile, ledger, observed).filter(|_| is_unknown) else {
        return Ok(None);
    };
    let outgoing = listed(&ledger.outgoing);
    write(reconcile, &ledger).await?;
    Ok(Some(format!("continues the replacement of {outgoing}, during which the backup was made")))
}

/// The ledger of the replacement that these objects show, if any: of a kind with a journal, those of earlier launches are replaced.
fn interrupted(reconcile: &Reconcile<'_>, ledger: &Ledger, observed: &Observed) -> Option<Ledger> {
    let epoch = observed.epoch();
    let outgoing = observed.split(epoch).0.ids();
    let is_interrupted = reconcile.context.info().journaled && !outgoing.is_empty();
    let replaced_before = Some(epoch);
    is_interrupted.then(|| Ledger {
        epoch: ledger.epoch.max(epoch),
        replaced_before,
        outgoing,
        ..ledger.clone()
    })
}

async fn restore_record(reconcile: &mut Reconcile<'_>, ledger: &Ledger) -> Result<(), ApiError> {
    // The first reconcile of a later version only moves it.
    let is_moved =
        has_finalizer(&*reconcile.object) && ledger::of(&reconcile.object).as_ref() == Some(ledger);
    write(reconcile, ledger).await?;
    if is_moved {
        return Ok(());
    }
    let Reconcile { context, object, memory, .. } = reconcile;
    let (namespace, name) = place(&**object);
    let created = memory.owned.created.as_ref().map(|(_, ids)| ids.clone()).unwrap_or_default();
    let ids = union(object.status().map(|status| status.external_ids.clone()).unwrap_or_default(), &created);
    let what = if ids.is_empty() { "remote objects".to_owned() } else { listed(&ids) };
    let missing = match (has_finalizer(&**object), ledger::of(object).is_some()) {
        (false, true) => "the finalizer, which was removed",
        (true, _) => "status.ledger, which was removed or edited",
        (false, false) => "the finalizer and status.ledger, which were removed or edited",
    };
    let note = format!(
        "restored {missing} although this resource manages {what}; to release its remote objects, set spec.lifecycle.deletion to \
         Retain and delete the resource"
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
    fn lost_ledger_is_rebuilt_so_that_a_launch_in_progress_is_not_repeated() {
        let status = ResourceStatus {
            external_ids: vec!["i-1".into()],
            adopted: vec!["i-1".into()],
            secret_fields: vec!["image".into()],
            ..ResourceStatus::default()
        };
        let ledger = rebuilt(Some(&status), 3, Timestamp::UNIX_EPOCH);
        assert_eq!((ledger.epoch, ledger.confirmed), (4, 0));
        assert_eq!([&ledger.objects, &ledger.adopted], [&["i-1".to_owned()], &["i-1".to_owned()]]);
        assert!(ledger.secret_fields.contains_key("image"));
        assert_eq!(rebuilt(None, 0, Timestamp::UNIX_EPOCH).epoch, 1);
        assert!(ledger.is_rebuilt(), "the launch may have had another number: its token proves nothing");
    }
}
