//! After the steps: completes what the outcome leaves open, if it ended the reconcile before anything was observed. Client required.

mod held_up;
mod search;

use kraken_model::outcome::{Again, Outcome};

use crate::context::Reconcile;

/// Observes the remote objects of a resource whose spec cannot be applied, and searches for those without a record.
pub(crate) async fn complete(reconcile: &mut Reconcile<'_>, outcome: Outcome) -> Outcome {
    if reconcile.context.info().looks_up {
        return outcome;
    }
    let outcome = held_up::observe(reconcile, outcome).await;
    let outcome = search::search(reconcile, outcome).await;
    // Neither does a search for the objects of a launch follow before an event or the resync.
    let ends_search = matches!(outcome.row().again, Again::Event | Again::Resync);
    if ends_search && reconcile.memory.tag_search.unrecorded.left().is_none() {
        reconcile.memory.end_search();
    }
    outcome
}
