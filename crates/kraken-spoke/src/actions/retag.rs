//! Restores owner tags that were removed: without them an object is found by its id only, and must not be deleted.
//! Client required.

use kraken_api::reasons::Reason;
use kraken_kind::{
    Failure,
    dynamic::{Desired, Observed},
};
use kraken_model::{
    ids::listed,
    ledger::{self, Clock, Ledger},
    memory::Claimed,
};
use tokio::time::Instant;

use crate::{actions::event::publish_event, context::Reconcile};

/// Objects whose owner tags are missing.
#[derive(Debug)]
pub(crate) struct Untagged<'a> {
    /// All observed objects of the resource.
    pub observed: &'a Observed,
    /// The ids of those without tags.
    pub ids: &'a [String],
    /// The highest recorded epoch.
    pub epoch: i64,
    /// The desired state; `None` during a deletion.
    pub desired: Option<&'a Desired>,
}

/// Restores the tags, or waits for tags that were set recently; returns a description.
pub(crate) async fn retag(reconcile: &mut Reconcile<'_>, untagged: Untagged<'_>) -> Result<String, Failure> {
    let Reconcile { context, object, memory, identity, .. } = reconcile;
    memory.not_missing(&untagged.observed.ids());
    let (ids, epoch) = batch(untagged.ids, ledger::of(object).as_ref(), untagged.epoch);
    if memory.owned.claimed.as_ref().is_some_and(|claimed| claimed.is_recent(&ids)) {
        return Ok(format!("waiting for the owner tags of {} to become visible", listed(&ids)));
    }
    let (bare, _) = untagged.observed.select(&ids);
    let result = context.link.external.reclaim(identity, epoch, untagged.desired, &bare).await;
    let note = format!("restored the owner tags of {}", listed(&ids));
    let times = match &memory.owned.claimed {
        Some(before) if before.ids == ids => before.times + u32::from(before.is_confirmed),
        _ => 0,
    };
    memory.owned.claimed = Some(Claimed { ids, at: Instant::now(), times, is_confirmed: result.is_ok() });
    result?;
    publish_event(reconcile, Reason::DriftReverted, &note).await;
    Ok(note)
}

/// The objects to release without owner tags whose tags may have been set and are not visible yet: by this process, or by a former
/// one. A release removes only tags that it observes, and an object that keeps them would count as an orphan. `clock` is from
/// before the observation.
pub(crate) fn awaiting_tags(reconcile: &Reconcile<'_>, kept: &Observed, clock: Clock) -> Vec<String> {
    let memory = &reconcile.memory;
    let is_claimed = |id: &String| {
        memory.owned.claimed.as_ref().is_some_and(|claimed| {
            claimed.ids.contains(id) && clock.instant.saturating_duration_since(claimed.at) < clock.window
        })
    };
    let mut ids = kept.untagged();
    ids.retain(|id| {
        let is_recent = clock.is_within_window(clock.last_create) || is_claimed(id);
        is_recent && !memory.deletion.releasing_ids.contains(id)
    });
    ids
}

/// The objects to tag with one call, and the epoch that assigns them to the correct side of a replacement: outgoing
/// objects first.
fn batch(ids: &[String], ledger: Option<&Ledger>, recorded: i64) -> (Vec<String>, i64) {
    let Some(ledger) = ledger else { return (ids.to_vec(), recorded.max(1)) };
    let boundary = ledger.replaced_before.unwrap_or_default();
    let (outgoing, current): (Vec<_>, Vec<_>) =
        ids.iter().cloned().partition(|id| boundary > 0 && ledger.outgoing.contains(id));
    if outgoing.is_empty() { (current, recorded.max(boundary).max(1)) } else { (outgoing, boundary - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retagged_object_stays_on_its_side_of_a_replacement() {
        let ids = ["i-old", "i-new"].map(str::to_owned);
        let ledger = Ledger { replaced_before: Some(4), outgoing: vec!["i-old".into()], ..Ledger::default() };
        assert_eq!(batch(&ids, Some(&ledger), 3), (vec!["i-old".to_owned()], 3));
        assert_eq!(batch(&ids[1..], Some(&ledger), 3), (vec!["i-new".to_owned()], 4));
        assert_eq!(batch(&ids, None, 0).1, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_call_that_succeeded_delays_the_next_one() {
        for is_confirmed in [true, false] {
            let claimed = Claimed { ids: vec!["i-1".to_owned()], at: Instant::now(), times: 0, is_confirmed };
            assert_eq!(claimed.is_recent(&["i-1".to_owned()]), is_confirmed);
        }
    }
}
