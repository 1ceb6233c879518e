//! After the steps: completes what the outcome leaves open, if it ended the reconcile before anything was observed. Client required.

mod resume;
mod search;

use crate::{context::Reconcile, model::outcome::Outcome};

/// Continues a disruption that cannot be completed now, and searches for remote objects without a record.
pub(crate) async fn complete(reconcile: &mut Reconcile<'_>, outcome: Outcome) -> Outcome {
    if reconcile.context.info().looks_up {
        return outcome;
    }
    let outcome = resume::resume(reconcile, outcome).await;
    let outcome = search::search(reconcile, outcome).await;
    if outcome.ends_search() && reconcile.memory.tag_search.unrecorded.left().is_none() {
        reconcile.memory.end_search();
    }
    outcome
}
