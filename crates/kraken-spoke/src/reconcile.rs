//! One reconcile, from the resolved values to its outcome.
//!
//! The steps are boxed: a thousand reconciles may wait for one batched read, and each would otherwise hold the memory
//! of its largest step.

use kraken_api::{Approval, Drift, FieldDiff, Replace, ResourceStatus, conditions, reasons::Reason};
use kraken_runtime::{
    coverage,
    mutants::{self, Mutant},
    watch::ObjectKey,
    work::Slot,
};
use kube::{Resource, core::object::HasStatus};

use crate::{
    Ignored, account,
    breaker::confirmed_at,
    context::{Context, Observation, identity_of},
    coverage as names,
    decide::{Decision, decide, heed},
    dynamic::Object,
    in_place,
    intent::{Intent, parameters_hash},
    memory::Memory,
    outcome::{Outcome, listed},
    plan::Proposal,
    release_policy::ReleasePolicy,
    secrecy::{Secrecy, scrubbed},
    status::ReconcileFacts,
    steps::{
        act, adopt, declare, disrupted,
        gather::{Gathered, failed, gather},
        location,
        observe::{RecordedState, Shown, has_finalizer, observe, union},
        remove,
        replace::{self, Parts},
        report::is_ready,
        resolve, restore, retag, unchanged,
    },
    summary::summary,
    vanished::{self, CONFIRMED_FOR},
};

/// One reconcile: the steps in order.
pub(crate) async fn reconcile(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    slot: &mut Slot,
) -> (Outcome, ReconcileFacts) {
    let mut facts = ReconcileFacts::default();
    // Also for a paused resource: no remote object may be left behind when it is deleted.
    let restored = match Box::pin(restore::restore(context, object, memory)).await {
        Ok(true) => memory.latest.clone(),
        Ok(false) => None,
        Err(error) => return (Outcome::Kubernetes(error), facts),
    };
    let object = restored.as_deref().unwrap_or(object);
    // What has nothing is deleted without an account.
    let is_empty = object.meta().deletion_timestamp.is_some() && !has_finalizer(object);
    let connected = if is_empty { Ok(None) } else { Box::pin(account::connect(context, object)).await };
    let of_account = match connected {
        Ok(of_account) => of_account,
        Err(_) if object.lifecycle().paused => return (Outcome::Paused, facts),
        Err(outcome) => return (outcome, facts),
    };
    let context = of_account.as_ref().unwrap_or(context);
    let outcome = match steps(context, object, memory, slot, &mut facts).await {
        Ok(outcome) | Err(outcome) => outcome,
    };
    let outcome = if object.meta().deletion_timestamp.is_none() {
        Box::pin(disrupted::resume(context, object, memory, slot, outcome, &mut facts)).await
    } else {
        outcome
    };
    let outcome = account::attributed(outcome, context.rules.as_deref());
    (scrubbed(outcome, &memory.secrets), facts)
}

