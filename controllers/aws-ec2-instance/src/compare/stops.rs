//! Fields that AWS changes only on a stopped instance: changed on stopped instances; running ones are stopped for it one
//! at a time, if the lifecycle allows it.
//!
//! An instance is marked before it is stopped (see [`crate::mark`]). Each step is decided from the instance's state and
//! mark, so that it continues after a crash at any point, and an instance that Kraken stopped is started again even if the
//! edit is reverted, the change is rejected, or a stopped instance is not drift.

use std::collections::BTreeSet;

use kraken_aws::fields::listed;
use kraken_spoke::Remedy;

use super::{Change, Differing, Found, NOT_SHOWN, ids, settings::other, shown};
use crate::{
    api::Desired,
    instance::{Instance, Observed},
    mark::{self, Mark},
};

/// The path of differences that exist only because of an allowed disruption.
const DISRUPTION: &str = "lifecycle.disruption";

/// A field with its desired value, and the instances where it differs.
struct Field<'a> {
    path: &'static str,
    want: String,
    differing: Differing<'a>,
    change: fn(Vec<String>) -> Change,
}

/// Compares, in this order: stopped instances are changed, then started; then an obsolete mark is removed; then the
/// next running instance is stopped.
pub(super) fn compare(desired: &Desired, observed: &Observed, found: &mut Found<'_>) {
    let mut fields = fields(desired, observed, found);
    for field in &mut fields {
        let Field { path, want, change, .. } = field;
        let (now, later): (Differing<'_>, Differing<'_>) =
            std::mem::take(&mut field.differing).into_iter().partition(|(instance, _)| {
                instance.state.is_stopped() && !Mark::of(&instance.tags).refuses(path, want)
            });
        field.differing = later;
        let (by_kraken, by_others): (Differing<'_>, Differing<'_>) =
            now.into_iter().partition(|(instance, _)| Mark::of(&instance.tags).stop);
        found.push_by(path, want.clone(), &by_kraken, |ids| Remedy::Resume(change(ids)));
        found.push_all(path, want.clone(), &by_others, *change);
    }
    start(found);
    clear_a_mark(&fields, found);
    stop_the_next(fields, found);
}

fn fields<'a>(desired: &Desired, observed: &Observed, found: &Found<'a>) -> Vec<Field<'a>> {
    let wanted = &desired.instance_type;
    let mut fields = vec![Field {
        path: "instanceType",
        want: shown(wanted),
        differing: found.differing(|instance| other(wanted, instance.instance_type.as_ref())),
        change: Change::InstanceType,
    }];
    if let Some(wanted) = &desired.ebs_optimized {
        fields.push(Field {
            path: "ebsOptimized",
            want: shown(wanted),
            differing: found.differing(|instance| other(wanted, instance.ebs_optimized.as_ref())),
            change: Change::EbsOptimized,
        });
    }
    if let Some(wanted) = &desired.user_data {
        let differing = found.differing(|instance| {
            let have = observed.user_data.get(&instance.instance_id)?;
            (have.0 != wanted.expose().as_bytes()).then(|| NOT_SHOWN.to_owned())
        });
        let (path, want) = ("userData", NOT_SHOWN.to_owned());
        fields.push(Field { path, want, differing, change: Change::UserData });
    }
    fields
}

/// A stopped instance is started. If Kraken did not stop it, this is drift, and can be ignored.
fn start(found: &mut Found<'_>) {
    let stopped = |by_kraken: bool, have: &'static str| {
        move |instance: &Instance| {
            let is_meant = instance.state.is_stopped() && Mark::of(&instance.tags).stop == by_kraken;
            is_meant.then(|| have.to_owned())
        }
    };
    let by_kraken = found.differing(stopped(true, "stopped for a change"));
    found.push_by(DISRUPTION, "running".to_owned(), &by_kraken, |ids| Remedy::Resume(Change::Start(ids)));
    let by_others = found.differing(stopped(false, "stopped"));
    found.push_all("state", "running".to_owned(), &by_others, Change::Start);
}

