//! One reconcile: its steps, in their order.
//!
//! The steps are boxed: a thousand reconciles may wait for one batched read, and each would otherwise hold the memory
//! of its largest step.

use crate::{
    context::Reconcile,
    model::{
        outcome::{Outcome, attributed},
        secrecy::scrubbed,
    },
    steps::{
        act, adopt, connect, decide, declare, follow,
        gather::{self, Gathered},
        observe, recall, remove, resolve, restore, resume, search, skip, take_over,
    },
};

/// The steps up to the action. Each of them can end the reconcile with an outcome.
async fn steps(reconcile: &mut Reconcile<'_>) -> Result<Outcome, Outcome> {
    if !reconcile.is_deleted() {
        reconcile.memory.not_deleting();
        recall::recall_from_request(reconcile);
    }
    // 1. Restore the finalizer and the intent if they were removed. Client required.
    Box::pin(restore::restore(reconcile)).await?;
    // 2. Connect with the account of the resource. Client required.
    Box::pin(connect::connect(reconcile)).await?;
    // After 2. Take over what a former resource of this name left. Client required.
    Box::pin(take_over::take_over(reconcile)).await?;
    // 3. Remove the remote objects if the resource is being deleted. Client required.
    if reconcile.is_deleted() {
        return Ok(Box::pin(remove::remove(reconcile)).await);
    }
    // 4. Skip a resource that is paused or unchanged. Client required.
    let dependencies = Box::pin(skip::skip(reconcile)).await?;
    // 5. Gather the values of the references. Client required.
    let Gathered { values, is_ahead_of_hub } = Box::pin(gather::gather(reconcile, &dependencies)).await?;
    reconcile.is_ahead_of_hub = is_ahead_of_hub;
    // Before 6. Read which fields the published state withholds. Client required.
    Box::pin(recall::recall(reconcile)).await?;
    // 6. Resolve options and values to the desired state. No client required.
    let target = resolve::resolve(reconcile, &dependencies, &values)?;
    // 7. Observe the remote objects. Client required.
    let mut observation = Box::pin(observe::observe(reconcile, &target)).await?;
    // 8. Decide on the next action. No client required.
    let decision = decide::decide(reconcile, &mut observation)?;
    // After 8. Wait for values that are needed only after the creation. Client required.
    let decision = Box::pin(follow::follow(reconcile, &observation, decision)).await?;
    // 9. Adopt an existing object if that is due. Client required.
    Box::pin(adopt::adopt(reconcile, &observation)).await?;
    // 10. Declare the state. Client required.
    Box::pin(declare::declare(reconcile, &observation, &decision)).await?;
    // 11. Act: carry out the decision. Client required.
    Box::pin(act::act(reconcile, &observation, decision)).await
}

/// Carries out the steps. The controller reports the outcome (`steps::report`), also that of a reconcile that panicked.
pub(crate) async fn reconcile(reconcile: &mut Reconcile<'_>) -> Outcome {
    let outcome = match steps(reconcile).await {
        Ok(outcome) | Err(outcome) => outcome,
    };
    // 12. Complete what the outcome leaves open: a disruption that cannot go on now, and remote objects without a record, if
    // nothing could be observed. Client required.
    let outcome = Box::pin(resume::resume(reconcile, outcome)).await;
    let outcome = Box::pin(search::search(reconcile, outcome)).await;
    if outcome.ends_search() && reconcile.memory.search.left().is_none() {
        reconcile.memory.end_search();
    }
    let outcome = attributed(outcome, reconcile.context.rules.as_deref());
    scrubbed(outcome, &reconcile.memory.secrets)
}
