//! One reconcile: its eight steps, in their order. This is the only place where they follow one another, and every other file names
//! them by these numbers.
//!
//! The steps are boxed: a thousand reconciles may wait for one batched read, and each would otherwise hold the memory
//! of its largest step.

use crate::{
    context::Reconcile,
    model::{
        outcome::{Outcome, attributed},
        secrecy::scrubbed,
    },
    steps::{act, complete, connect, decide, gather, look_up, observe, remove, resolve, restore},
};

/// The steps up to the action. Each of them can end the reconcile with an outcome.
async fn steps(reconcile: &mut Reconcile<'_>) -> Result<Outcome, Outcome> {
    // 1. Restore the finalizer and the intent if they were removed. Client required.
    Box::pin(restore::restore(reconcile)).await?;
    // 2. Connect with the account of the resource, and take over what a former resource of its name left. Client required.
    Box::pin(connect::connect(reconcile)).await?;
    // 3. Remove the remote objects if the resource is being deleted. Client required.
    if reconcile.is_deleted() {
        return Ok(Box::pin(remove::remove(reconcile)).await);
    }
    // 4. Gather the values of the references, unless the resource is paused or unchanged. Client required.
    let gathered = Box::pin(gather::gather(reconcile)).await?;
    // 5. Resolve options and values to the desired state. No client required.
    let target = resolve::resolve(reconcile, &gathered)?;
    // Instead of the other steps, if the resource has no remote objects: look up what it publishes. Client required.
    if reconcile.context.info().looks_up {
        return Box::pin(look_up::look_up(reconcile, &target)).await;
    }
    // 6. Observe the remote objects. Client required.
    let mut observation = Box::pin(observe::observe(reconcile, &target)).await?;
    // 7. Decide on the next action, and adopt an existing object if that is due. Client required for adoptions.
    let decision = Box::pin(decide::decide(reconcile, &mut observation)).await?;
    // 8. Act: publish the state, and carry out the decision. Client required.
    Box::pin(act::act(reconcile, &observation, decision)).await
}

/// Carries out the steps. The controller reports the outcome (`steps::report`), also that of a reconcile that panicked.
pub(crate) async fn reconcile(reconcile: &mut Reconcile<'_>) -> Outcome {
    let outcome = match steps(reconcile).await {
        Ok(outcome) | Err(outcome) => outcome,
    };
    let outcome = Box::pin(complete::complete(reconcile, outcome)).await;
    let outcome = attributed(outcome, reconcile.context.rules.as_deref());
    scrubbed(outcome, &reconcile.memory.secrets)
}
