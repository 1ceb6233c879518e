//! Restores owner tags that were removed: without them an object is found by its id only, and must not be deleted.
//! Client required.

use kraken_api::reasons::Reason;
use tokio::time::Instant;

use crate::{
    Failure, Identity,
    context::Context,
    dynamic::{Desired, Object, Observed},
    intent::Intent,
    memory::{Claimed, Memory},
    outcome::listed,
    steps::{observe::RecordedState, record::record},
};

/// Restores the tags of the objects with these ids, or waits for tags that were set recently; returns a description.
pub(crate) async fn retag(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    identity: &Identity,
    observed: &Observed,
    ids: &[String],
    (known, desired): (&RecordedState, Option<&Desired>),
) -> Result<String, Failure> {
    let (ids, epoch) = batch(ids, Intent::of(object).as_ref(), known.epoch);
    if memory.claimed.as_ref().is_some_and(|claimed| claimed.is_recent(&ids)) {
        return Ok(format!("waiting for the owner tags of {} to become visible", listed(&ids)));
    }
    let (bare, _) = context.kind.select(observed.clone(), &ids);
    context.external.reclaim(identity, epoch, desired, &bare).await?;
    let note = format!("restored the owner tags of {}", listed(&ids));
    let times = match &memory.claimed {
        Some(before) if before.ids == ids => before.times + 1,
        _ => 0,
    };
    memory.claimed = Some(Claimed { ids, at: Instant::now(), times });
    record(context, object, Reason::DriftReverted, &note).await;
    Ok(note)
}

/// The objects to tag with one call, and the epoch that assigns them to the correct side of a replacement: outgoing
/// objects first.
fn batch(ids: &[String], intent: Option<&Intent>, known: i64) -> (Vec<String>, i64) {
    let Some(intent) = intent else { return (ids.to_vec(), known.max(1)) };
    let boundary = intent.replaced_before.unwrap_or_default();
    let (outgoing, current): (Vec<_>, Vec<_>) =
        ids.iter().cloned().partition(|id| boundary > 0 && intent.outgoing.contains(id));
    if outgoing.is_empty() { (current, known.max(boundary).max(1)) } else { (outgoing, boundary - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retagged_object_stays_on_its_side_of_a_replacement() {
        let ids = ["i-old", "i-new"].map(str::to_owned);
        let intent = Intent { replaced_before: Some(4), outgoing: vec!["i-old".into()], ..Intent::default() };
        assert_eq!(batch(&ids, Some(&intent), 3), (vec!["i-old".to_owned()], 3));
        assert_eq!(batch(&ids[1..], Some(&intent), 3), (vec!["i-new".to_owned()], 4));
        assert_eq!(batch(&ids, None, 0).1, 1);
    }
}
