//! Takes over the remote objects of a former resource of the same cluster, namespace, kind and name, whose UID does not exist
//! any more: a backup was restored (its objects have new UIDs and no status), or finalizers were removed and the resource was applied
//! again. Otherwise everything would be created a second time. Client required, but rarely used.
//!
//! In step 2, a status that is not its own, and a known orphan of its name, lead to a list of the objects of the account, which all
//! resources of the kind share. An ordinary new resource costs no call, except the first one that is launched: then the objects are
//! listed, because a resource may have been lost before this process started, and again after each loss that it saw.

use kraken_api::{CREATION_CONFIRMED_ANNOTATION, reasons::Reason};
use kraken_kind::{Identity, dynamic::Observed};
use kraken_model::{
    ids::listed,
    ledger::{self, Ledger},
    memory::Claimed,
    outcome::{Outcome, refused},
    policy::launch_limit::confirmed_at,
    recorded::has_finalizer,
};
use kraken_runtime::watch::ObjectKey;
use kube::{Resource, core::object::HasStatus};
use tokio::time::Instant;

use crate::{
    actions::{event::publish_event, location, persist::write},
    context::Reconcile,
    guarantees,
    steps::restore::rebuilt,
};

/// Before the first launch of a resource, and before a deletion of one without a ledger: learns which former resources left objects,
/// unless that is known. If one of its name did, takes them over.
pub(crate) async fn before_launch(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    let (context, owned) = (&reconcile.context, &reconcile.memory.owned);
    if !is_new(reconcile)
        || owned.is_only_owner
        || context.former.is_listed(&account(reconcile), context.memories.losses())
    {
        return Ok(());
    }
    former(reconcile).await?;
    take_over(reconcile).await
}

/// Takes over what a former resource of this name left. Ends the reconcile if it did, or if a person must decide.
pub(super) async fn take_over(reconcile: &mut Reconcile<'_>) -> Result<(), Outcome> {
    if !is_due(reconcile) {
        return Ok(());
    }
    let here = location::here(reconcile, reconcile.memory.launch.ledger.as_ref()).await?;
    let former = former(reconcile).await?;
    let (uid, left) = match former.as_slice() {
        [] => {
            reconcile.memory.owned.is_only_owner = true;
            return Ok(());
        }
        [(identity, left)] => (identity.uid.clone(), left.clone()),
        several => {
            // A deletion deletes only what is certain; the sweep reports the others as orphans.
            let is_decided = reconcile.is_deleted() || is_confirmed(reconcile);
            reconcile.memory.owned.is_only_owner = is_decided;
            return if is_decided { Ok(()) } else { Err(ambiguous(reconcile, several)) };
        }
    };
    let context = reconcile.context.clone();
    let ids = left.ids();
    let ledger = ledger(reconcile, &uid, left.epoch(), here);
    let mut claims = vec![];
    for id in &ids {
        let Some(claimed) = context.claim(id, reconcile.key(), &reconcile.identity) else {
            let message = format!("{id} is being adopted by another resource; it is not taken over");
            return Err(Outcome::NotYet(Reason::Creating, message));
        };
        claims.push(claimed);
    }
    // The record names the former resource until the next launch: after a crash, the rest is taken over.
    write(reconcile, &ledger).await.map_err(Outcome::Kubernetes)?;
    claim(reconcile, &ledger, left).await?;
    let note = format!(
        "took over {}, which a former resource of this name with the UID {uid} managed; it does not exist any more",
        listed(&ids)
    );
    publish_event(reconcile, Reason::TakenOver, &note).await;
    Err(Outcome::Changed(note))
}

/// Whether a former resource may have left objects.
fn is_due(reconcile: &Reconcile<'_>) -> bool {
    let Reconcile { context, object, memory, identity, .. } = reconcile;
    let is_orphaned = || is_new(reconcile) && context.former.is_orphan(&identity.owner);
    !context.info().looks_up
        && !memory.owned.is_only_owner
        && object.lifecycle().adopt.is_none()
        && !object.lifecycle().paused
        && (former_uid(reconcile).is_some() || is_orphaned())
}

/// Whether nothing was launched for the resource, as far as anything is on record.
fn is_new(reconcile: &Reconcile<'_>) -> bool {
    let Reconcile { object, memory, .. } = reconcile;
    let status = object.status();
    let is_recorded = status.is_some_and(|status| !status.external_ids.is_empty());
    let is_held = !reconcile.is_deleted() || has_finalizer(&**object);
    memory.launch.ledger.is_none() && !is_recorded && memory.owned.created.is_none() && is_held
}

/// The UID of the former resource of this name with whose status the resource came, or whose objects it began to take over.
fn former_uid(reconcile: &Reconcile<'_>) -> Option<String> {
    match &reconcile.memory.launch.ledger {
        Some(ledger) => ledger.former.clone(),
        None => {
            ledger::of_former(&reconcile.object, &reconcile.identity.owner).map(|ledger| ledger.uid.clone())
        }
    }
}

