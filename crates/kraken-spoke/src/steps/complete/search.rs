//! Searches by tag for the remote objects of a resource without any record, if its spec cannot be applied
//! now, so that step 6 was not reached: without a finalizer, its deletion would leave them behind. Client required.
//!
//! Only a resource that is older than this process is searched for: this process knows its own launches.

use std::time::Duration;

use kraken_api::reasons::Reason;
use kraken_kind::dynamic::Observed;
use kraken_model::{
    ledger::Clock,
    memory::Search,
    outcome::{Outcome, RECHECK},
    recorded::has_finalizer,
    spec,
};
use kraken_runtime::patch::ApiError;

use crate::{actions::location, context::Reconcile, steps::restore};

/// How soon a failed search is repeated.
const RETRY: Duration = Duration::from_secs(30);

/// The outcome of a reconcile that ended before anything was observed, after the search that is due. A failed search is not
/// reported: the outcome is what a person can act on.
pub(super) async fn search(reconcile: &mut Reconcile<'_>, outcome: Outcome) -> Outcome {
    if !is_possible(reconcile, &outcome) {
        reconcile.memory.tag_search.unrecorded = Search::default();
        return outcome;
    }
    if !reconcile.memory.tag_search.unrecorded.is_due() {
        return outcome;
    }
    match find(reconcile).await {
        Ok(()) => outcome,
        Err(error) => Outcome::Kubernetes(error),
    }
}

/// Whether the resource may have remote objects that are not recorded: a record implies the finalizer.
fn is_possible(reconcile: &Reconcile<'_>, outcome: &Outcome) -> bool {
    let is_unobserved = matches!(
        outcome,
        Outcome::Paused
            | Outcome::Account(Reason::NotAllowedByAccount, _)
            | Outcome::Invalid(_)
            | Outcome::Waiting(_)
            | Outcome::WaitingForHub
    );
    is_unobserved
        && reconcile.is_connected
        && !reconcile.is_deleted()
        && !has_finalizer(&*reconcile.object)
        && reconcile.recorded(None, reconcile.clock()).may_exist
}

/// Searches, and restores the record of what is found. As if this process had created it, its ids are recorded in the status.
async fn find(reconcile: &mut Reconcile<'_>) -> Result<(), ApiError> {
    let clock = reconcile.clock();
    let Some(found) = observed(reconcile).await else {
        reconcile.memory.tag_search.unrecorded = Search::again(RETRY);
        return Ok(());
    };
    let context = reconcile.context.clone();
    let ids = found.ids();
    if ids.is_empty() {
        reconcile.memory.tag_search.unrecorded = next(reconcile, clock);
        return Ok(());
    }
    let epoch = found.epoch();
    let secret_fields = spec::secret_fields(&*context.kind, reconcile.object.spec());
    restore::restore_from_tags(reconcile, &found, &secret_fields).await?;
    reconcile.memory.owned.found_by_tag.clone_from(&ids);
    reconcile.memory.owned.created = Some((epoch, ids));
    Ok(())
}

/// When a search that found nothing is repeated: when the last object of a former process must be visible, and then until it is
/// confirmed that there is none. The first launch waits for the same, and if the spec can be applied by then, it is made at once.
fn next(reconcile: &mut Reconcile<'_>, clock: Clock) -> Search {
    if clock.is_within_window(clock.last_create) {
        return Search::again(clock.window);
    }
    let unknown = reconcile.unknown_launch(None, &reconcile.recorded(None, clock), clock);
    if reconcile.memory.is_launch_hidden(unknown, false, clock) {
        Search::again(RECHECK)
    } else {
        Search::Done
    }
}

/// The objects with the tags of the resource; `None` if that is not known.
async fn observed(reconcile: &mut Reconcile<'_>) -> Option<Observed> {
    reconcile.facts.location = location::here(reconcile, None).await.ok()?;
    let recorded = reconcile.recorded(None, reconcile.clock());
    reconcile.observe(&recorded, true, false).await.ok()
}
