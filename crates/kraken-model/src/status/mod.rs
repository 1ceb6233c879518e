//! The next status, from an outcome and the previous status. Pure.

mod facts;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_api::{
    FieldDiff, ResourceStatus,
    conditions::{
        self, DEPENDENCIES_RESOLVED, DRIFTED, READY, RECONCILING, STALLED, SYNCED, State, UPDATE_AVAILABLE,
    },
    lookup::Answer,
    reasons::Reason,
};

use crate::{
    followed::Followed,
    ids::{listed, union},
    in_place::recorded,
    ledger::{self, Ledger},
    memory::Memory,
    outcome::Outcome,
};

pub use facts::{Answered, Launched, ReconcileFacts};

/// The suffix of the Ready message while references are not kept up to date. It does not change the outcome, and no
/// event is published for it.
pub const UNFOLLOWED: &str = "; kraken-hub is not running: see DependenciesResolved";

impl Launched {
    /// From the memory of a process; `None` if it created and adopted nothing.
    pub fn of(memory: &Memory) -> Option<Self> {
        let (_, ids) = memory.owned.created.as_ref()?;
        // On record, an object without owner tags would be the resource's.
        let lost_tags =
            |id: &String| memory.owned.found_by_tag.contains(id) && memory.absent.missing.contains_key(id);
        let ids: Vec<String> = ids.iter().filter(|id| !lost_tags(id)).cloned().collect();
        if ids.is_empty() {
            return None;
        }
        let mut launched = Self { ids: ids.clone(), ..Self::default() };
        if let Some(ledger) = &memory.launch.ledger {
            launched.adopted = ledger.adopted.iter().filter(|id| ids.contains(id)).cloned().collect();
            launched.location.clone_from(&ledger.location);
            launched.secret_fields = ledger.secret_fields.keys().cloned().collect();
        }
        Some(launched)
    }
}

/// The next status, from an outcome and the previous status.
pub fn status_of(
    outcome: &Outcome,
    facts: &ReconcileFacts,
    before: Option<&ResourceStatus>,
    generation: Option<i64>,
    now: Timestamp,
) -> ResourceStatus {
    let mut status = before.cloned().unwrap_or_default();
    status.observed_generation = generation;
    record(&mut status, outcome, facts);
    if let Outcome::Drifted(fields) = outcome {
        status.drift = fields.iter().map(|field| with_since(field, &status.drift, now)).collect();
    } else if outcome.has_compared() {
        status.drift.clear();
    }
    plan_of(outcome, &mut status);
    let mut conditions = std::mem::take(&mut status.conditions);
    let outdated_message = outdated_message(&facts.followed, &conditions);
    let message = ready_message(outcome, facts, &status.external_ids, outdated_message.is_some());
    let mut set = |kind, state, reason: &str, message: &str| {
        conditions::set(&mut conditions, kind, state, reason, message, generation, now);
    };
    let (state, reason, _) = outcome.ready();
    set(READY, state, reason.as_str(), &message);
    if let Some((state, message)) = outcome.synced() {
        let reason = match outcome {
            Outcome::InPlace => "InSync",
            Outcome::Keeps(kept) if kept.plan.is_some() => "InSync",
            Outcome::Keeps(kept) => kept.reason.as_str(),
            Outcome::Drifted(_) => Reason::Drifted.as_str(),
            _ => reason.as_str(),
        };
        set(SYNCED, state, reason, &message);
    }
    match (outcome.dependencies(), outdated_message) {
        (None, _) => {}
        // Not for `Unknown`: then the request has not been answered at all.
        (Some((State::True | State::False, _)), Some(outdated_message)) => {
            set(DEPENDENCIES_RESOLVED, State::Unknown, Reason::HubNotRunning.as_str(), &outdated_message);
        }
        (Some((state, message)), _) => {
            let reason = if state == State::True { "Resolved" } else { reason.as_str() };
            set(DEPENDENCIES_RESOLVED, state, reason, &message);
        }
    }
    let mut set_while = |kind, held: Option<(&str, &str)>| {
        conditions::set_while(&mut conditions, kind, held, generation, now);
    };
    set_while(RECONCILING, outcome.is_reconciling().then_some((reason.as_str(), &message)));
    set_while(STALLED, outcome.is_stalled().then_some((reason.as_str(), &message)));
    if let Some(update) = outcome.update() {
        let held = update.as_deref().map(|message| (Reason::NewerAnswer.as_str(), message));
        set_while(UPDATE_AVAILABLE, held);
    }
    if let Some(drift) = outcome.drift() {
        set_while(DRIFTED, Some((Reason::Drifted.as_str(), &drift)));
    } else if outcome.has_compared() {
        set_while(DRIFTED, None);
    }
    status.conditions = conditions;
    status
}

