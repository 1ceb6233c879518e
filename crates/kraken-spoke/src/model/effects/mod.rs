//! What an edit or a deletion of a resource will do to its remote objects, said at admission. Pure.
//!
//! It follows from both specs, the lifecycle and the status, without a look at the remote objects: the comparison with them decides
//! later, and makes no other kind of change. A resource without remote objects has no effects.

mod fields;
mod held_back;

use kraken_api::{Approval, Disruption, Lifecycle, Replace, effect::Effect};
use kube::core::object::HasStatus;

use crate::{
    Edit, Ignored,
    dynamic::{DynKind, Object},
    model::{
        ids::{listed, without},
        intent::Intent,
        release_policy::{ReleasePolicy, adopted},
    },
};
use fields::{Edited, edited, numbers};

/// The effects of an edit, each as a sentence about the resource; the effects that a person must know come first.
/// `dependents` refer to the resource, and matter only if it [is replaced](replaces).
pub(crate) fn of_edit(
    kind: &dyn DynKind,
    before: &Object,
    after: &Object,
    dependents: &[String],
) -> Vec<String> {
    let ids = external_ids(before);
    let fields = edits(kind, before, after);
    if ids.is_empty() {
        return vec![];
    }
    let released = held_back::released(before, after, &ids, dependents);
    if fields.is_empty() {
        return released.into_iter().collect();
    }
    if after.lifecycle().paused {
        let words = Effect::ChangesNothing.words();
        return vec![format!("{words} while lifecycle.paused is true: {}", shown(&fields))];
    }
    let each = [Edit::Replaces, Edit::Stops, Edit::Scales, Edit::Waits, Edit::InPlace];
    let effects = each.into_iter().filter_map(|edit| {
        let (same, _): (Vec<_>, Vec<_>) = fields.iter().cloned().partition(|field| field.edit == edit);
        (!same.is_empty()).then(|| effect(edit, &same, after.lifecycle(), &ids, dependents))
    });
    released.into_iter().chain(effects).collect()
}

/// Whether an edit may replace remote objects, so that the dependents of the resource change too.
pub(crate) fn replaces(kind: &dyn DynKind, before: &Object, after: &Object) -> bool {
    after.lifecycle().replace != Replace::Never
        && !external_ids(before).is_empty()
        && (held_back::is_replacement(before, after)
            || edits(kind, before, after).iter().any(|field| field.edit == Edit::Replaces))
}

/// Whether the deletion of a resource deletes remote objects, so that its dependents must be deleted first.
pub(crate) fn deletes(object: &Object) -> bool {
    let (ids, intent) = (external_ids(object), Intent::of(object));
    let adopted = adopted(object.status(), intent.as_ref());
    let policy = ReleasePolicy::of(object.lifecycle(), &adopted, intent.as_ref());
    object.metadata.deletion_timestamp.is_none() && ids.iter().any(|id| !policy.keeps(id))
}

/// The effects of a deletion; `dependents` must be deleted first.
pub(crate) fn of_deletion(object: &Object, dependents: &[String]) -> Vec<String> {
    let (ids, intent) = (external_ids(object), Intent::of(object));
    if object.metadata.deletion_timestamp.is_some() || ids.is_empty() {
        return vec![];
    }
    let (adopted, lifecycle) = (adopted(object.status(), intent.as_ref()), object.lifecycle());
    let policy = ReleasePolicy::of(lifecycle, &adopted, intent.as_ref());
    let silently = policy.silently_kept(&ids);
    let (kept, deleted): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| policy.keeps(id));
    let stated = without(&kept, &silently);
    let mut effects = vec![];
    if !deleted.is_empty() {
        let approval = approval(lifecycle);
        let after = if dependents.is_empty() {
            String::new()
        } else {
            let count = dependents.len();
            let noun = if count == 1 { "dependent" } else { "dependents" };
            format!(", after {count} {noun}: {}", listed(dependents))
        };
        let words = Effect::Deletes.words();
        effects.push(format!("{words} {} in the cloud{approval}{after}", listed(&deleted)));
    }
    if !silently.is_empty() {
        effects.push(format!(
            "{} {} in the cloud, because it was adopted; to delete it, set spec.lifecycle.deletion to Delete before the deletion is \
             complete",
            Effect::Keeps.words(),
            listed(&silently)
        ));
    }
    if !stated.is_empty() {
        let words = Effect::Keeps.words();
        effects.push(format!("{words} {} in the cloud: lifecycle.deletion is Retain", listed(&stated)));
    }
    effects
}

fn external_ids(object: &Object) -> Vec<String> {
    object.status().map(|status| status.external_ids.clone()).unwrap_or_default()
}

/// The edited fields that the resource manages.
fn edits(kind: &dyn DynKind, before: &Object, after: &Object) -> Vec<Edited> {
    let ignored = Ignored::new(&after.lifecycle().ignore_changes);
    let mut fields = edited(&before.spec().json(), &after.spec().json(), |field| {
        kind.edit_of(before.spec(), after.spec(), field)
    });
    fields.retain(|field| !ignored.covers(&field.path) && !matches!(field.edit, Edit::Nothing | Edit::Keeps));
    fields
}

fn effect(
    edit: Edit,
    fields: &[Edited],
    lifecycle: &Lifecycle,
    ids: &[String],
    dependents: &[String],
) -> String {
    let (ids, what, approval) = (listed(ids), shown(fields), approval(lifecycle));
    let says = |effect: Effect, rest: String| format!("{} {rest}: {what}", effect.words());
    match edit {
        Edit::Replaces if lifecycle.replace == Replace::Never => says(
            Effect::CannotChange,
            format!(
                "{ids} in place, and lifecycle.replace is Never, so that it stays as it is and Ready becomes False"
            ),
        ),
        Edit::Replaces if lifecycle.protect => {
            says(Effect::Waits, format!("lifecycle.protect: false, because it replaces {ids}"))
        }
        Edit::Replaces => {
            let then = if dependents.is_empty() {
                String::new()
            } else {
                format!(", and then changes {}", listed(dependents))
            };
            says(Effect::Replaces, format!("{ids} ({:?}){approval}{then}", lifecycle.replace))
        }
        Edit::Stops if lifecycle.disruption == Disruption::Forbid => {
            says(Effect::Waits, format!("lifecycle.disruption: Allow, because it stops {ids}"))
        }
        Edit::Stops => says(Effect::Stops, format!("{ids}{approval}")),
        Edit::Waits => says(Effect::IsApplied, format!("{ids} is stopped for another reason")),
        Edit::Scales => match fields.iter().find_map(numbers) {
            Some((before, after)) if after < before => says(
                Effect::Deletes,
                format!("{} of {before} objects, the newest first{approval}", before - after),
            ),
            Some((before, after)) => says(Effect::Creates, format!("{} more{approval}", after - before)),
            None => says(Effect::Changes, format!("the number of objects{approval}")),
        },
        Edit::InPlace | Edit::Keeps | Edit::Nothing => {
            says(Effect::Changes, format!("{ids} in place{approval}"))
        }
    }
}

fn approval(lifecycle: &Lifecycle) -> &'static str {
    if lifecycle.approval == Approval::Manual { " after its plan is approved" } else { "" }
}

fn shown(fields: &[Edited]) -> String {
    fields.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
