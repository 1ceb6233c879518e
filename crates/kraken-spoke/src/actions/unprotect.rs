//! Handles a deletion that the provider rejects because the object is protected, or not empty: removes the obstacle if the spec states
//! so, and otherwise reports which field to edit. Client required.
//!
//! A deletion needs only the identity and may precede an edit that is not applied yet. Therefore neither observed nor
//! resolved values count here, but only a literal in the spec.

use kraken_api::reasons::Reason;
use kraken_kind::{Failure, Ignored, dynamic::Observed};
use kraken_model::{ids::listed, outcome::Outcome};

use crate::{actions::event::publish_event, context::Reconcile};

/// Handles the rejection. `reason` is the purpose of the deletion.
pub(crate) async fn unprotect(
    reconcile: &Reconcile<'_>,
    observed: &Observed,
    refusal: Failure,
    reason: Reason,
) -> Outcome {
    let Reconcile { context, object, identity, .. } = reconcile;
    let ignored = Ignored::new(&object.lifecycle().ignore_changes);
    let Some(field) = context.kind.unprotected_by(object.spec()).filter(|field| !ignored.covers(field))
    else {
        return Outcome::Failed(refusal);
    };
    if let Err(failure) = context.link.external.unprotect(identity, observed).await {
        return Outcome::Failed(failure);
    }
    let what = format!("made {} deletable, as spec.{field} specifies", listed(&observed.ids()));
    publish_event(reconcile, Reason::Updated, &what).await;
    Outcome::InProgress(reason, what)
}
