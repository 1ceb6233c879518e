//! Which instances are stopped for a change that AWS makes only on a stopped one: one at a time, if the lifecycle allows it.
//!
//! An instance is marked before it is stopped (see [`crate::mark`]). Each step is decided from the instance's state and
//! mark, so that it continues after a crash at any point, and an instance that Kraken stopped is started again even if the
//! edit is reverted, the change is rejected, or a stopped instance is not drift.

use std::collections::BTreeSet;

use kraken_aws::{
    fields::listed,
    resource::{self, Group},
};
use kraken_kind::{Difference, FieldDiff, Remedy};

use crate::{
    api::{Change, Desired, UserDataChange},
    instance::Instance,
    mark::Mark,
};

/// The path of differences that exist only because of an allowed disruption.
const DISRUPTION: &str = "lifecycle.disruption";

const USER_DATA: &str = "userData";

/// A change of the instances with some ids.
type ChangeOfIds = resource::Change<Change>;

/// A field with the instances where it differs.
type Field<'a, C = Change> = Group<'a, Instance, C>;

/// What happens next to a field that AWS changes only on a stopped instance.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// Nothing: AWS rejected the value before.
    Rejected,
    /// It is changed: Kraken stopped the instance for it.
    Resume,
    /// It is changed, because the instance happens to be stopped.
    Change,
    /// The instance must be stopped first.
    Stop,
    /// Nothing: AWS cannot stop the instance.
    Unstoppable,
    /// Nothing, until the instance is stopped for another reason: the spec does not request a stop.
    Wait,
}

impl Step {
    fn of(instance: &Instance, field: &Field<'_>, desired: &Desired) -> Self {
        let mark = Mark::of(&instance.tags);
        if mark.refuses(&field.path, desired) {
            Self::Rejected
        } else if instance.is("stopped") {
            if mark.stop { Self::Resume } else { Self::Change }
        } else if !instance.can_be_stopped() {
            Self::Unstoppable
        } else if field.path == USER_DATA && !stops_for_user_data(desired) {
            Self::Wait
        } else {
            Self::Stop
        }
    }
}

/// The differences, in this order: other fields are changed, or reported as fixed; stopped instances are changed, then
/// started; then an obsolete mark is removed; then the next running instance is stopped.
pub(crate) fn remedies(
    desired: &Desired,
    kept: &[&Instance],
    all: Vec<Field<'_>>,
) -> Vec<Difference<ChangeOfIds>> {
    let (fields, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|field| matches!(field.remedy, Remedy::Disruptive(..)));
    let (fixed, mut found): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|field| matches!(field.remedy, Remedy::Immutable(_)));
    // No instance is stopped for a spec that is invalid or requires a replacement.
    let is_fixed = !fixed.is_empty();
    found.extend(fixed);
    for field in &fields {
        let Remedy::Disruptive(change, _) = &field.remedy else { continue };
        found.extend(part(field, Step::Resume, desired, |_| Remedy::Resume(change.clone())));
        found.extend(part(field, Step::Change, desired, |_| Remedy::Change(change.clone())));
    }
    found.extend(Group::all(kept, |instance| start(instance).into_iter().collect()));
    let mut found: Vec<_> =
        found.into_iter().map(|field| field.map(resource::Change::Own).difference()).collect();
    found.extend(clear_a_mark(desired, kept, &fields));
    let next = next(desired, &fields);
    for field in &fields {
        let stop = part(field, Step::Stop, desired, |ids| match &next {
            Some(next) if !is_fixed => Remedy::Disruptive(next.clone(), manual_stop_hint(&ids)),
            _ => Remedy::Immutable("it is changed after the fields that are set at launch only".to_owned()),
        });
        let unstoppable = part(field, Step::Unstoppable, desired, |_| {
            let why = "AWS changes it only on a stopped instance, and one whose root device is an instance store \
                       cannot be stopped: restore the old value, or let Kraken replace the instances \
                       (spec.lifecycle.replace)";
            Remedy::Immutable(why.to_owned())
        });
        let waits = part(field, Step::Wait, desired, |ids| Remedy::Immutable(waits_for_a_stop(&ids)));
        let rejected = part(field, Step::Rejected, desired, |ids| Remedy::Immutable(rejected_value(&ids)));
        found.extend([stop, unstoppable, waits, rejected].into_iter().flatten().map(with_values));
    }
    found
}

