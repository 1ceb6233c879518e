//! Changes remote objects in place, one call per reconcile. Client required.

use std::sync::Arc;

use kraken_api::{DISRUPTION_GROUP_LABEL, FieldDiff, reasons::Reason};
use kraken_kind::dynamic::{Calls, Change, Kind};
use kraken_model::{
    decide::Planned,
    memory::{Changed, Memory, Unseen},
    observation::Observation,
    outcome::{FailureRow, Outcome, Rejects, refused},
    secrecy,
};
use kube::Resource;
use tokio::time::Instant;

use crate::{
    actions::{event::publish_event, operate::operate},
    context::{Context, Reconcile, place},
    guarantees,
    shared::disruptions::{Busy, Group, Member},
};

/// The changes in place that are due.
#[derive(Debug)]
pub(super) struct Due {
    pub changes: Vec<Planned<Change>>,
    /// The reason of the event: the differences are drift, or an edit.
    pub is_drift: bool,
}

/// The disruption group of the resource, and what it has to say in it.
pub(super) fn disruption_group(reconcile: &Reconcile<'_>) -> (Group, Member) {
    let (namespace, name) = place(&*reconcile.object);
    let label = reconcile.object.meta().labels.as_ref().and_then(|labels| labels.get(DISRUPTION_GROUP_LABEL));
    let max = reconcile.lifecycle().max_unavailable.and_then(|max| usize::try_from(max).ok()).unwrap_or(1);
    let name = format!("{} {name}", reconcile.context.info().name);
    let member = Member { uid: reconcile.identity.uid.clone(), name, max };
    ((namespace, label.cloned().unwrap_or_default()), member)
}

/// Whether another resource of the group has objects that this process did not observe.
fn is_any_unobserved(context: &Context, group: &Group, own: &str) -> bool {
    let mut is_any = false;
    context.objects.visit_raw(|other| {
        let meta = &other.metadata;
        let uid = meta.uid.as_deref().unwrap_or_default();
        let label = meta.labels.as_ref().and_then(|labels| labels.get(DISRUPTION_GROUP_LABEL));
        is_any |= meta.namespace.as_deref() == Some(group.0.as_str())
            && label.map_or("", String::as_str) == group.1
            && uid != own
            && other.status.as_ref().is_some_and(|status| status.get().contains("\"externalIds\""))
            && !context.disruptions.is_observed(uid);
    });
    is_any
}

/// Waits until no more resources of the group are disrupted than may be; returns the group.
fn permit(reconcile: &Reconcile<'_>, what: &str) -> Result<Group, Outcome> {
    let (group, member) = disruption_group(reconcile);
    let context = &reconcile.context;
    let opens_in = context.first_window().filter(|_| is_any_unobserved(context, &group, &member.uid));
    let begun = context.disruptions.begin(&group, member, opens_in);
    begun.map(|()| group).map_err(|Busy { why, left }| {
        Outcome::NotVisibleYet(Reason::Updating, format!("waiting before the change \"{what}\": {why}"), left)
    })
}

/// Makes the first change that is due, unless it was made already and may only not be visible yet. A change that was rejected, or
/// has no effect, does not hold up those of other fields.
pub(super) async fn change(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    due: Due,
) -> Outcome {
    let Due { changes, is_drift } = due;
    let kind = &*reconcile.context.kind;
    let mut due: Vec<Described> =
        changes.into_iter().map(|change| (description(kind, &change), change)).collect();
    let changed = &mut reconcile.memory.changes.changed;
    changed.retain(|changed| due.iter().any(|(what, _)| changed.what == *what));
    let ordered = reconcile.context.info().ordered_fields;
    let next = match next(changed, &due, ordered) {
        Ok(next) => next,
        Err(outcome) => return outcome,
    };
    let (what, Planned { field, change, is_disruptive }) = due.remove(next);
    let group = match is_disruptive.then(|| permit(reconcile, &what)).transpose() {
        Ok(group) => group,
        Err(outcome) => return outcome,
    };
    guarantees::changes(reconcile, observation, &change, is_drift);
    let (effective, current) = (observation.effective(), &observation.current);
    let (owner, desired, before) = (reconcile.identity.clone(), effective.clone(), current.clone());
    let call =
        |external: Arc<dyn Calls>| async move { external.update(&owner, &change, &desired, &before).await };
    let updated = operate(reconcile, Reason::Updating, &what, call).await;
    let Reconcile { context, memory, identity, .. } = reconcile;
    let failed = updated.as_ref().err().map(|failure| FailureRow::of(failure.class));
    if failed.is_none_or(|row| row.may_have_changed) {
        let (path, what, desired) = (field.path.clone(), what.clone(), effective.clone());
        memory.changes.unseen.retain(|before| before.path != path);
        memory.changes.unseen.push(Unseen { path, what, desired, at: Instant::now() });
    }
    if let Err(failure) = updated {
        if failed.is_some_and(|row| row.rejects == Rejects::Call) {
            note(memory, &what, true);
        }
        if let Some(group) = group.filter(|_| context.kind.disrupted(current).0.is_empty()) {
            context.disruptions.returned(&group, &identity.uid);
        }
        return refused(failure, Reason::Updating);
    }
    let changed = note(memory, &what, false);
    if changed.times == 1 {
        publish_event(reconcile, reason(&*reconcile.context.kind, &field.path, is_drift), &what).await;
    }
    let is_held_up = |(index, (_, other)): (usize, &Described)| {
        is_related(&other.field.path, &field.path)
            || (index >= next && is_ordered(ordered, &field.path, &other.field.path))
    };
    if changed.is_stuck() && due.iter().enumerate().all(is_held_up) {
        return Outcome::ChangeHadNoEffect(changed.had_no_effect());
    }
    Outcome::Changed(what)
}

