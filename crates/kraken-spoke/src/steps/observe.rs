//! Step 6: observes the remote objects, through the batched reader, by id and, if that is not enough, by tag. Client
//! required, but not always used.

use kraken_api::{FieldDiff, Location, ResourceStatus, reasons::Reason};
use kraken_kind::{Fate, dynamic::Observed};
use kraken_model::{
    ids::{listed, union, without},
    in_place,
    ledger::Clock,
    observation::{Observation, Parts, Target, View},
    outcome::Outcome,
    policy::{drift, retention::adopted},
    recorded::{RecordedState, Shown, awaited},
    status::is_ready,
};
use kube::core::object::HasStatus;

use crate::{
    actions::{
        compare::{Compared, compared},
        location,
        retag::{Untagged, retag},
    },
    context::Reconcile,
    steps::restore,
};

/// One observation by id or by tag, compared with the target.
struct Attempt {
    shown: Shown,
    fate: Fate,
    outgoing: Option<Observed>,
    compared: Compared,
    is_searched: bool,
}

/// What the observations of one reconcile have in common.
struct Scope<'t> {
    target: &'t Target,
    recorded: RecordedState,
    clock: Clock,
    deep: bool,
}

/// Observes the remote objects. Ends the reconcile while the result is not certain: objects without tags, objects that
/// are not recorded, and objects that are not visible yet.
pub(crate) async fn observe<'t>(
    reconcile: &mut Reconcile<'_>,
    target: &'t Target,
) -> Result<View<'t>, Outcome> {
    let clock = reconcile.clock();
    let recorded = reconcile.recorded(target.ledger.as_ref(), clock);
    let location = location::here(reconcile, target.ledger.as_ref()).await?;
    note_target(reconcile, target);
    let deep = is_deep(reconcile, target);
    let scope = Scope { target, recorded, clock, deep };
    let attempt = observe_until_certain(reconcile, &scope).await?;
    if deep {
        reconcile.memory.deep.observed(reconcile.context.deep_interval);
    }
    reconcile.memory.deep.compared(&attempt.compared.comparison, deep);
    if deep && reconcile.left_of_predecessor(clock).is_some() {
        // A former process may have changed an attribute that this observation does not show yet.
        reconcile.memory.deep.open = Some(true);
    }
    let view = confirm(reconcile, scope, attempt, location);
    let View { observation, comparison } = &view;
    if target.ledger.is_none() && !observation.shown.live.is_empty() {
        let restored = restore::restore_from_tags(reconcile, &observation.current, &target.secret_fields);
        Box::pin(restored).await.map_err(Outcome::Kubernetes)?;
        return Err(Outcome::Changed(format!("found {} by its tags", listed(&observation.shown.live))));
    }
    if let Some(ledger) = &target.ledger {
        let continued = restore::continue_replacement(reconcile, ledger, &observation.current);
        if let Some(note) = Box::pin(continued).await.map_err(Outcome::Kubernetes)? {
            return Err(Outcome::Changed(note));
        }
    }
    if comparison.missing.is_some() && !observation.shown.unseen.is_empty() {
        let message = format!("waiting for {} to become visible", listed(&observation.shown.unseen));
        return Err(Outcome::InProgress(Reason::Creating, message));
    }
    Ok(view)
}

/// Records what the status reports of the target.
fn note_target(reconcile: &mut Reconcile<'_>, target: &Target) {
    let Reconcile { identity, memory, facts, .. } = reconcile;
    facts.in_place = Some(target.in_place.clone());
    facts.secret_fields = Some(target.secret_fields.clone());
    facts.edit_under_way = memory.changes.edit_under_way;
    facts.at_creation = match &memory.changes.at_creation {
        Some(at_creation) => at_creation.clone(),
        None => in_place::at_creation(&identity.uid, &target.at_creation),
    };
}