/// Sets the record of the remote objects.
fn record(status: &mut ResourceStatus, outcome: &Outcome, facts: &ReconcileFacts) {
    // One of a former resource, or that was edited, stays as it is: it would count again.
    let own = status.ledger.take_if(|ledger| ledger::is_own(ledger, &facts.uid));
    // What another client wrote there is replaced.
    if let Some(own) = &own {
        status.external_ids.clone_from(&own.objects);
    }
    let launched = facts.launched.as_ref().filter(|_| facts.ids.is_none() && status.external_ids.is_empty());
    if let Some(ids) = &facts.ids {
        // Otherwise a status that reports a creation has no record of it: a restarted controller that cannot resolve the spec
        // does not search.
        status.external_ids = union(ids.clone(), &facts.created);
        status.adopted.clone_from(&facts.adopted);
        status.at_creation = recorded(status.at_creation.take(), &facts.at_creation, ids);
        // Set with the first creation and not changed later.
        if !status.external_ids.is_empty() && status.location.is_none() {
            status.location.clone_from(&facts.location);
        }
    } else if let Some(launched) = launched {
        // Otherwise nothing but the ledger is on record until the spec can be resolved, and another client may remove it.
        status.external_ids.clone_from(&launched.ids);
        status.adopted.clone_from(&launched.adopted);
        status.secret_fields = union(std::mem::take(&mut status.secret_fields), &launched.secret_fields);
        if status.location.is_none() {
            status.location.clone_from(&launched.location);
        }
    }
    if let Some(Answered { ids, newer, .. }) = &facts.answer {
        status.answer = Some(Answer { ids: ids.clone(), newer: newer.clone() });
        status.location.clone_from(&facts.location);
    }
    if let Some(summary) = &facts.summary {
        status.summary.clone_from(summary);
    }
    if facts.replicas.is_some() {
        status.replicas = facts.replicas;
    }
    if let Some(own) = own {
        status.ledger = Some(settled(own, &status.external_ids, facts.epoch));
    }
    if let Some(fields) = &facts.secret_fields {
        let is_in_place = matches!(outcome, Outcome::InPlace);
        let fields = if is_in_place { &fields.in_place } else { &fields.all };
        status.secret_fields = fields.iter().cloned().collect();
    }
    // Set only here: after a failure or a wait, a difference from the record is drift and not an edit.
    if matches!(outcome, Outcome::InPlace | Outcome::Keeps(_)) {
        status.in_place.clone_from(&facts.in_place);
    } else if facts.edit_under_way {
        status.in_place = None;
    }
}

/// The ledger with what was observed: the objects, and the highest number of their launches.
fn settled(ledger: Ledger, objects: &[String], epoch: Option<i64>) -> Ledger {
    let seen = epoch.unwrap_or(ledger.confirmed);
    // The number of a rebuilt one is a guess.
    let epoch = if ledger.is_rebuilt() { ledger.epoch.max(seen) } else { ledger.epoch };
    ledger::sealed(Ledger { objects: objects.to_vec(), epoch, confirmed: seen.min(epoch), ..ledger })
}

/// The message of the Ready condition.
fn ready_message(outcome: &Outcome, facts: &ReconcileFacts, ids: &[String], is_unfollowed: bool) -> String {
    let (state, _, mut message) = outcome.ready();
    if matches!(outcome, Outcome::InPlace) && !ids.is_empty() {
        message = format!("in place: {}", listed(ids));
    }
    if let (Outcome::InPlace, Some(answer)) = (outcome, &facts.answer) {
        message = format!("found {}", answer.words);
    }
    if let Some(note) = &facts.note {
        message.push_str(note);
    }
    if is_unfollowed && (state == State::True || matches!(outcome, Outcome::Waiting(_))) {
        message.push_str(UNFOLLOWED);
    }
    message
}

/// The message about references that are not kept up to date, if so.
fn outdated_message(followed: &Followed, before: &[Condition]) -> Option<String> {
    match followed {
        Followed::Yes => None,
        Followed::No(message) => Some(message.clone()),
        Followed::Unknown => unfollowed_condition(before).map(|condition| condition.message.clone()),
    }
}

/// The condition that reports that references are not kept up to date, if there is one.
pub fn unfollowed_condition(conditions: &[Condition]) -> Option<&Condition> {
    conditions::get(conditions, DEPENDENCIES_RESOLVED)
        .filter(|condition| condition.reason == Reason::HubNotRunning.as_str())
}

/// Whether a status reports the resource as ready.
pub fn is_ready(status: Option<&ResourceStatus>) -> bool {
    let ready = status.and_then(|status| conditions::get(&status.conditions, READY));
    ready.is_some_and(|ready| ready.status == State::True.as_str())
}

/// A plan is shown from the time it awaits approval until it is complete; then its approval is not valid any more.
fn plan_of(outcome: &Outcome, status: &mut ResourceStatus) {
    match outcome {
        Outcome::AwaitingApproval(plan) | Outcome::Approved(plan) => status.plan = Some((**plan).clone()),
        Outcome::Keeps(why) | Outcome::Unanswered(why) => status.plan = why.plan.as_deref().cloned(),
        Outcome::InPlace | Outcome::Immutable(_) | Outcome::Drifted(_) => {
            if let Some(plan) = status.plan.take() {
                status.completed_plan = Some(plan.hash);
            }
        }
        // The plan is based on inputs that do not exist any more.
        Outcome::Waiting(_) | Outcome::Invalid(_) | Outcome::AdoptionRefused(_) => status.plan = None,
        _ => {}
    }
}

fn with_since(field: &FieldDiff, before: &[FieldDiff], now: Timestamp) -> FieldDiff {
    let first =
        before.iter().find(|b| b.path == field.path && b.have == field.have).and_then(|b| b.since.clone());
    FieldDiff {
        since: first.or_else(|| Some(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())),
        ..field.clone()
    }
}

#[cfg(test)]
mod tests;