/// A change that is due, with its description.
type Described = (String, Planned<Change>);

/// The index of the change to make now: the first one, in their order, of a field that is not stuck. If all are, the one that was
/// tried the longest time ago.
fn next(changed: &[Changed], due: &[Described], ordered: &[&str]) -> Result<usize, Outcome> {
    let record = |what: &String| changed.iter().find(|changed| changed.what == *what);
    let is_stuck = |(what, _): &&Described| record(what).is_some_and(Changed::is_stuck);
    let stuck: Vec<(usize, &str)> = due
        .iter()
        .enumerate()
        .filter(|(_, due)| is_stuck(due))
        .map(|(index, (_, due))| (index, due.field.path.as_str()))
        .collect();
    let is_free = |index: usize, path: &str| {
        !stuck.iter().any(|(earlier, other)| {
            is_related(other, path) || (*earlier < index && is_ordered(ordered, other, path))
        })
    };
    let mut all = due.iter().enumerate();
    if let Some((index, _)) = all.find(|(index, (_, due))| is_free(*index, &due.field.path)) {
        let Some(left) = record(&due[index].0).and_then(Changed::left) else { return Ok(index) };
        let message = format!("{}; waiting for the change to become visible", due[index].0);
        return Err(Outcome::NotVisibleYet(Reason::Updating, message, left));
    }
    let all = due.iter().enumerate().filter(|(_, due)| is_stuck(due));
    let oldest =
        all.filter_map(|(index, (what, _))| Some((index, record(what)?))).min_by_key(|(_, one)| one.at);
    match oldest {
        Some((_, changed)) if changed.left().is_some() => {
            Err(Outcome::ChangeHadNoEffect(changed.had_no_effect()))
        }
        Some((index, _)) => Ok(index),
        None => Err(Outcome::InPlace),
    }
}

