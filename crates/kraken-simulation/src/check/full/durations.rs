//! How long faults last.

use std::time::Duration;

use crate::schedule::Fault;

/// How long a fault lasts; none if nothing fails: a second replica only waits for the lease.
pub(super) fn lasts(fault: &Fault) -> Option<Duration> {
    Some(match fault {
        Fault::Replica { .. } => return None,
        Fault::Crash { down, .. } | Fault::Kill { down, .. } => *down,
        Fault::Delay { by, .. } => *by,
        Fault::DelayWatches { by, lasts, .. } => *by + *lasts,
        Fault::Suspend { lasts, .. }
        | Fault::ApiOutage { lasts, .. }
        | Fault::CloudOutage { lasts, .. }
        | Fault::Stale { lasts, .. }
        | Fault::Throttle { lasts, .. }
        | Fault::Capacity { lasts, .. }
        | Fault::PartialLaunches { lasts, .. }
        | Fault::Hide { lasts, .. }
        | Fault::Contend { lasts, .. } => *lasts,
        Fault::Lose { .. }
        | Fault::Refuse { .. }
        | Fault::Fail { .. }
        | Fault::CutWatches { .. }
        | Fault::Compact => Duration::ZERO,
    })
}