async fn steps(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    slot: &mut Slot,
    facts: &mut ReconcileFacts,
) -> Result<Outcome, Outcome> {
    if object.meta().deletion_timestamp.is_some() {
        return Ok(Box::pin(remove::remove(context, object, memory, slot)).await);
    }
    let lifecycle = object.lifecycle();
    if lifecycle.paused && !mutants::active(Mutant::PausedIgnored) {
        return Ok(Outcome::Paused);
    }
    let dependencies = resolve::dependencies(&*context.kind, object.spec());
    if !dependencies.is_empty() {
        facts.followed = context.followed();
    }
    if !dependencies.secrets.is_empty() {
        let look = unchanged::look(context, object, memory, slot, &dependencies, facts);
        if let Some(outcome) = Box::pin(look).await {
            return Ok(outcome);
        }
    }
    memory.unchanged = None;
    let Gathered { values } = match Box::pin(gather(context, object, &dependencies)).await {
        // A problem that no response of the hub can solve is reported without waiting for it.
        Err(Outcome::Asked) => {
            return Err(
                resolve::certain(&*context.kind, object.spec(), &context.fields).unwrap_or(Outcome::Asked)
            );
        }
        gathered => gathered?,
    };
    let rules = context.rules.as_deref();
    let (desired, resolution) =
        resolve::desired(&*context.kind, object.spec(), &values, &context.fields, rules)?;
    memory.learn_secrets(resolution.secrets);
    let secrecy = Secrecy::of(context.info(), &resolution.secret_fields, memory.secrets.clone());

    let identity = identity_of(context, object);
    let intent = Intent::of(object);
    let clock = memory.clock(context.visibility_window);
    let mut known = RecordedState::of(object, memory, intent.as_ref(), clock, context.began());
    let here = location::here(context, object, intent.as_ref()).await?;
    let uid = identity.uid.clone();
    let before = object.status().and_then(|status| status.in_place.as_ref());
    let inputs = context.inputs(&uid, &values);
    let current_spec =
        in_place::current(&uid, || object.spec().json(), object.meta().generation, inputs.clone(), before);
    let edited = memory.edit_under_way
        || in_place::is_edited(before, &current_spec)
        || (mutants::active(Mutant::DriftFromCondition) && !is_ready(object.status()));
    facts.in_place = Some(current_spec);
    facts.edit_under_way = memory.edit_under_way;
    // After an edit, while a difference in deeply observed attributes is open, and periodically to find drift in them.
    let deep = context.kind.needs_deep_observation(&desired)
        && (edited
            || memory.changed.is_some()
            || has_open_differences(object.status())
            || memory.is_deep_due(context.deep_interval, &uid));
    let lane = slot.lane();
    let fixed = secrecy.at_creation(context.kind.at_creation(&desired));
    facts.at_creation = in_place::at_creation(&uid, &fixed);
    if let Some(at_creation) = &memory.at_creation {
        facts.at_creation.clone_from(at_creation);
    }
    let ignored = Ignored::new(&lifecycle.ignore_changes);
    // A launch that the provider rejects because its token or its name is in use created no object that did not exist
    // at the last search.
    let in_use = memory.is_known_in_use(intent.as_ref().map(|intent| intent.epoch));
    let mut search = !in_use && (known.needs_search() || memory.searching);
    let (shown, Parts { outgoing, current }, kept, comparison) = loop {
        let look = observe(context, lane, &identity, &known, search, deep);
        let observed = slot.release_while(look).await.map_err(Outcome::Failed)?;
        let untagged = context.kind.untagged(&observed);
        if !untagged.is_empty() && !edited && lifecycle.drift == Drift::Report {
            let field = FieldDiff::new("tags", "the owner tags of this resource", "absent");
            return Ok(Outcome::Drifted(vec![field]));
        }
        if !untagged.is_empty() {
            let retagged = retag::retag(
                context,
                object,
                memory,
                &identity,
                &observed,
                &untagged,
                (&known, Some(&desired)),
            );
            let note = Box::pin(retagged).await.map_err(Outcome::Failed)?;
            return Ok(Outcome::InProgress(Reason::Updating, note));
        }
        facts.replicas = context.kind.replicas(&observed);
        let shown = Shown::of(&*context.kind, &observed, &known, memory, intent.as_ref(), clock);
        let parts = replace::parts(&*context.kind, intent.as_ref(), observed);
        let current = &parts.current;
        let kept =
            if ignored.is_empty() { None } else { context.kind.without_ignored(&desired, current, &ignored) };
        let mut comparison = context.kind.compare(kept.as_ref().unwrap_or(&desired), current);
        let ids = context.kind.ids(current);
        let fixed = in_place::edits_at_creation(&uid, fixed.clone(), object.status(), &ids);
        comparison.differences.extend(fixed);
        let missing_path = (!ids.is_empty()).then_some(context.info().missing_path);
        let comparison = heed(secrecy.mask(comparison), &ignored, missing_path);
        // Before an object is created, and before a known one is treated as deleted, objects are observed by id and by
        // tag.
        let is_enough = !shown.hidden && comparison.missing.is_none();
        // An object that cannot exist yet was not searched for, and need not be after it has been created and has an
        // id.
        let is_known_missing = in_use && !shown.hidden;
        memory.searching = !is_enough && !is_known_missing && known.may_exist;
        if search && known.may_exist {
            memory.searched();
        }
        if search || is_enough || is_known_missing || mutants::active(Mutant::NoSearchByTag) {
            break (shown, parts, kept, comparison);
        }
        search = true;
    };
    if deep {
        memory.observed_deeply(context.deep_interval);
    }
    known.confirm(&shown, intent.as_ref());
    let is_missing = comparison.missing.is_some();
    let unseen = if is_missing { &shown.unseen[..] } else { &[] };
    // The epoch of a launch is recorded when all its objects are: not while some of them may be invisible.
    let is_settled = !is_missing || intent.as_ref().is_none_or(|intent| !intent.may_be_invisible(clock));
    let epoch = if is_settled { shown.epoch.max(known.epoch) } else { known.epoch };
    facts.epoch = (epoch > 0).then_some(epoch);
    facts.location.clone_from(&here);
    facts.replaced_before = intent.as_ref().and_then(|intent| intent.replaced_before);
    // A lost object stays recorded until its recreation is decided.
    let lost = if is_missing { &shown.lost[..] } else { &[] };
    // A read that lags must not remove an existing object from the record, even if that delays the removal of a deleted
    // one.
    let vanishing = if memory.is_vanishing(&shown.vanished) { &shown.vanished[..] } else { &[] };
    let lost = &union(lost.to_vec(), vanishing);
    let adopted = adopt::adopted(object.status(), intent.as_ref());
    facts.of(&union(union(shown.live.clone(), unseen), lost), adopted.clone());
    if !has_finalizer(object) && !shown.live.is_empty() {
        let restored = restore::restore_from_tags(context, object, memory, shown.epoch);
        Box::pin(restored).await.map_err(Outcome::Kubernetes)?;
        return Ok(Outcome::Changed(format!("found {} by its tags", listed(&shown.live))));
    }
    if !unseen.is_empty() {
        let message = format!("waiting for {} to become visible", listed(unseen));
        return Ok(Outcome::InProgress(Reason::Creating, message));
    }

    let decision = decide(comparison, lifecycle, edited);
    coverage::note(names::DECISION, names::decision(&decision));
    let withheld = withheld(context, object, &shown, is_missing);
    if let (Decision::Create(_), Some(outcome)) = (&decision, withheld) {
        return Ok(outcome);
    }
    if !vanishing.is_empty() {
        let message = format!("{} is not found; waiting to confirm that it is deleted", listed(vanishing));
        return Ok(Outcome::InProgress(Reason::Updating, message));
    }
    memory.forget_ids(&shown.gone);
    facts.of(&shown.live, adopted.clone());
    let effective = kept.as_ref().unwrap_or(&desired);
    let ids = context.kind.ids(&current);
    let sight = Observation {
        identity,
        is_searched: search || !known.may_exist,
        known,
        desired: &desired,
        effective,
        observed: current,
        replacing: outgoing.is_some(),
        live: shown.live,
        unseen: shown.unseen,
        policy: ReleasePolicy { lifecycle, adopted },
        location: here,
    };
    if let Some(wanted) = &lifecycle.adopt
        && adopt::is_due(&*context.kind, intent.as_ref(), &sight)
    {
        let wanted = (lifecycle, wanted, &secrecy);
        return Ok(Box::pin(adopt::adopt(context, object, memory, &sight, wanted)).await);
    }
    let is_to_declare = match &decision {
        Decision::Settle(_) | Decision::Create(_) => false,
        // The state is published when dependents can use it: a gateway that is not attached yet cannot be used by a
        // route. A state that exists already is kept up to date.
        Decision::Change(..) | Decision::Resume(..) => declare::is_declared(context, object),
        _ => true,
    };
    // A state that cannot be published is reported, and does not prevent actions: it may be too large, and scaling down
    // is the solution.
    let mut unpublished = None;
    if is_to_declare {
        let state = secrecy.published(context.kind.state(&desired, &sight.observed));
        facts.summary = Some(summary(context.info().summary, &state));
        let declared = Box::pin(declare::declare(context, object, &sight, state, &secrecy)).await;
        unpublished = declared.err();
        if let Some(error) = unpublished.take_if(|error| error.is_namespace_terminating()) {
            return Err(failed(error));
        }
    }
    if lifecycle.approval == Approval::Manual
        && let Some(proposal) = Proposal::of(&decision, &parameters_hash(&desired, ""))
    {
        proposal.approved(object)?;
    }
    if let Some(outgoing) = &outgoing {
        let is_up = matches!(decision, Decision::InPlace);
        let is_protected = lifecycle.protect && !mutants::active(Mutant::ReplaceIgnoresProtect);
        if is_protected && (is_up || lifecycle.replace == Replace::DeleteFirst) {
            let ids = listed(&context.kind.ids(outgoing));
            return Ok(Outcome::Protected(format!(
                "{ids} is replaced and kept while spec.lifecycle.protect is true: set it to false to allow its deletion"
            )));
        }
        if let Some(outcome) =
            Box::pin(replace::retire(context, object, memory, &sight, outgoing, is_up)).await
        {
            return Ok(outcome);
        }
    }
    if !matches!(decision, Decision::Change(..) | Decision::Resume(..)) {
        memory.changed = None;
    }
    if edited && matches!(decision, Decision::Create(_) | Decision::Change(..) | Decision::Replace(_)) {
        // From here on the record of what was in place is void, even if the edit is reverted before it is complete.
        memory.edit_under_way = true;
    }
    if matches!(decision, Decision::Create(_)) && ids.is_empty() {
        memory.at_creation = Some(in_place::at_creation(&uid, &context.kind.at_creation(&desired)));
    }
    facts.edit_under_way = memory.edit_under_way;
    let is_shallow = !context.kind.needs_deep_observation(&desired);
    let is_whole = outgoing.is_none() && !deep;
    let acted = Box::pin(act::act(context, object, memory, &sight, decision, !edited)).await;
    if matches!(acted, Outcome::InPlace)
        && unpublished.is_none()
        && is_whole
        && !dependencies.secrets.is_empty()
    {
        let observed = &sight.observed;
        let now = unchanged::remember(context, object, inputs, observed, is_shallow, facts);
        memory.unchanged = Some(now);
    }
    match (acted, unpublished) {
        (Outcome::InPlace, Some(error)) => Ok(Outcome::Kubernetes(error)),
        (acted, _) => Ok(acted),
    }
}

