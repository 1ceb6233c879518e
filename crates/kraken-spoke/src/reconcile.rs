//! One reconcile: its eight steps, in their order. This is the only place where they follow one another, and every other file names
//! them by these numbers.
//!
//! The steps are boxed: a thousand reconciles may wait for one batched read, and each would otherwise hold the memory
//! of its largest step.

use kraken_model::{
    observation::View,
    outcome::{Outcome, attributed},
    policy::undecoded,
    secrecy::scrubbed,
};

use crate::{
    context::Reconcile,
    steps::{
        act, complete, connect, decide,
        gather::{self, Gathered},
        look_up, observe, remove, resolve, restore,
    },
};

/// The steps up to the action. Each of them can end the reconcile with an outcome.
async fn steps(reconcile: &mut Reconcile<'_>) -> Result<Outcome, Outcome> {
    // What does not decode is only removed. No client required.
    reconcile.facts.note = undecoded::permits(&reconcile.object, reconcile.context.info().name)?;
    // 1. Restore the finalizer and the ledger if they were removed. Client required.
    Box::pin(restore::restore(reconcile)).await?;
    // 2. Connect with the account of the resource, and take over what a former resource of its name left. Client required.
    Box::pin(connect::connect(reconcile)).await?;
    // 3. Remove the remote objects if the resource is being deleted. Client required.
    if reconcile.is_deleted() {
        return Box::pin(remove::remove(reconcile)).await;
    }
    // 4. Gather the values of the references, unless the resource is paused or unchanged. Client required.
    let Gathered::Values(dependencies, values) = Box::pin(gather::gather(reconcile)).await? else {
        return Ok(Outcome::InPlace);
    };
    // 5. Resolve options and values to the desired state. No client required.
    let target = resolve::resolve(reconcile, &dependencies, &values)?;
    reconcile.remember_secrets(&target);
    // Instead of the other steps, if the resource has no remote objects: look up what it publishes. Client required.
    if reconcile.context.info().looks_up {
        return Box::pin(look_up::look_up(reconcile, &target)).await;
    }
    // 6. Observe the remote objects. Client required.
    let View { observation, comparison } = Box::pin(observe::observe(reconcile, &target)).await?;
    // 7. Decide on the next action. Client required only to find an object to adopt.
    let action = Box::pin(decide::decide(reconcile, &observation, comparison)).await?;
    // 8. Act: publish the state, and carry out the action. Client required.
    Box::pin(act::act(reconcile, &observation, action)).await
}

/// Carries out the steps. The controller reports the outcome (`steps::report`), also that of a reconcile that panicked.
pub(crate) async fn reconcile(reconcile: &mut Reconcile<'_>) -> Outcome {
    let (Ok(outcome) | Err(outcome)) = steps(reconcile).await;
    let outcome = Box::pin(complete::complete(reconcile, outcome)).await;
    let outcome = attributed(outcome, reconcile.context.rules.as_deref());
    scrubbed(outcome, &reconcile.memory.secrets.texts)
}
