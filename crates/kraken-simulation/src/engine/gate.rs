//! The layer between one process and the servers that it calls: latency, faults, the trace, and the end of the process, after
//! which none of its calls gets a response.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Bytes;
use kraken_runtime::random;
use kraken_simulator::hook::{Answer, Call, Hook, HookAction};
use kraken_simulator::{FailureMode, FailurePoint, documented_error};

use super::checker::{Caller, Place};
use super::shared::Shared;
use super::trace::{CallEvent, EventKind, digest};
use crate::check::{subjects, values};
use crate::faults::Effect;
use crate::schedule::{Moment, Side};

/// The gate of one process to the API server or to the cloud.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Caller,
    pub(super) side: Side,
    /// Whether the process has ended.
    pub(super) is_dead: Arc<AtomicBool>,
}

impl Gate {
    /// The same to the cloud at another place.
    pub(super) fn to(&self, place: &Place) -> Self {
        let caller = Caller { place: Some(place.clone()), ..self.caller.clone() };
        Self { shared: self.shared.clone(), caller, side: self.side, is_dead: self.is_dead.clone() }
    }

    fn event(&self, call: &Call, answer: Option<&Answer>, effect: Option<&'static str>) {
        let event = CallEvent {
            process: self.caller.process,
            side: self.side,
            name: call.name.clone(),
            writes: call.writes,
            namespace: call.namespace.clone(),
            object: self.object(call),
            status: answer.map(|answer| answer.status),
            body: digest(&call.body),
            answer: answer.map_or(0, |answer| digest(&answer.body)),
            effect,
        };
        self.shared.note(EventKind::Call(event));
        if let Some(answer) = answer {
            self.shared.called(&self.caller, self.side, call, answer);
        }
    }

    /// The object of a write, if the call names it.
    fn object(&self, call: &Call) -> String {
        if !call.object.is_empty() || !call.writes {
            return call.object.clone();
        }
        match self.side {
            Side::Cloud => subjects(call).join(", "),
            Side::Kube => {
                let body = serde_json::from_slice::<serde_json::Value>(&call.body).unwrap_or_default();
                body["metadata"]["name"].as_str().unwrap_or_default().to_owned()
            }
        }
    }

    fn effect_on(&self, call: &Call, moment: Moment) -> Option<Effect> {
        self.shared.effect_on(self.caller.process.controller, self.side, &call.name, call.writes, moment)
    }

    /// Waits for half to one and a half of the usual latency of one direction.
    async fn simulate_latency(&self) {
        let usual = match self.side {
            Side::Kube => self.shared.settings.kube_latency,
            Side::Cloud => self.shared.settings.cloud_latency,
        };
        let share = u32::try_from(random::number() % 1001).unwrap_or_default() + 500;
        // Each direction is half of it.
        tokio::time::sleep(usual * share / 2000).await;
    }

    /// The end of the process: the caller never gets a result.
    async fn crash<T>(&self, down: Duration) -> T {
        self.shared.end(self.caller.process, down);
        std::future::pending().await
    }

    /// A killed process does nothing more: the caller never continues.
    async fn stop_if_dead(&self) {
        if self.is_dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// Whether the response of a call of the cloud that is to be lost arrives without its body instead, as half of them do: a proxy may cut it,
    /// and its status is that of a success.
    fn is_cut(&self, call: &Call) -> bool {
        self.side == Side::Cloud && digest(&call.body).is_multiple_of(2)
    }

    /// Makes the cloud reject the next call.
    fn refuse_with(&self, call: &Call, code: &str) {
        let known = documented_error(&call.name, code);
        let (status, message) = known.map_or((400, "simulated"), |error| (error.status, error.message));
        let how = FailureMode::Error {
            status,
            code: code.to_owned(),
            message: format!("{message}{}", quoted(call)),
        };
        if let Some(place) = &self.caller.place {
            self.shared.cloud_at(place).fail_next(&call.name, FailurePoint::Before, how);
        }
    }
}

/// How a request to something that is no HTTP server was lost.
pub(super) enum Lost {
    /// It was rejected.
    Refused,
    /// It had no effect.
    Before,
    /// It had its effect.
    After,
}

impl Gate {
    /// Passes a request to something that is no HTTP server.
    pub(super) async fn pass<T>(
        &self,
        name: String,
        writes: bool,
        object: &str,
        request: impl Future<Output = T>,
    ) -> Result<T, Lost> {
        let (namespace, object, body) = (String::new(), object.to_owned(), Bytes::new());
        let call = Call { number: 0, name, writes, watches: false, namespace, object, body };
        match self.before(&call).await {
            HookAction::Pass => {}
            HookAction::Drop => return Err(Lost::Before),
            HookAction::Refuse(_) => return Err(Lost::Refused),
        }
        let answered = request.await;
        match self.after(&call, &Answer { status: 200, body: Bytes::new() }).await {
            HookAction::Pass => Ok(answered),
            _ => Err(Lost::After),
        }
    }
}

/// The values of a call's parameters other than tags: a provider's error may quote any of them, also in the form in which it
/// received them.
fn quoted(call: &Call) -> String {
    let values = values(call).into_iter().filter(|value| !value.contains(['<', '>', '&']));
    let values: Vec<String> = values.map(|value| format!("'{value}'")).collect();
    if values.is_empty() { String::new() } else { format!("; the request has {}", values.join(", ")) }
}

impl Hook for Gate {
    async fn before(&self, call: &Call) -> HookAction {
        self.stop_if_dead().await;
        self.simulate_latency().await;
        self.stop_if_dead().await;
        if self.shared.is_unreachable(self.side, self.caller.process.controller) {
            self.event(call, None, Some("unreachable"));
            return if self.side == Side::Kube { HookAction::Drop } else { HookAction::Refuse(503) };
        }
        match self.effect_on(call, Moment::Before) {
            None => {}
            Some(Effect::Crash(down)) => {
                self.event(call, None, Some("crash before"));
                return self.crash(down).await;
            }
            Some(Effect::Lose) => {
                self.event(call, None, Some("lost before"));
                return HookAction::Drop;
            }
            Some(Effect::Refuse(status)) => {
                self.event(call, None, Some("refused"));
                return HookAction::Refuse(status);
            }
            Some(Effect::Fail(code)) => self.refuse_with(call, &code),
            Some(Effect::Delay(by)) => tokio::time::sleep(by).await,
        }
        HookAction::Pass
    }

    async fn after(&self, call: &Call, answer: &Answer) -> HookAction {
        let effect = self.effect_on(call, Moment::After);
        let name = match effect {
            None => None,
            Some(Effect::Crash(_)) => Some("crash after"),
            Some(Effect::Lose) if self.is_cut(call) => Some("cut after"),
            Some(Effect::Lose) => Some("lost after"),
            Some(Effect::Refuse(_) | Effect::Fail(_)) => Some("rejected after"),
            Some(Effect::Delay(_)) => Some("delayed"),
        };
        self.event(call, Some(answer), name);
        self.stop_if_dead().await;
        let action = match effect {
            None | Some(Effect::Fail(_)) => HookAction::Pass,
            Some(Effect::Crash(down)) => return self.crash(down).await,
            // A success without the body that the SDK expects.
            Some(Effect::Lose) if self.is_cut(call) => HookAction::Refuse(200),
            Some(Effect::Lose) => HookAction::Drop,
            Some(Effect::Refuse(status)) => HookAction::Refuse(status),
            Some(Effect::Delay(by)) => {
                tokio::time::sleep(by).await;
                HookAction::Pass
            }
        };
        self.simulate_latency().await;
        self.stop_if_dead().await;
        action
    }
}
