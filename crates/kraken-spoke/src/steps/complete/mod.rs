//! After the steps: completes what the outcome leaves open, if it ended the reconcile before anything was observed. Client required.

mod held_up;
mod search;

use crate::{context::Reconcile, model::outcome::Outcome};

/// Observes the remote objects of a resource whose spec cannot be applied, and searches for those without a record.
pub(crate) async fn complete(reconcile: &mut Reconcile<'_>, outcome: Outcome) -> Outcome {
    if reconcile.context.info().looks_up {
        return outcome;
    }
    let outcome = held_up::observe(reconcile, outcome).await;
    let outcome = search::search(reconcile, outcome).await;
    if outcome.ends_search() && reconcile.memory.tag_search.unrecorded.left().is_none() {
        reconcile.memory.end_search();
    }
    outcome
}