/// Whether attributes that need one call per object are read: after an edit, while a difference in them may be open, and
/// periodically to find drift in them.
fn is_deep(reconcile: &mut Reconcile<'_>, target: &Target) -> bool {
    let Reconcile { context, object, identity, memory, .. } = reconcile;
    context.kind.needs_deep_observation(&target.desired)
        && (target.is_edited
            || !memory.changes.changed.is_empty()
            || memory.deep.open.unwrap_or_else(|| has_open_differences(object.status()))
            || memory.deep.is_due(context.deep_interval, &identity.uid))
}

/// Whether an earlier process reported a difference, or a failure, which a difference may have caused: it must not
/// disappear from the status because it was not read.
fn has_open_differences(status: Option<&ResourceStatus>) -> bool {
    !is_ready(status) || status.is_some_and(|status| !status.drift.is_empty())
}

/// Before an object is created, and before a recorded one is treated as deleted, objects are observed by id and by tag.
async fn observe_until_certain(reconcile: &mut Reconcile<'_>, scope: &Scope<'_>) -> Result<Attempt, Outcome> {
    let recorded = &scope.recorded;
    let epoch = scope.target.ledger.as_ref().map(|ledger| ledger.epoch);
    // A launch that the provider rejects because its token or its name is in use created no object that did not exist
    // at the last search.
    let is_in_use = reconcile.memory.is_known_in_use(epoch);
    let needs_search = reconcile.needs_search(scope.target.ledger.as_ref(), recorded, scope.clock);
    let mut search = !is_in_use && (needs_search || reconcile.memory.tag_search.is_first);
    loop {
        let attempt = attempt(reconcile, scope, search).await?;
        let is_certain = !attempt.shown.hidden && attempt.compared.comparison.missing.is_none();
        // An object that cannot exist yet was not searched for, and need not be after it has been created and has an
        // id.
        let is_known_missing = is_in_use && !attempt.shown.hidden;
        reconcile.memory.tag_search.is_first = !is_certain && !is_known_missing && recorded.may_exist;
        if search && recorded.may_exist {
            reconcile.memory.searched();
        }
        if search || is_certain || is_known_missing {
            return Ok(attempt);
        }
        search = true;
    }
}

/// One observation.
async fn attempt(reconcile: &mut Reconcile<'_>, scope: &Scope<'_>, search: bool) -> Result<Attempt, Outcome> {
    let observed = reconcile.observe(&scope.recorded, search, scope.deep).await.map_err(Outcome::Failed)?;
    remember(reconcile, &scope.recorded, &observed);
    await_tags(reconcile, scope, &observed)?;
    restore_tags(reconcile, scope, &observed).await?;
    let (target, ledger) = (scope.target, scope.target.ledger.as_ref());
    let kind = &*reconcile.context.kind;
    reconcile.facts.replicas = kind.replicas(&observed);
    let shown = Shown::of(kind, &observed, &scope.recorded, reconcile.memory, ledger, scope.clock);
    let fate = observed.fate.clone();
    let Parts { outgoing, current } = Parts::of(ledger, observed);
    let compared = compared(reconcile, target, current).await?;
    Ok(Attempt { shown, fate, outgoing, compared, is_searched: search || !scope.recorded.may_exist })
}

/// Remembers the objects that only the search found. An action that fails can delay the status that names them beyond the
/// visibility window, and then one response that lags must not count as proof that they do not exist. Remembers also which
/// objects are shown as deleted.
fn remember(reconcile: &mut Reconcile<'_>, recorded: &RecordedState, observed: &Observed) {
    let Reconcile { context, memory, .. } = reconcile;
    let found = without(&observed.ids(), &recorded.ids);
    memory.owned.found_by_tag = union(std::mem::take(&mut memory.owned.found_by_tag), &found);
    memory.note_shown(&*context.kind, observed);
}

