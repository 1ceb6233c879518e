//! The status writes that faults failed. A controller that could not write a status repeats the reconcile after its backoff; until
//! then, the objects alone do not show that anything is to be done.

use std::collections::BTreeMap;
use std::time::Duration;

use kraken_runtime::queue::BACKOFF_MAX;

use crate::engine::{CallEvent, ProcessId};
use crate::schedule::Side;

/// The time that a retry takes beyond its delay.
const RETRY: Duration = Duration::from_secs(10);

/// The first and the last of the failed status writes in a row, by process and object.
#[derive(Debug, Default)]
pub(super) struct Unreported(BTreeMap<(ProcessId, String, String, String), (Duration, Duration)>);

impl Unreported {
    /// Takes a call into account.
    pub(super) fn called(&mut self, call: &CallEvent, now: Duration) {
        if call.side != Side::Kube || !call.name.ends_with("/status") {
            return;
        }
        let key = (call.process, call.name.clone(), call.namespace.clone(), call.object.clone());
        if call.effect.is_some() {
            self.0.entry(key).or_insert((now, now)).1 = now;
        } else {
            self.0.remove(&key);
        }
    }

    /// The writes whose repetition is awaited. The backoff doubles, so the next attempt is due after as long again as they failed.
    pub(super) fn pending(&self, now: Duration) -> Vec<String> {
        let is_awaited = |(first, last): &(Duration, Duration)| {
            now < *last + last.saturating_sub(*first).min(BACKOFF_MAX) + RETRY
        };
        let awaited = self.0.iter().filter(|(_, failed)| is_awaited(failed));
        awaited
            .map(|((_, what, namespace, name), _)| format!("{what} {namespace}/{name} is to be repeated"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Controller;

    fn call(effect: Option<&'static str>) -> CallEvent {
        CallEvent {
            process: ProcessId { controller: Controller::Vpc, replica: 0, incarnation: 1 },
            side: Side::Kube,
            name: "PATCH vpcs/status".to_owned(),
            writes: true,
            namespace: "prod".to_owned(),
            object: "a".to_owned(),
            status: None,
            body: 0,
            answer: 0,
            effect,
        }
    }

    #[test]
    fn failed_status_write_is_pending_until_its_backoff_ends() {
        let seconds = Duration::from_secs;
        let mut unreported = Unreported::default();
        unreported.called(&call(Some("refused")), seconds(100));
        unreported.called(&call(Some("refused")), seconds(160));
        let pending = |unreported: &Unreported, now| unreported.pending(seconds(now)).len();
        assert_eq!(
            [pending(&unreported, 161), pending(&unreported, 229), pending(&unreported, 231)],
            [1, 1, 0]
        );
        unreported.called(&call(None), seconds(220));
        assert_eq!(pending(&unreported, 221), 0);
    }
}
