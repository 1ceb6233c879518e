//! Step 4: carries out a decision, with one side effect per reconcile. Client required.

use kraken_api::{FieldDiff, reasons::Reason};
use kraken_runtime::mutants::{self, Mutant};
use tokio::time::Instant;

use crate::{
    Launch,
    context::{Context, Observation},
    decide::Decision,
    dynamic::{Change, Object},
    intent::{Intent, LaunchPlan, LaunchState, is_same, parameters_hash, plan_launch},
    memory::{Changed, Memory},
    outcome::{Outcome, listed, refused},
    steps::{guard, observe::union, persist::persist, record::record, replace},
};

/// Carries out the decision. `drifted` means that the difference is drift, and not an edit.
pub(crate) async fn act(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    sight: &Observation<'_>,
    decision: Decision<Change>,
    drifted: bool,
) -> Outcome {
    match decision {
        Decision::InPlace => Outcome::InPlace,
        Decision::Settle(what) => Outcome::InProgress(Reason::Creating, what),
        Decision::Immutable(fields) => Outcome::Immutable(fields),
        Decision::Report(fields) => Outcome::Drifted(fields),
        Decision::Replace(fields) => begin_replacement(context, object, memory, sight, &fields).await,
        Decision::Create(what) => create(context, object, memory, sight, &what, drifted).await,
        Decision::Change(fields, change) => match fields.into_iter().next() {
            Some(field) => change_in_place(context, object, memory, sight, &field, &change, drifted).await,
            None => Outcome::InPlace,
        },
        Decision::Resume(field, change) => {
            change_in_place(context, object, memory, sight, &field, &change, false).await
        }
    }
}

/// Makes one change, unless an earlier one may only not be visible yet.
async fn change_in_place(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    sight: &Observation<'_>,
    field: &FieldDiff,
    change: &Change,
    drifted: bool,
) -> Outcome {
    let what = context.kind.what_is_done(change).unwrap_or_else(|| match field.path.as_str() {
        "" => format!("changed {} to {}", field.have, field.want),
        path => format!("changed spec.{path} from {} to {}", field.have, field.want),
    });
    if let Some(outcome) = lagging(memory, &what) {
        return outcome;
    }
    match context.external.update(&sight.identity, change, sight.effective, &sight.observed).await {
        Ok(()) => {
            let reason = match () {
                () if drifted => Reason::DriftReverted,
                () if !context.info().missing_path.is_empty()
                    && field.path == context.info().missing_path =>
                {
                    Reason::Scaled
                }
                () => Reason::Updated,
            };
            let outcome = changed(memory, what);
            if let Outcome::Changed(what) = &outcome
                && memory.changed.as_ref().is_some_and(|changed| changed.times == 1)
            {
                record(context, object, reason, what).await;
            }
            outcome
        }
        Err(failure) => refused(failure, Reason::Updating),
    }
}

/// How often a change without effect is made before it is reported.
const TRIES: u32 = 5;

/// The provider may show a change with a delay, or never. The change is then repeated after 1, 2, 4 s and so on.
fn lagging<K>(memory: &Memory<K>, what: &str) -> Option<Outcome> {
    let changed = memory.changed.as_ref().filter(|changed| changed.what == what)?;
    let left = changed.delay().checked_sub(changed.at.elapsed()).filter(|left| !left.is_zero())?;
    Some(Outcome::Unseen(format!("{what}; waiting for the change to become visible"), left))
}

/// Records a change that the provider accepted.
fn changed<K>(memory: &mut Memory<K>, what: String) -> Outcome {
    let before = memory.changed.take().filter(|changed| changed.what == what);
    let times = before.map_or(1, |changed| changed.times.saturating_add(1));
    memory.changed = Some(Changed { what: what.clone(), times, at: Instant::now() });
    if times < TRIES {
        return Outcome::Changed(what);
    }
    Outcome::Unheeded(format!(
        "{what}: the provider accepted this {times} times and still returns the old value"
    ))
}