/// The instances where this is the next step of a field, with the remedy for their ids.
fn part<'a, C>(
    field: &Field<'a>,
    step: Step,
    desired: &Desired,
    remedy: impl FnOnce(Vec<String>) -> Remedy<C>,
) -> Option<Field<'a, C>> {
    field.part(|instance| Step::of(instance, field, desired) == step, remedy)
}

/// A stopped instance is started. If Kraken did not stop it, this is drift, and can be ignored.
fn start(instance: &Instance) -> Option<Difference<Change>> {
    let (path, have, remedy) = if Mark::of(&instance.tags).stop {
        (DISRUPTION, "stopped for a change", Remedy::Resume(Change::Start))
    } else {
        ("state", "stopped", Remedy::Change(Change::Start))
    };
    instance.is("stopped").then(|| Difference { field: FieldDiff::new(path, "running", have), remedy })
}

/// A running instance without differences has been started again: its mark is removed, except for a rejected value that is
/// still desired.
fn clear_a_mark(
    desired: &Desired,
    kept: &[&Instance],
    fields: &[Field<'_>],
) -> Option<Difference<ChangeOfIds>> {
    let after = |instance: &Instance| {
        let before = Mark::of(&instance.tags);
        let differs = |field: &&Field<'_>| field.ids().contains(&instance.instance_id);
        let steps: Vec<_> =
            fields.iter().filter(differs).map(|field| Step::of(instance, field, desired)).collect();
        let is_refused = steps.contains(&Step::Rejected);
        let waits = steps.iter().any(|step| !matches!(step, Step::Rejected | Step::Wait));
        let after =
            Mark { stop: before.stop && waits, refused: before.refused.clone().filter(|_| is_refused) };
        (after != before).then_some(after)
    };
    let mut running = kept.iter().filter(|instance| instance.is("running"));
    let (id, mark) = running.find_map(|instance| Some((instance.instance_id.clone(), after(instance)?)))?;
    let field = FieldDiff::new(DISRUPTION, "done", "running again");
    Some(Difference { field, remedy: Remedy::Resume(resource::Change::Own(Change::Mark(mark), vec![id])) })
}

/// One instance at a time, and first the one that is marked for it already.
fn next(desired: &Desired, fields: &[Field<'_>]) -> Option<ChangeOfIds> {
    let all =
        fields.iter().flat_map(|field| field.objects.iter().map(move |(instance, _)| (field, *instance)));
    let waiting = all.filter(|(field, instance)| Step::of(instance, field, desired) == Step::Stop);
    let next = waiting.map(|(_, instance)| instance).min_by_key(|one| !Mark::of(&one.tags).stop)?;
    let mark = Mark::of(&next.tags);
    let change = if mark.stop { Change::Stop } else { Change::Mark(Mark { stop: true, ..mark }) };
    Some(resource::Change::Own(change, vec![next.instance_id.clone()]))
}

/// The difference with the values only, so that an approved plan continues while one instance at a time is changed.
fn with_values(field: Field<'_, ChangeOfIds>) -> Difference<ChangeOfIds> {
    let values: BTreeSet<&str> = field.objects.iter().map(|(_, have)| have.as_str()).collect();
    let have = listed(&values.into_iter().collect::<Vec<_>>());
    Difference { field: FieldDiff::new(field.path, field.want, have), remedy: field.remedy }
}

fn manual_stop_hint(ids: &[String]) -> String {
    format!(
        "AWS changes it only on a stopped instance, and lifecycle.disruption does not allow Kraken to stop one (it is \
         unavailable for some minutes, and its public address changes unless that is an Elastic IP): stop {}, and Kraken \
         changes and starts it",
        listed(ids)
    )
}

/// Whether an instance is stopped for other user data, which AWS does not run again.
fn stops_for_user_data(desired: &Desired) -> bool {
    desired.user_data_change.as_ref().is_some_and(|change| *change.expose() == UserDataChange::Stop)
}

fn waits_for_a_stop(ids: &[String]) -> String {
    format!(
        "AWS changes it only on a stopped instance, and does not run it again: it is changed when {} is stopped for another reason; to let \
         Kraken stop it for this, set userDataChange to Stop and lifecycle.disruption to Allow; for a new instance, which runs it, set \
         lifecycle.replace",
        listed(ids)
    )
}

fn rejected_value(ids: &[String]) -> String {
    format!(
        "AWS rejected it while {} was stopped, see the events: set another value; to retry this one, restore the former value until the \
         resource is Ready, then set it again",
        listed(ids),
    )
}