/// The account of which the objects are listed; empty names for the controller's own connection.
fn account(reconcile: &Reconcile<'_>) -> ObjectKey {
    let Some(rules) = &reconcile.context.rules else { return ObjectKey::new("", "") };
    ObjectKey::new(&reconcile.key().namespace, rules.name())
}

/// The objects of each former resource of this name: of this cluster and namespace, so that of all of them only this one exists.
async fn former(reconcile: &mut Reconcile<'_>) -> Result<Vec<(Identity, Observed)>, Outcome> {
    let key = account(reconcile);
    let Reconcile { context, identity, slot, .. } = reconcile;
    let losses = context.memories.losses();
    let list = async { context.link.external.list_owned(&identity.cluster).await.map(std::sync::Arc::new) };
    let all = slot.release_while(context.former.list(&key, losses, list)).await.map_err(Outcome::Failed)?;
    if !context.former.is_listed(&key, losses) {
        // Resources that other processes manage are not in the store. No resource of this process has their names.
        let is_orphan = |owner: &Identity| {
            let known = owner.resource().and_then(|(_, key)| context.objects.get(&key));
            known.is_none_or(|object| object.meta().uid.as_ref() != Some(&owner.uid))
        };
        let orphans = all.iter().map(|(owner, _)| owner).filter(|owner| is_orphan(owner));
        context.former.set_listed(key, losses, orphans.map(|owner| owner.owner.clone()));
    }
    let is_former = |(owner, left): &&(Identity, Observed)| {
        owner.owner == identity.owner
            && owner.uid != identity.uid
            && !context.former.has_ended(&owner.uid)
            && !left.ids().is_empty()
    };
    Ok(all.iter().filter(is_former).cloned().collect())
}

/// The record of what is taken over. That of the former resource is used if it came with this one.
fn ledger(reconcile: &Reconcile<'_>, uid: &str, epoch: i64, here: Option<kraken_api::Location>) -> Ledger {
    let Reconcile { object, memory, identity, .. } = reconcile;
    let came_with = ledger::of_former(object, &identity.owner).filter(|ledger| ledger.uid == uid);
    let begun = memory.launch.ledger.as_ref().filter(|ledger| ledger.former.as_deref() == Some(uid));
    let old = came_with.or(begun).cloned().unwrap_or_default();
    Ledger {
        former: Some(uid.to_owned()),
        replaced_before: old.replaced_before,
        outgoing: old.outgoing,
        adopted: old.adopted,
        taken_back: old.taken_back,
        secret_fields: old.secret_fields,
        launches: old.launches,
        location: here,
        ..rebuilt(None, epoch.max(old.epoch), kraken_runtime::clock::now())
    }
}

/// Sets the owner tags. Objects that a replacement was about to delete keep an epoch from before its start.
async fn claim(reconcile: &mut Reconcile<'_>, ledger: &Ledger, left: Observed) -> Result<(), Outcome> {
    let (context, identity) = (reconcile.context.clone(), reconcile.identity.clone());
    let boundary = ledger.replaced_before.unwrap_or_default();
    let (ids, epoch) = (left.ids(), left.epoch());
    let (outgoing, current) = left.split(boundary);
    guarantees::takes_over(reconcile);
    for (part, epoch) in [(current, epoch), (outgoing, boundary - 1)] {
        if !part.ids().is_empty() {
            let claimed = context.link.external.claim(&identity, epoch.max(1), &part).await;
            claimed.map_err(|failure| refused(failure, Reason::Creating))?;
        }
    }
    let memory = &mut *reconcile.memory;
    memory.owned.claimed =
        Some(Claimed { ids: ids.clone(), at: Instant::now(), times: 0, is_confirmed: true });
    memory.owned.created = Some((epoch.max(1), ids));
    memory.owned.is_only_owner = true;
    Ok(())
}

/// Whether a person decided that new objects are created.
fn is_confirmed(reconcile: &Reconcile<'_>) -> bool {
    let created = reconcile.object.meta().creation_timestamp.as_ref().map(|at| at.0);
    let confirmed = confirmed_at(&*reconcile.object, kraken_runtime::clock::now());
    confirmed.is_some_and(|confirmed| created.is_none_or(|created| confirmed >= created))
}

/// Several former resources of this name left objects.
fn ambiguous(reconcile: &Reconcile<'_>, several: &[(Identity, Observed)]) -> Outcome {
    let ids: Vec<String> = several.iter().flat_map(|(_, left)| left.ids()).collect();
    let ObjectKey { namespace, name } = reconcile.key();
    let resource = &reconcile.context.info().resource.plural;
    let first = ids.first().cloned().unwrap_or_default();
    Outcome::LaunchRefused(format!(
        "{} former resources of this name left {}, and none of them exists any more: to manage one, run kubectl patch {resource} {name} \
         -n {namespace} --type merge -p '{{\"spec\":{{\"lifecycle\":{{\"adopt\":{{\"id\":\"{first}\"}},\"deletion\":\"Delete\"}}}}}}' \
         with its id; to create another, annotate the resource with {CREATION_CONFIRMED_ANNOTATION}=<the current time, such as \
         2026-01-31T12:00:00Z>",
        several.len(),
        listed(&ids)
    ))
}