async fn create(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    sight: &Observation<'_>,
    what: &str,
    drifted: bool,
) -> Outcome {
    let intent = Intent::of(object);
    let hash = parameters_hash(sight.desired, what);
    let seen = context.kind.epoch(&sight.observed).max(if intent.is_none() { sight.known.epoch } else { 0 });
    let fate = fate(intent.as_ref(), memory, sight.known.epoch);
    let clock = memory.clock(context.visibility_window);
    let is_idempotent = context.info().is_idempotent
        && (!context.info().idempotent_by_name || is_same(intent.as_ref(), &hash));
    let plan = plan_launch(intent.as_ref(), seen, fate, is_idempotent, &hash, clock);
    if !matches!(plan, LaunchPlan::Wait(_))
        && let Err(outcome) = guard::check(&*context.kind, sight, intent.as_ref())
    {
        return outcome;
    }
    let epoch = match plan {
        LaunchPlan::Wait(why) => return Outcome::InProgress(Reason::Creating, why.to_owned()),
        LaunchPlan::Repeat(epoch) => epoch,
        // A new token would create the objects of the old one a second time.
        LaunchPlan::New(_) if !sight.is_searched => {
            memory.token_used = None;
            let message = "searching for the objects of an earlier launch".to_owned();
            return Outcome::InProgress(Reason::Creating, message);
        }
        LaunchPlan::New(epoch) => {
            let intent = match guard::new_launch(context, object, memory, sight, (epoch, hash)).await {
                Ok(intent) => intent,
                Err(outcome) => return outcome,
            };
            if !mutants::active(Mutant::SkipIntent)
                && let Err(error) = persist(context, object, memory, &intent).await
            {
                return Outcome::Kubernetes(error);
            }
            epoch
        }
    };
    let launch = Launch { epoch, token: sight.identity.token(epoch) };
    match context.external.create(&sight.identity, &launch, sight.desired, &sight.observed).await {
        Ok(created) => {
            let ids = context.kind.ids(&created);
            // Objects that were found by tag count too: from now on they are observed by id.
            let all = union(union(context.kind.ids(&sight.observed), &sight.known.ids), &ids);
            memory.answered(epoch, Ok(all));
            let made = format!("created {}", listed(&ids));
            let (reason, note) = match context.kind.ids(&sight.observed).is_empty() {
                _ if drifted => {
                    (Reason::DriftReverted, format!("{made}, because objects were missing: {what}"))
                }
                true => (Reason::Created, made),
                false => (Reason::Scaled, format!("{made}: {what}")),
            };
            record(context, object, reason, &note).await;
            let message = format!("created {}; waiting until it is ready", listed(&ids));
            Outcome::InProgress(Reason::Creating, message)
        }
        Err(failure) => {
            memory.answered(epoch, Err(failure.class));
            refused(failure, Reason::Creating)
        }
    }
}

/// Persists that the existing objects are to be replaced. The next steps are decided from that record, also after a
/// crash.
async fn begin_replacement(
    context: &Context,
    object: &Object,
    memory: &mut Memory,
    sight: &Observation<'_>,
    fields: &[FieldDiff],
) -> Outcome {
    // The replacement in progress is not desired any more either. It is deleted first: so there are never more than the
    // original objects and one replacement of them.
    if sight.replacing {
        return replace::let_go(context, object, memory, sight, &sight.observed).await;
    }
    let nothing = context.kind.nothing();
    let missing = context.kind.compare(sight.desired, &nothing).missing.unwrap_or_default();
    let last = Intent::of(object)
        .map_or(0, |intent| intent.epoch)
        .max(sight.known.epoch)
        .max(context.kind.epoch(&sight.observed));
    let hash = parameters_hash(sight.desired, &missing);
    let intent = match guard::new_launch(context, object, memory, sight, (last + 1, hash)).await {
        Ok(intent) => intent,
        Err(outcome) => return outcome,
    };
    let outgoing = union(sight.live.clone(), &sight.unseen);
    let asks = Some(context.kind.max_objects(sight.desired));
    let intent = Intent { replaced_before: Some(intent.epoch), outgoing, asks, ..intent };
    match persist(context, object, memory, &intent).await {
        Ok(()) => {
            let paths: Vec<String> = fields.iter().map(|field| format!("spec.{}", field.path)).collect();
            Outcome::InProgress(Reason::Replacing, format!("replacing, to change {}", paths.join(", ")))
        }
        Err(error) => Outcome::Kubernetes(error),
    }
}

fn fate<K>(intent: Option<&Intent>, memory: &Memory<K>, confirmed: i64) -> LaunchState {
    let Some(intent) = intent else { return LaunchState::Unknown };
    if memory.spent == Some(intent.epoch) {
        LaunchState::Spent
    } else if confirmed >= intent.epoch {
        LaunchState::Confirmed
    } else if memory.refused == Some(intent.epoch) {
        LaunchState::Refused
    } else {
        LaunchState::Unknown
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kraken_runtime::queue::Requeue;

    use super::*;

    const WHAT: &str = "changed spec.size from 3 to 5";

    /// How long a repetition is delayed, in milliseconds.
    fn put_off(memory: &Memory<()>, what: &str) -> Option<u128> {
        let outcome = lagging(memory, what)?;
        let Requeue::After(left) = outcome.requeue(None, 0) else { panic!("{outcome:?}") };
        Some(left.as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn invisible_change_is_repeated_with_backoff_and_then_reported() {
        let mut memory = Memory::<()>::default();
        assert_eq!(put_off(&memory, WHAT), None);
        for delay in [1000, 2000, 4000, 8000] {
            assert!(matches!(changed(&mut memory, WHAT.to_owned()), Outcome::Changed(_)));
            assert_eq!(put_off(&memory, WHAT), Some(delay));
            tokio::time::advance(Duration::from_millis(100)).await;
            assert_eq!(put_off(&memory, WHAT), Some(delay - 100));
            tokio::time::advance(Duration::from_secs(8)).await;
            assert_eq!(put_off(&memory, WHAT), None);
        }
        assert!(matches!(changed(&mut memory, WHAT.to_owned()), Outcome::Unheeded(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn different_change_is_made_without_delay() {
        let mut memory = Memory::<()>::default();
        changed(&mut memory, WHAT.to_owned());
        assert_eq!(put_off(&memory, "changed spec.size from 3 to 7"), None);
        changed(&mut memory, "changed spec.colour from a to b".to_owned());
        assert_eq!(put_off(&memory, WHAT), None);
    }
}
