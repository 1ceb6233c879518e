//! The hand-over of a replacement: the former objects are kept until every dependent that refers to them is in place with the
//! published new ones. Client required.

use std::time::Duration;

use kraken_api::reasons::Reason;
use kraken_kind::dynamic::Observed;
use kraken_model::{
    graph::named_from,
    hand_over::{HandOver, Published},
    ids::listed,
    observation::Observation,
    outcome::{Outcome, refused},
};
use tokio::time::Instant;

use crate::{
    actions::event::publish_event,
    context::{Reconcile, place},
    shared::dependents,
    steps::act::declare,
};

/// The least delay between two reads of the dependents. It grows with the time that has passed.
const LEAST: Duration = Duration::from_secs(1);
/// The greatest.
const MOST: Duration = Duration::from_secs(8);

/// Ends the reconcile while a dependent may use the outgoing objects, for a limited time: one that is paused or fails must not keep
/// them for ever. If it uses them after that, the provider rejects their deletion.
pub(super) async fn await_dependents(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    outgoing: &Observed,
) -> Result<(), Outcome> {
    let boundary = observation.target.ledger.as_ref().and_then(|ledger| ledger.replaced_before);
    let successors = observation.current.ids();
    let HandOver { since, is_over, .. } =
        *reconcile.memory.hand_over(boundary.unwrap_or_default(), successors);
    let limit = reconcile.context.replace_timeout;
    if is_over || limit.is_zero() {
        return Ok(());
    }
    let published = declare::published(reconcile, observation, outgoing);
    let waiting = waiting(reconcile, &published, since).await?;
    let (names, age) = (listed(&waiting), since.elapsed());
    if !waiting.is_empty() && age < limit {
        let message = format!(
            "waiting until {names} is in place with {}, at most {limit:?} (--replace-timeout); then {}, which is replaced, is deleted",
            listed(&observation.current.ids()),
            listed(&outgoing.ids()),
        );
        return Err(Outcome::NotVisibleYet(Reason::Replacing, message, age.clamp(LEAST, MOST)));
    }
    if let Some(hand_over) = &mut reconcile.memory.replacement.hand_over {
        hand_over.is_over = true;
    }
    if !waiting.is_empty() {
        let note = format!(
            "{names} is not in place with the new objects after {limit:?}: the replaced ones are deleted now"
        );
        publish_event(reconcile, Reason::Replaced, &note).await;
    }
    Ok(())
}

/// Takes from the outgoing objects what the new ones need and can exist only once, and ends the reconcile until that is done. An
/// object that is protected keeps it.
pub(super) async fn take_over(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
) -> Result<(), Outcome> {
    let Some(outgoing) = observation.outgoing.as_ref().filter(|_| !reconcile.lifecycle().protect) else {
        return Ok(());
    };
    let (external, desired) = (reconcile.context.link.external.clone(), observation.effective());
    let taken = external.hand_over(&reconcile.identity, desired, outgoing).await;
    let Some(what) = taken.map_err(|failure| refused(failure, Reason::Replacing))? else { return Ok(()) };
    if reconcile.memory.replacement.taken_over.as_ref() != Some(&what) {
        publish_event(reconcile, Reason::Replaced, &what).await;
        reconcile.memory.replacement.taken_over = Some(what.clone());
    }
    Err(Outcome::InProgress(Reason::Replacing, what))
}

/// The dependents and the ConfigExports that are not in place with the published values, as kind and name.
async fn waiting(
    reconcile: &Reconcile<'_>,
    published: &Published,
    since: Instant,
) -> Result<Vec<String>, Outcome> {
    let (context, client) = (&reconcile.context, &reconcile.context.manager.client);
    let (namespace, name) = place(&*reconcile.object);
    let node = (context.info().key.clone(), name);
    let requests = context.references.dependents(&context.manager, &namespace, &node, since).await;
    let mut waiting = vec![];
    for request in requests.map_err(Outcome::Kubernetes)? {
        let Some(owner) = dependents::owner(&request) else { continue };
        let there = request.metadata.namespace.as_deref().unwrap_or(&namespace);
        let changed = published.changed(&request, &node);
        let is_handed_over = if published.is_used_by_former(&request, &node) {
            // Its spec does not refer to this resource any more, and is not in place: it frees the former objects when it is.
            context.references.kinds.has_nothing(client, there, owner).await
        } else if changed.is_empty() {
            true
        } else {
            let answer = request.status.clone().unwrap_or_default().dependent_values.from_kraken_resources;
            published.is_answered(&answer, &changed)
                && context.references.kinds.is_in_place(client, there, owner, &answer).await
        };
        if !is_handed_over {
            waiting.push(format!("{} {}", owner.kind, named_from(&namespace, Some(there), &owner.name)));
        }
    }
    let exports = dependents::exports(client, &namespace).await.map_err(Outcome::Kubernetes)?;
    let others = exports.iter().filter(|export| !published.is_exported(export, &node));
    waiting.extend(others.map(|export| format!("ConfigExport {}", export.name)));
    Ok(waiting)
}
