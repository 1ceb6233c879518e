//! The result of a reconcile, and the event about restarted workloads.

use std::time::Duration;

use kraken_api::ConfigExport;
use kraken_runtime::EventType;
use kube::Resource;

use crate::{exports::report::Outcome, watch::cluster_state::ClusterState};

/// The result of a reconcile.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) outcome: Outcome,
    /// The time for which it is not reported, because it may be resolved without an edit.
    pub(super) remaining: Option<Duration>,
    /// When it is reconciled again.
    pub(super) again: Option<Duration>,
}

impl From<Outcome> for Finished {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, remaining: None, again: None }
    }
}

/// Publishes which workloads were restarted, and why.
pub(super) async fn record_restarts(
    cluster: &ClusterState,
    export: &ConfigExport,
    restarted: &[String],
    why: &str,
) {
    if restarted.is_empty() {
        return;
    }
    let note = format!("restarted {}: {why}", restarted.join(", "));
    let object = export.object_ref(&());
    cluster.manager.events.publish(&object, EventType::Normal, "Restarted", "Restart", &note).await;
}
