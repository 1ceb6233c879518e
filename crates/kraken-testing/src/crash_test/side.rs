//! The proxies of a run: every call is counted, checked and recorded.

use std::sync::Arc;

use kraken_simulator::hook::{Answer, Call, Hook, HookAction};

use super::checks::named;
use super::recorder::Recorder;

/// The proxy in front of Kubernetes or of the cloud.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) recorder: Arc<Recorder>,
    pub(super) cloud: bool,
}

impl Side {
    fn name(&self, call: &Call) -> String {
        format!("{} {}", if self.cloud { "cloud" } else { "kube" }, call.name)
    }

    fn record(&self, call: &Call, what: &str) {
        if self.cloud || call.writes || call.watches {
            let target = if self.cloud { named(call).join(",") } else { call.object.clone() };
            let text = format!("{} {target} {what}", self.name(call));
            self.recorder.enter(text, call.writes);
        }
    }
}

impl Hook for Side {
    async fn before(&self, call: &Call) -> HookAction {
        if call.name.contains("lease") {
            return HookAction::Pass; // renewed at all times, by two replicas
        }
        let action = self.recorder.count(self.cloud, call, &self.name(call));
        if action != HookAction::Pass {
            self.record(call, &format!("was not forwarded: {action:?}"));
        } else if self.cloud && call.writes {
            self.recorder.check_named(call);
        } else if call.writes {
            self.recorder.check_body(call);
        }
        action
    }

    async fn after(&self, call: &Call, answer: &Answer) -> HookAction {
        if call.name.contains("lease") {
            return HookAction::Pass;
        }
        self.record(call, &format!("-> {}", answer.status));
        if self.cloud && call.writes {
            self.recorder.check_counts();
        } else if !self.cloud && call.name.starts_with("PATCH ") && answer.status == 200 {
            self.recorder.check_finalizer(answer);
        }
        let action = self.recorder.answered(self.cloud, call);
        if action != HookAction::Pass {
            self.record(call, &format!("took effect, its response is lost: {action:?}"));
        }
        action
    }
}
