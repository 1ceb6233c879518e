//! The interface of the checks: called after every call and at the end of every phase.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kraken_runtime::metrics::Metrics;
use kraken_simulator::Simulator;
use kraken_simulator::hook::{Answer, Call};

use super::providers::World;
use super::trace::{Event, ProcessId};
use crate::apiserver::ApiServer;
use crate::schedule::{Controller, Operation, Settings, Side};

/// Something that must hold and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The virtual time since the start.
    pub at: Duration,
    /// The violated invariant.
    pub invariant: String,
    /// The actual state.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9.3} {}: {}", self.at.as_secs_f64(), self.invariant, self.message)
    }
}

/// Where a spoke works.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The account of its credentials.
    pub account: String,
    /// Its region.
    pub region: String,
}

impl Place {
    /// Where calls go that are signed with this access key for this region, by a process that works here: the key of another
    /// account ends with a dash and its number, which a rotation may have extended.
    pub(super) fn of_calls(&self, key: &str, region: &str) -> Self {
        let account = account_of(key).map_or_else(|| self.account.clone(), ToOwned::to_owned);
        Self { account, region: region.to_owned() }
    }
}

/// The account that an access key names, if it does.
fn account_of(key: &str) -> Option<&str> {
    let number = key.rsplit_once('-')?.1.get(..12)?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
}

impl Default for Place {
    /// Where all spokes begin.
    fn default() -> Self {
        Self { account: "123456789012".to_owned(), region: "us-east-1".to_owned() }
    }
}

/// The caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Which process.
    pub process: ProcessId,
    /// How it calls itself in its lease.
    pub identity: String,
    /// Where it works; the hub works nowhere.
    pub place: Option<Place>,
}

/// The current state of the simulation. It does not change during a check.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Virtual time since the start.
    pub now: Duration,
    /// The cluster.
    pub api: &'a ApiServer,
    /// The service of the simulated provider.
    pub world: &'a World,
    /// The cloud, by account and region.
    pub clouds: &'a BTreeMap<Place, Arc<Simulator>>,
    /// Where each controller works now.
    pub places: &'a BTreeMap<Controller, Place>,
    /// The settings of the schedule.
    pub settings: &'a Settings,
    /// The metrics of every process that ever ran.
    pub metrics: &'a [(ProcessId, Metrics)],
}

impl View<'_> {
    /// The cloud in which a controller works now.
    pub fn cloud(&self, controller: Controller) -> Option<&Simulator> {
        self.places.get(&controller).and_then(|place| self.clouds.get(place)).map(Arc::as_ref)
    }
}

/// The checks. They get every event once, right after its effect.
pub trait Checker: Send + 'static {
    /// After each event: a call, an operation, a fault.
    fn event(&mut self, view: &View<'_>, event: &Event) -> Vec<Violation>;

    /// After each call that took effect, before anything else happens.
    fn called(
        &mut self,
        view: &View<'_>,
        caller: &Caller,
        side: Side,
        call: &Call,
        answer: &Answer,
    ) -> Vec<Violation> {
        let _ = (view, caller, side, call, answer);
        Vec::new()
    }

    /// After each step of the garbage collector and the namespace controller, before anything else happens.
    fn collected(&mut self, view: &View<'_>) -> Vec<Violation> {
        let _ = view;
        Vec::new()
    }

    /// Whether the desired state is reached, called every second of virtual time after faults ended: the missing parts,
    /// as text.
    fn pending(&mut self, view: &View<'_>) -> Vec<String> {
        let _ = view;
        Vec::new()
    }

    /// When faults have ended and nothing has been written for a while, or the time for that is over.
    fn settled(&mut self, view: &View<'_>) -> Vec<Violation> {
        let _ = view;
        Vec::new()
    }

    /// What deletes all, once settled; nothing if all was deleted before.
    fn teardown(&mut self, view: &View<'_>) -> Vec<Operation> {
        let _ = view;
        Vec::new()
    }

    /// When all objects were deleted and nothing has been written for a while, or the time for that is over.
    fn emptied(&mut self, view: &View<'_>) -> Vec<Violation> {
        let _ = view;
        Vec::new()
    }
}

/// Nothing is checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unchecked;

impl Checker for Unchecked {
    fn event(&mut self, _: &View<'_>, _: &Event) -> Vec<Violation> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_key_may_name_another_account() {
        let here = Place::default();
        let account = |key| here.of_calls(key, "eu-west-1").account;
        assert_eq!(account("simulated"), here.account);
        assert_eq!(account("AKIAcanary2"), here.account);
        assert_eq!(account("AKIAcanary-222222222222"), "222222222222");
        assert_eq!(account("AKIAcanary-2222222222222"), "222222222222", "a rotated key");
        assert_eq!(here.of_calls("canary-banana", "eu-west-1").region, "eu-west-1");
    }
}