/// Why the vanished objects are not recreated now, if many objects of the kind vanished at once.
fn withheld(context: &Context, object: &Object, shown: &Shown, is_missing: bool) -> Option<Outcome> {
    let key = ObjectKey::of(object.meta());
    if shown.lost.is_empty() || !is_missing {
        if !shown.live.is_empty() {
            context.vanished.present(&key);
        }
        return None;
    }
    let now = kraken_runtime::clock::now();
    if confirmed_at(object, now).is_some_and(|at| at.duration_until(now).unsigned_abs() < CONFIRMED_FOR) {
        context.vanished.forget(&key);
        return None;
    }
    let ready = object.status().and_then(|status| conditions::get(&status.conditions, conditions::READY));
    let was_held = ready.is_some_and(|ready| ready.reason == Reason::RecreationHeld.as_str());
    match context.vanished.lost(&key, was_held) {
        vanished::Verdict::Go => None,
        vanished::Verdict::Wait => {
            let message = format!("{} vanished; checking for losses of other resources", listed(&shown.lost));
            Some(Outcome::InProgress(Reason::Creating, message))
        }
        vanished::Verdict::Hold(lost, all) => Some(Outcome::Held(vanished::message(&shown.lost, lost, all))),
    }
}

/// Whether the status reports a difference that is not removed: it must not disappear from the status because it was
/// not read.
fn has_open_differences(status: Option<&ResourceStatus>) -> bool {
    status.is_some_and(|status| {
        let ready = conditions::get(&status.conditions, conditions::READY);
        !status.drift.is_empty() || ready.is_some_and(|ready| ready.reason == Reason::ImmutableField.as_str())
    })
}