/// Ends the reconcile if objects without owner tags are not on record: only a search by tag found them, so nothing proves any more
/// which resource they belong to. One response may lag, so they are forgotten after some time, and neither tagged nor deleted.
fn await_tags(reconcile: &mut Reconcile<'_>, scope: &Scope<'_>, observed: &Observed) -> Result<(), Outcome> {
    let mut others = observed.untagged();
    others.retain(|id| scope.recorded.unproven.contains(id));
    if others.is_empty() {
        return Ok(());
    }
    let message = if reconcile.memory.is_vanishing(&others, scope.clock) {
        format!("waiting for the owner tags of {} to become visible", listed(&others))
    } else {
        reconcile.memory.forget_ids(&others);
        format!(
            "{} is no longer managed: its owner tags were removed, and Kraken has no record of it",
            listed(&others)
        )
    };
    Err(Outcome::InProgress(Reason::Updating, message))
}

/// Restores owner tags that were removed, unless the resource only reports drift.
async fn restore_tags(
    reconcile: &mut Reconcile<'_>,
    scope: &Scope<'_>,
    observed: &Observed,
) -> Result<(), Outcome> {
    let ids = observed.untagged();
    if ids.is_empty() {
        return Ok(());
    }
    if drift::is_reported(reconcile.lifecycle(), scope.target.is_edited) {
        let field = FieldDiff::new("tags", "the owner tags of this resource", "absent");
        return Err(Outcome::Drifted(vec![field]));
    }
    let (epoch, desired) = (scope.recorded.epoch, Some(&scope.target.desired));
    let untagged = Untagged { observed, ids: &ids, epoch, desired };
    let note = Box::pin(retag(reconcile, untagged)).await.map_err(Outcome::Failed)?;
    Err(Outcome::InProgress(Reason::Updating, note))
}

/// Records in the status what the observation confirms.
fn confirm<'t>(
    reconcile: &mut Reconcile<'_>,
    scope: Scope<'t>,
    attempt: Attempt,
    location: Option<Location>,
) -> View<'t> {
    let Scope { target, mut recorded, clock, deep } = scope;
    let Attempt { shown, fate, outgoing, compared, is_searched } = attempt;
    let Compared { current, kept, comparison } = compared;
    let (ledger, is_missing) = (target.ledger.as_ref(), comparison.missing.is_some());
    let unknown = reconcile.unknown_launch(ledger, &recorded, clock);
    if unknown.is_none() {
        reconcile.memory.end_search();
    }
    let is_launch_hidden =
        is_searched && reconcile.memory.is_launch_hidden(unknown, shown.is_complete, clock);
    recorded.confirm(&shown, ledger);
    // The epoch of a launch is recorded when all its objects are: not while some of them may be invisible. That no object
    // is missing proves nothing, because the spec may account for fewer objects since the launch.
    let is_settled = ledger.is_none_or(|ledger| !clock.may_hide(ledger)) && !is_launch_hidden;
    let Reconcile { object, memory, facts, .. } = reconcile;
    let epoch = if is_settled { shown.epoch.max(recorded.epoch) } else { recorded.epoch };
    let awaited = awaited(&shown, recorded.epoch, ledger, memory, clock);
    facts.epoch = (epoch > 0).then_some(epoch);
    facts.location.clone_from(&location);
    // A read that lags must not remove an existing object from the record, even if that delays the removal of a deleted
    // one.
    let vanishing = if memory.is_vanishing(&shown.vanished, clock) { shown.vanished.clone() } else { vec![] };
    let adopted = adopted(object.status(), ledger);
    facts.of(&ids_on_record(&shown, is_missing, &vanishing), adopted.clone());
    let observation = Observation {
        target,
        recorded,
        shown,
        vanishing,
        is_launch_hidden,
        fate,
        awaited,
        current,
        outgoing,
        kept,
        adopted,
        clock,
        is_searched,
        is_deep: deep,
        location,
    };
    View { observation, comparison }
}

/// The ids to record: existing objects, those that may not be visible yet, and, while objects are missing, lost ones, which
/// stay recorded until their recreation is decided.
fn ids_on_record(shown: &Shown, is_missing: bool, vanishing: &[String]) -> Vec<String> {
    let lost: &[String] = if is_missing { &shown.lost } else { &[] };
    union(shown.present(), &union(lost.to_vec(), vanishing))
}