/// A running instance without differences has been started again: its mark is removed, except for a rejected value that is
/// still desired.
fn clear_a_mark(fields: &[Field<'_>], found: &mut Found<'_>) {
    let after = |instance: &Instance| {
        let before = Mark::of(&instance.tags);
        let mut differing = fields
            .iter()
            .filter(|field| field.differing.iter().any(|(one, _)| one.instance_id == instance.instance_id));
        let is_refused = differing.clone().any(|field| before.refuses(field.path, &field.want));
        let waits = differing.any(|field| !before.refuses(field.path, &field.want));
        let after =
            Mark { stop: before.stop && waits, refused: before.refused.clone().filter(|_| is_refused) };
        (after != before).then_some(after)
    };
    let mut running = found.kept.iter().filter(|instance| instance.state.is_running());
    let next = running.find_map(|instance| Some((instance.instance_id.clone(), after(instance)?)));
    if let Some((id, mark)) = next {
        let remedy = Remedy::Resume(Change::Mark { id, mark });
        found.push(DISRUPTION, "done".to_owned(), "running again".to_owned(), remedy);
    }
}

fn stop_the_next(fields: Vec<Field<'_>>, found: &mut Found<'_>) {
    // One instance at a time, and first the one that is marked for it already.
    let all =
        fields.iter().flat_map(|field| field.differing.iter().map(move |(instance, _)| (field, *instance)));
    let waiting = all.filter(|(field, instance)| {
        instance.can_be_stopped() && !Mark::of(&instance.tags).refuses(field.path, &field.want)
    });
    let next =
        waiting.map(|(_, instance)| instance).min_by_key(|one| !Mark::of(&one.tags).stop).map(|instance| {
            let (id, mark) = (instance.instance_id.clone(), Mark::of(&instance.tags));
            if mark.stop { Change::Stop(id) } else { Change::Mark { id, mark: Mark { stop: true, ..mark } } }
        });
    // No instance is stopped for a spec that is invalid or requires a replacement.
    let is_fixed = found.differences.iter().any(|one| matches!(one.remedy, Remedy::Immutable(_)));
    for Field { path, want, differing, .. } in fields {
        let (refused, rest): (Differing<'_>, Differing<'_>) =
            differing.into_iter().partition(|(instance, _)| Mark::of(&instance.tags).refuses(path, &want));
        let (rest, unstoppable): (Differing<'_>, Differing<'_>) =
            rest.into_iter().partition(|(instance, _)| instance.can_be_stopped());
        if let (Some(next), false) = (&next, rest.is_empty()) {
            let remedy = if is_fixed {
                Remedy::Immutable("it is changed after the fields that are set at launch only".to_owned())
            } else {
                Remedy::Disruptive(next.clone(), manual_stop_hint(&rest))
            };
            found.push(path, want.clone(), values(&rest), remedy);
        }
        if !unstoppable.is_empty() {
            let why = "AWS changes it only on a stopped instance, and one whose root device is an instance store \
                       cannot be stopped: restore the old value, or let Kraken replace the instances \
                       (spec.lifecycle.replace)";
            found.push(path, want.clone(), values(&unstoppable), Remedy::Immutable(why.to_owned()));
        }
        if !refused.is_empty() {
            let remedy = Remedy::Immutable(rejected_value(&refused));
            found.push(path, want, values(&refused), remedy);
        }
    }
}

fn manual_stop_hint(instances: &Differing<'_>) -> String {
    format!(
        "AWS changes it only on a stopped instance, and lifecycle.disruption does not allow Kraken to stop one (it is \
         unavailable for some minutes, and its public address changes unless that is an Elastic IP): stop {}, and Kraken \
         changes and starts it",
        listed(&ids(instances.iter().map(|(instance, _)| instance)))
    )
}

fn rejected_value(instances: &Differing<'_>) -> String {
    format!(
        "AWS rejected it while {} was stopped, see the events: set another value, or remove the tag {} from the \
         instance to retry",
        listed(&ids(instances.iter().map(|(instance, _)| instance))),
        mark::KEY,
    )
}

/// The values only, so that an approved plan continues while one instance at a time is changed.
fn values(differing: &Differing<'_>) -> String {
    let values: BTreeSet<&str> = differing.iter().map(|(_, have)| have.as_str()).collect();
    listed(&values.into_iter().collect::<Vec<_>>())
}
