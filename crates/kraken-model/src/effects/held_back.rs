//! Edits of the lifecycle that let go what it held back: the change was announced, or reported by the Ready condition, before. Pure.

use kraken_api::{
    Approval, Disruption, Replace,
    conditions::{self, READY},
    effect::Effect,
};
use kraken_kind::dynamic::Object;
use kube::core::object::HasStatus;

use super::{then, with};
use crate::ids::listed;

/// What an edit of the lifecycle or the account lets go, if there is something.
pub(super) fn released(
    before: &Object,
    after: &Object,
    (ids, contains): (&[String], &str),
    dependents: &[String],
) -> Option<String> {
    let (old, new) = (before.lifecycle(), after.lifecycle());
    let ids = listed(ids);
    if new.paused {
        return None;
    }
    if before.account() != after.account() {
        let account = after.account().unwrap_or("none");
        return Some(format!(
            "{} the account of {ids} to {account}: it must be the same at the provider",
            Effect::Changes.words()
        ));
    }
    let why = held_back(before);
    if is_replacement(before, after) {
        let why = why.unwrap_or_default();
        return Some(format!(
            "{} {ids}{} ({:?}){}, which was held back: {why}",
            Effect::Replaces.words(),
            with(contains),
            new.replace,
            then(dependents)
        ));
    }
    if old.disruption == Disruption::Forbid
        && new.disruption == Disruption::Allow
        && let Some(why) = &why
    {
        return Some(format!("{} {ids}, which was held back: {why}", Effect::Stops.words()));
    }
    let is_any = (old.paused && !new.paused)
        || (old.approval == Approval::Manual && new.approval == Approval::Automatic && why.is_some())
        || old.ignore_changes.iter().any(|path| !new.ignore_changes.contains(path));
    is_any.then(|| {
        format!("{} in {ids} whatever differs from the spec, which was held back", Effect::Changes.words())
    })
}

/// Whether the edit allows a replacement that was held back.
pub(super) fn is_replacement(before: &Object, after: &Object) -> bool {
    let (old, new) = (before.lifecycle(), after.lifecycle());
    let may = |of: &kraken_api::Lifecycle| of.replace != Replace::Never && !of.protect;
    !may(old) && may(new) && held_back(before).is_some()
}

/// Why the resource is not ready, if its last edit was read.
fn held_back(object: &Object) -> Option<String> {
    let ready = conditions::get(&object.status()?.conditions, READY)?;
    (ready.status == "False").then(|| ready.message.clone())
}
