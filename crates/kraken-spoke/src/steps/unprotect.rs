//! A deletion that the provider's own protection refuses: the protection is turned off if the spec says so, and otherwise
//! the condition says what to edit. Client required.
//!
//! A deletion needs the identity alone and may come before an edit was carried out, so what is last observed or was last
//! resolved decides nothing here: only a literal of the spec does.

use kraken_api::reasons::Reason;
use kraken_runtime::mutants::{self, Mutant};

use crate::{
    Failure, Identity, Ignored,
    context::Context,
    dynamic::{Object, Observed},
    outcome::{Outcome, listed},
    steps::record::record,
};

/// What follows from such a refusal. `reason` is what the deletion is for.
pub(crate) async fn unprotect(
    context: &Context,
    object: &Object,
    identity: &Identity,
    observed: &Observed,
    refusal: Failure,
    reason: Reason,
) -> Outcome {
    let ignored = Ignored::new(&object.lifecycle().ignore_changes);
    let Some(field) = context
        .kind
        .unprotected_by(object.spec())
        .filter(|field| !ignored.covers(field) && !mutants::active(Mutant::ProtectionStays))
    else {
        return Outcome::Failed(refusal);
    };
    if let Err(failure) = context.external.unprotect(identity, observed).await {
        return Outcome::Failed(failure);
    }
    let what = format!(
        "turned the deletion protection of {} off, as spec.{field} says",
        listed(&context.kind.ids(observed))
    );
    record(context, object, Reason::Updated, &what).await;
    Outcome::InProgress(reason, what)
}
