//! What an edit or a deletion of a resource will do to its remote objects, said at admission. Pure.
//!
//! It follows from both specs, the lifecycle and the status, without a look at the remote objects: the comparison with them decides
//! later, and makes no other kind of change. A resource without remote objects has no effects.

mod fields;
mod held_back;
mod lookup;

use std::{borrow::Cow, collections::BTreeSet};

use fields::{Edited, edited, numbers};
use kraken_api::{
    Approval, Disruption, FieldDiff, Lifecycle, Replace,
    effect::{Effect, shortened},
};
use kraken_kind::{
    Edit, Ignored,
    dynamic::{Kind, Object},
};
use kube::core::object::HasStatus;

use crate::{
    ids::{listed, without},
    ledger,
    policy::retention::{ReleasePolicy, adopted},
};

pub use lookup::OfLookup;

/// The effects of an edit.
#[derive(Debug)]
pub struct OfEdit<'a> {
    before: &'a Object,
    after: &'a Object,
    ids: Vec<String>,
    fields: Vec<Edited>,
    /// As [`kraken_kind::Kind::contains`].
    contains: Cow<'static, str>,
}

impl<'a> OfEdit<'a> {
    /// Those of an edit that makes the one object of the other.
    pub fn new(kind: &dyn Kind, before: &'a Object, after: &'a Object) -> Self {
        let ids = external_ids(before);
        let fields = if ids.is_empty() { vec![] } else { edits(kind, before, after) };
        Self { before, after, ids, fields, contains: kind.contains(after.spec()) }
    }

    /// Without the fields whose effect a comparison with the cloud shows.
    #[must_use]
    pub fn without_decided(mut self) -> Self {
        self.fields.retain(|field| field.edit != Edit::Decided);
        self
    }

    /// Whether it may replace remote objects, so that the dependents of the resource change too.
    pub fn replaces(&self) -> bool {
        self.after.lifecycle().replace != Replace::Never
            && !self.ids.is_empty()
            && (held_back::is_replacement(self.before, self.after)
                || self.fields.iter().any(|field| field.edit == Edit::Replaces))
    }

    /// Each as a sentence about the resource; those that a person must know come first. `dependents` refer to the resource, and matter
    /// only if it [is replaced](Self::replaces).
    pub fn said(&self, dependents: &[String]) -> Vec<String> {
        let Self { before, after, ids, fields, contains } = self;
        if ids.is_empty() {
            return vec![];
        }
        let released = held_back::released(before, after, (ids, contains), dependents);
        if fields.is_empty() {
            return released.into_iter().collect();
        }
        if after.lifecycle().paused {
            let words = Effect::ChangesNothing.words();
            return vec![format!("{words} while lifecycle.paused is true: {}", shown(fields.iter()))];
        }
        let each = [Edit::Replaces, Edit::Stops, Edit::Scales, Edit::Decided, Edit::Waits, Edit::InPlace];
        let effects = each.into_iter().filter_map(|edit| {
            let same: Vec<&Edited> = fields.iter().filter(|field| field.edit == edit).collect();
            (!same.is_empty()).then(|| effect(edit, &same, after.lifecycle(), (ids, contains), dependents))
        });
        released.into_iter().chain(effects).collect()
    }
}

/// The effects of a deletion.
#[derive(Debug, Default)]
pub struct OfDeletion {
    deleted: Vec<String>,
    /// The ids that are kept although the spec does not state it.
    silently_kept: Vec<String>,
    kept: Vec<String>,
    /// As [`kraken_kind::Kind::contains`].
    contains: Cow<'static, str>,
    approval: &'static str,
}

impl OfDeletion {
    /// Those of the deletion of this object; none if it is being deleted already.
    pub fn new(kind: &dyn Kind, object: &Object) -> Self {
        if object.metadata.deletion_timestamp.is_some() {
            return Self::default();
        }
        let (ids, ledger) = (external_ids(object), ledger::of(object));
        let (adopted, lifecycle) = (adopted(object.status(), ledger.as_ref()), object.lifecycle());
        let policy = ReleasePolicy::of(lifecycle, &adopted, ledger.as_ref());
        let silently_kept = policy.silently_kept(&ids);
        let (kept, deleted): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| policy.keeps(id));
        let kept = without(&kept, &silently_kept);
        let contains = kind.contains(object.spec());
        Self { deleted, silently_kept, kept, contains, approval: approval(lifecycle) }
    }

    /// Whether it deletes remote objects, so that the dependents of the resource must be deleted first.
    pub fn deletes(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Each as a sentence about the resource; `dependents` must be deleted first.
    pub fn said(&self, dependents: &[String]) -> Vec<String> {
        let Self { deleted, silently_kept, kept, contains, approval } = self;
        let (deletes, keeps) = (Effect::Deletes.words(), Effect::Keeps.words());
        let mut effects = vec![];
        if !deleted.is_empty() {
            let after = match dependents.len() {
                0 => String::new(),
                1 => format!(", after 1 dependent: {}", listed(dependents)),
                count => format!(", after {count} dependents: {}", listed(dependents)),
            };
            let with = with(contains);
            effects.push(format!("{deletes} {}{with} in the cloud{approval}{after}", listed(deleted)));
        }
        if !silently_kept.is_empty() {
            effects.push(format!(
                "{keeps} {} in the cloud, because it was adopted; to delete it, set spec.lifecycle.deletion to Delete before the \
                 deletion is complete",
                listed(silently_kept)
            ));
        }
        if !kept.is_empty() {
            effects.push(format!("{keeps} {} in the cloud: lifecycle.deletion is Retain", listed(kept)));
        }
        effects
    }
}

