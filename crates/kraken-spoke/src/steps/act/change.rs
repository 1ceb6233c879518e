//! Changes remote objects in place, one call per reconcile. Client required.

use kraken_api::{FieldDiff, reasons::Reason};
use tokio::time::Instant;

use crate::{
    FailureClass,
    actions::record::record,
    context::Reconcile,
    dynamic::{Change, DynKind},
    model::{
        memory::{Changed, Memory, Unseen},
        observation::Observation,
        outcome::{Outcome, refused},
    },
};

/// A change in place that is due.
#[derive(Debug)]
pub(super) struct Due {
    /// The field that differs.
    pub field: FieldDiff,
    pub change: Change,
    /// The reason of the event: the difference is drift, or an edit.
    pub is_drift: bool,
}

/// Makes one change, unless an earlier one may only not be visible yet.
pub(super) async fn change(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    due: &Due,
) -> Outcome {
    let Reconcile { context, memory, identity, .. } = reconcile;
    let what = description(&*context.kind, due);
    if let Some(outcome) = lagging(memory, &what) {
        return outcome;
    }
    let (effective, current) = (observation.effective(), &observation.current);
    let updated = context.external.update(identity, &due.change, effective, current).await;
    let may_have_effect = match &updated {
        Ok(()) => true,
        // A change can take several calls.
        Err(failure) => matches!(failure.class, FailureClass::Transient | FailureClass::Throttled),
    };
    if may_have_effect {
        let (path, what, desired) = (due.field.path.clone(), what.clone(), effective.clone());
        memory.unseen.retain(|before| before.path != path);
        memory.unseen.push(Unseen { path, what, desired, at: Instant::now() });
    }
    if let Err(failure) = updated {
        return refused(failure, Reason::Updating);
    }
    let reason = reason(&*context.kind, due);
    let outcome = changed(memory, what);
    if let Outcome::Changed(what) = &outcome
        && memory.changed.as_ref().is_some_and(|changed| changed.times == 1)
    {
        record(reconcile, reason, what).await;
    }
    outcome
}

/// The outcome if fields do not differ only because an edit was reverted whose change is not visible yet. A field that differs,
/// such as `fixed`, is not reverted: it is reported at once, for example if the provider rejected the next call of a change.
pub(super) fn unseen(
    reconcile: &mut Reconcile<'_>,
    observation: &Observation<'_>,
    fixed: &[(FieldDiff, String)],
) -> Option<Outcome> {
    let Reconcile { context, memory, .. } = reconcile;
    let clock = observation.clock;
    memory.unseen.retain(|unseen| {
        unseen.left(clock).is_some()
            && unseen.is_hidden(&*context.kind, &observation.current)
            && !fixed.iter().any(|(field, _)| unseen.is_of(&field.path))
    });
    let unseen = memory.unseen.last()?;
    let message = format!("{}, which is reverted; waiting for the change to become visible", unseen.what);
    Some(Outcome::Unseen(Reason::Updating, message, unseen.left(clock)?))
}

fn description(kind: &dyn DynKind, Due { field, change, .. }: &Due) -> String {
    kind.describe_change(change).unwrap_or_else(|| match field.path.as_str() {
        "" => format!("changed {} to {}", field.have, field.want),
        path => format!("changed spec.{path} from {} to {}", field.have, field.want),
    })
}

/// The reason of the event.
fn reason(kind: &dyn DynKind, due: &Due) -> Reason {
    let missing_path = kind.info().missing_path;
    match () {
        () if due.is_drift => Reason::DriftReverted,
        () if !missing_path.is_empty() && due.field.path == missing_path => Reason::Scaled,
        () => Reason::Updated,
    }
}

/// How often a change without effect is made before it is reported.
const TRIES: u32 = 5;

/// The provider may show a change with a delay, or never. The change is then repeated after 1, 2, 4 s and so on.
fn lagging<K>(memory: &Memory<K>, what: &str) -> Option<Outcome> {
    let changed = memory.changed.as_ref().filter(|changed| changed.what == what)?;
    let left = changed.delay().checked_sub(changed.at.elapsed()).filter(|left| !left.is_zero())?;
    let message = format!("{what}; waiting for the change to become visible");
    Some(Outcome::Unseen(Reason::Updating, message, left))
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
        "{what}: the provider accepted the change {times} times and still returns the old value; check that no other \
         client reverts it"
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kraken_runtime::queue::Requeue;

    use super::*;

    const WHAT: &str = "changed spec.size from 3 to 5";

    /// How long a repetition is delayed, in milliseconds.
    fn retry_delay(memory: &Memory<()>, what: &str) -> Option<u128> {
        let outcome = lagging(memory, what)?;
        let Requeue::After(left) = outcome.requeue(None, 0) else { panic!("{outcome:?}") };
        Some(left.as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn invisible_change_is_repeated_with_backoff_and_then_reported() {
        let mut memory = Memory::<()>::default();
        assert_eq!(retry_delay(&memory, WHAT), None);
        for delay in [1000, 2000, 4000, 8000] {
            assert!(matches!(changed(&mut memory, WHAT.to_owned()), Outcome::Changed(_)));
            assert_eq!(retry_delay(&memory, WHAT), Some(delay));
            tokio::time::advance(Duration::from_millis(100)).await;
            assert_eq!(retry_delay(&memory, WHAT), Some(delay - 100));
            tokio::time::advance(Duration::from_secs(8)).await;
            assert_eq!(retry_delay(&memory, WHAT), None);
        }
        assert!(matches!(changed(&mut memory, WHAT.to_owned()), Outcome::Unheeded(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn different_change_is_made_without_delay() {
        let mut memory = Memory::<()>::default();
        changed(&mut memory, WHAT.to_owned());
        assert_eq!(retry_delay(&memory, "changed spec.size from 3 to 7"), None);
        changed(&mut memory, "changed spec.colour from a to b".to_owned());
        assert_eq!(retry_delay(&memory, WHAT), None);
    }
}