/// Whether one of two fields is a part of the other: their changes are made in order.
fn is_related(one: &str, other: &str) -> bool {
    let is_in = |part: &str, whole: &str| {
        part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    is_in(one, other) || is_in(other, one)
}

/// Whether changes of two fields are made one after the other.
fn is_ordered(ordered: &[&str], one: &str, other: &str) -> bool {
    let (one, other) = (secrecy::top(one), secrecy::top(other));
    one != other && ordered.contains(&one) && ordered.contains(&other)
}

/// Records a change that the provider accepted or rejected.
fn note(memory: &mut Memory, what: &str, is_rejected: bool) -> Changed {
    let before = memory.changes.changed.iter().position(|changed| changed.what == what);
    let before =
        before.map(|index| memory.changes.changed.remove(index)).filter(|before| !before.is_rejected);
    let times = before.map_or(0, |changed| changed.times) + u32::from(!is_rejected);
    let changed = Changed { what: what.to_owned(), times, is_rejected, at: Instant::now() };
    memory.changes.changed.push(changed.clone());
    changed
}

/// The outcome if fields do not differ only because an edit was reverted whose change is not visible yet. A field that differs,
/// such as `fixed`, is not reverted: it is reported at once, for example if the provider rejected the next call of a change.
pub(super) fn unseen(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    fixed: &[(FieldDiff, String)],
) -> Option<Outcome> {
    let Reconcile { context, memory, .. } = reconcile;
    let clock = observation.clock;
    memory.changes.unseen.retain(|unseen| {
        unseen.left(clock).is_some()
            && unseen.is_hidden(&*context.kind, &observation.current)
            && !fixed.iter().any(|(field, _)| unseen.is_of(&field.path))
    });
    let unseen = memory.changes.unseen.last()?;
    let message = format!("{}, which is reverted; waiting for the change to become visible", unseen.what);
    Some(Outcome::NotVisibleYet(Reason::Updating, message, unseen.left(clock)?))
}

fn description(kind: &dyn Kind, Planned { field, change, .. }: &Planned<Change>) -> String {
    kind.describe_change(change).unwrap_or_else(|| match field.path.as_str() {
        "" => format!("changed {} to {}", field.have, field.want),
        path => format!("changed spec.{path} from {} to {}", field.have, field.want),
    })
}

/// The reason of the event.
fn reason(kind: &dyn Kind, path: &str, is_drift: bool) -> Reason {
    let missing_path = kind.info().missing_path;
    match () {
        () if is_drift => Reason::DriftReverted,
        () if !missing_path.is_empty() && path == missing_path => Reason::Scaled,
        () => Reason::Updated,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn due(paths: &[&str]) -> Vec<Described> {
        let one = |path: &&str| {
            let field = FieldDiff::new(*path, "a", "b");
            let planned = Planned { field, change: Change::new(json!(path)), is_disruptive: false };
            (format!("changed {path}"), planned)
        };
        paths.iter().map(one).collect()
    }

    /// The path of the change to make, or the milliseconds to wait.
    fn chosen(memory: &Memory, paths: &[&str]) -> Result<String, Option<u128>> {
        let all = due(paths);
        match next(&memory.changes.changed, &all, &["routes", "subnets"]) {
            Ok(index) => Ok(all[index].1.field.path.clone()),
            Err(Outcome::NotVisibleYet(_, _, left)) => Err(Some(left.as_millis())),
            Err(Outcome::ChangeHadNoEffect(_)) => Err(None),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn invisible_change_is_repeated_with_backoff_and_then_reported() {
        let mut memory = Memory::default();
        for delay in [1000, 2000, 4000, 8000] {
            assert_eq!(chosen(&memory, &["size"]), Ok("size".to_owned()));
            assert!(!note(&mut memory, "changed size", false).is_stuck());
            assert_eq!(chosen(&memory, &["size"]), Err(Some(delay)));
            tokio::time::advance(Duration::from_millis(100)).await;
            assert_eq!(chosen(&memory, &["size"]), Err(Some(delay - 100)));
            tokio::time::advance(Duration::from_secs(8)).await;
        }
        assert!(note(&mut memory, "changed size", false).is_stuck());
        assert_eq!(chosen(&memory, &["size"]), Err(None));
    }

    #[tokio::test(start_paused = true)]
    async fn changes_of_one_field_are_made_in_order_and_those_of_others_go_on_when_one_is_stuck() {
        let mut memory = Memory::default();
        let all = ["ingress", "ingress.description", "egress", "tags.A"];
        note(&mut memory, "changed ingress", false);
        assert_eq!(chosen(&memory, &all), Err(Some(1000)), "the next one may need it");
        for _ in 1..5 {
            note(&mut memory, "changed ingress", false);
        }
        assert_eq!(chosen(&memory, &all), Ok("egress".to_owned()));
        note(&mut memory, "changed egress", true);
        assert_eq!(chosen(&memory, &all), Ok("tags.A".to_owned()));
        note(&mut memory, "changed tags.A", true);
        // All are stuck: one after the other.
        assert_eq!(chosen(&memory, &all), Err(None));
        tokio::time::advance(Duration::from_secs(16)).await;
        assert_eq!(chosen(&memory, &all), Ok("ingress".to_owned()));
        note(&mut memory, "changed ingress", false);
        assert_eq!(chosen(&memory, &all), Ok("egress".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn rejected_change_holds_up_the_later_ones_of_an_ordered_field() {
        let mut memory = Memory::default();
        let all = ["routes[1]", "routes[2]", "subnets[a]", "tags.A"];
        note(&mut memory, "changed routes[1]", true);
        assert_eq!(chosen(&memory, &all), Ok("routes[2]".to_owned()), "items of one field are independent");
        note(&mut memory, "changed routes[2]", true);
        assert_eq!(chosen(&memory, &all), Ok("tags.A".to_owned()), "no subnet without its routes");
        note(&mut memory, "changed subnets[a]", true);
        assert_eq!(chosen(&memory, &["routes[3]", "subnets[a]"]), Ok("routes[3]".to_owned()));
    }
}