fn external_ids(object: &Object) -> Vec<String> {
    object.status().map(|status| status.external_ids.clone()).unwrap_or_default()
}

/// The edited fields that the resource manages.
fn edits(kind: &dyn Kind, before: &Object, after: &Object) -> Vec<Edited> {
    let ignored = Ignored::new(&after.lifecycle().ignore_changes);
    let mut fields = edited(&before.spec().json(), &after.spec().json(), |field| {
        kind.edit_of(before.spec(), after.spec(), field)
    });
    fields.retain(|field| !ignored.covers(&field.path) && !matches!(field.edit, Edit::Nothing | Edit::Keeps));
    fields
}

/// The fields that a request edits, as paths below `spec`.
#[derive(Debug, Default)]
pub struct EditedFields {
    /// Those whose effect both specs tell.
    pub announced: BTreeSet<String>,
    /// Those whose effect only a comparison tells ([`Edit::Decided`]).
    pub decided: BTreeSet<String>,
    /// Whether every difference comes from the change: it is one of the kind's form.
    pub are_all: bool,
}

impl EditedFields {
    /// Those that differ between the two objects.
    pub fn between(kind: &dyn Kind, before: &Object, after: &Object) -> Self {
        let (decided, announced): (Vec<_>, Vec<_>) =
            edits(kind, before, after).into_iter().partition(|field| field.edit == Edit::Decided);
        let paths = |fields: Vec<Edited>| fields.into_iter().map(|field| field.path).collect();
        Self { announced: paths(announced), decided: paths(decided), are_all: false }
    }
}

/// Observed differences as the edits of a spec are shown.
pub fn differing(fields: &[FieldDiff]) -> String {
    let each = fields.iter().map(|FieldDiff { path, have, want, .. }| {
        format!("{path} {} -> {}", shortened(have), shortened(want))
    });
    each.collect::<Vec<_>>().join("; ")
}

fn effect(
    edit: Edit,
    fields: &[&Edited],
    lifecycle: &Lifecycle,
    (ids, contains): (&[String], &str),
    dependents: &[String],
) -> String {
    let (ids, what, approval) = (listed(ids), shown(fields.iter().copied()), approval(lifecycle));
    let says = |effect: Effect, rest: String| format!("{} {rest}: {what}", effect.words());
    match edit {
        Edit::Replaces if lifecycle.replace == Replace::Never => says(
            Effect::CannotChange,
            format!(
                "{ids} in place, and lifecycle.replace is Never, so that it stays as it is and Ready becomes False"
            ),
        ),
        Edit::Replaces if lifecycle.protect => says(
            Effect::Waits,
            format!("lifecycle.protect: false, because it replaces {ids}{}", with(contains)),
        ),
        Edit::Replaces => {
            let (with, then) = (with(contains), then(dependents));
            says(Effect::Replaces, format!("{ids}{with} ({:?}){approval}{then}", lifecycle.replace))
        }
        Edit::Stops if lifecycle.disruption == Disruption::Forbid => {
            says(Effect::Waits, format!("lifecycle.disruption: Allow, because it stops {ids}"))
        }
        Edit::Stops => says(Effect::Stops, format!("{ids}{approval}")),
        Edit::Waits => says(Effect::IsApplied, format!("{ids} is stopped for another reason")),
        Edit::Scales => match fields.iter().find_map(|field| numbers(field)) {
            Some((before, after)) if after < before => says(
                Effect::Deletes,
                format!("{} of {before} objects, the newest first{approval}", before - after),
            ),
            Some((before, after)) => says(Effect::Creates, format!("{} more{approval}", after - before)),
            None => says(Effect::Changes, format!("the number of objects{approval}")),
        },
        Edit::Decided => says(
            Effect::Changes,
            format!("{ids} in place, or replaces it, as the provider decides{approval}"),
        ),
        Edit::InPlace | Edit::Keeps | Edit::Nothing => {
            says(Effect::Changes, format!("{ids} in place{approval}"))
        }
    }
}

/// What a sentence about a change adds if a person has to approve it.
pub fn approval(lifecycle: &Lifecycle) -> &'static str {
    if lifecycle.approval == Approval::Manual { " after its plan is approved" } else { "" }
}

/// What a deletion takes with it.
pub fn with(contains: &str) -> String {
    if contains.is_empty() { String::new() } else { format!(" with {contains}") }
}

/// Who changes after a replacement.
fn then(dependents: &[String]) -> String {
    if dependents.is_empty() { String::new() } else { format!(", and then changes {}", listed(dependents)) }
}

fn shown<'a>(fields: impl Iterator<Item = &'a Edited>) -> String {
    fields.map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
