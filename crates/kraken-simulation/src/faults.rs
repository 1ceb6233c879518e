//! The armed faults and their effects on calls, for the layers between a controller and the API server or the cloud.

use std::time::Duration;

use crate::schedule::{CallMatch, Controller, Fault, Moment, Side};

/// What happens to one call at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The caller's process ends, and is started again after this time.
    Crash(Duration),
    /// The connection closes.
    Lose,
    /// The response is delayed by this time.
    Delay(Duration),
    /// The API server responds with this status code.
    Refuse(u16),
    /// The cloud responds with this error code.
    Fail(String),
}

#[derive(Debug)]
struct Entry {
    controller: Controller,
    call: CallMatch,
    moment: Moment,
    /// How many of the calls that are meant still pass.
    skip: u32,
    /// How many are hit after those.
    times: u32,
    effect: Effect,
}

/// All faults that wait for a call.
#[derive(Debug, Default)]
pub struct Armed(Vec<Entry>);

impl Armed {
    /// Arms a fault of a call; returns `false` for other faults, which are ignored.
    pub fn arm(&mut self, fault: &Fault) -> bool {
        let (controller, call, moment, times, effect) = match fault {
            Fault::Crash { controller, call, moment, down } => {
                (controller, call, *moment, 1, Effect::Crash(*down))
            }
            Fault::Lose { controller, call, moment, times } => {
                (controller, call, *moment, *times, Effect::Lose)
            }
            Fault::Delay { controller, call, by, times } => {
                (controller, call, Moment::After, *times, Effect::Delay(*by))
            }
            Fault::Refuse { controller, call, status, times } => {
                (controller, call, Moment::Before, *times, Effect::Refuse(*status))
            }
            Fault::Fail { controller, call, code, times } => {
                (controller, call, Moment::Before, *times, Effect::Fail(code.clone()))
            }
            _ => return false,
        };
        self.0.push(Entry {
            controller: *controller,
            call: call.clone(),
            moment,
            skip: call.nth.saturating_sub(1),
            times: times.max(1),
            effect,
        });
        true
    }

    /// The effect on this call at this moment. Called once per call and moment, because it counts the calls. `name` is
    /// as in [`kraken_simulator::hook::Call`].
    pub fn effect_on(
        &mut self,
        controller: Controller,
        side: Side,
        name: &str,
        writes: bool,
        moment: Moment,
    ) -> Option<Effect> {
        let mut effect = None;
        for entry in &mut self.0 {
            let meant = entry.controller == controller
                && entry.moment == moment
                && entry.call.is_about(side, name, writes);
            if !meant {
                continue;
            }
            if entry.skip > 0 {
                entry.skip -= 1;
            } else if effect.is_none() {
                entry.times -= 1;
                effect = Some(entry.effect.clone());
            }
        }
        self.0.retain(|entry| entry.times > 0);
        effect
    }

    /// Disarms all faults.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(action: &str, nth: u32) -> CallMatch {
        CallMatch { side: Side::Cloud, action: action.to_owned(), nth }
    }

    #[test]
    fn a_fault_affects_only_its_call() {
        let mut armed = Armed::default();
        let down = Duration::from_secs(1);
        let crash = Fault::Crash {
            controller: Controller::Vpc,
            call: call("CreateVpc", 2),
            moment: Moment::After,
            down,
        };
        assert!(armed.arm(&crash));
        let mut effect_on =
            |controller, name, moment| armed.effect_on(controller, Side::Cloud, name, true, moment);
        assert_eq!(effect_on(Controller::Vpc, "CreateVpc", Moment::After), None);
        assert_eq!(effect_on(Controller::Vpc, "CreateVpc", Moment::Before), None);
        assert_eq!(effect_on(Controller::Elb, "CreateVpc", Moment::After), None);
        assert_eq!(effect_on(Controller::Vpc, "CreateSubnet", Moment::After), None);
        assert_eq!(effect_on(Controller::Vpc, "CreateVpc", Moment::After), Some(Effect::Crash(down)));
        assert_eq!(effect_on(Controller::Vpc, "CreateVpc", Moment::After), None);
    }

    #[test]
    fn a_fault_of_several_calls_affects_consecutive_calls() {
        let mut armed = Armed::default();
        armed.arm(&Fault::Refuse {
            controller: Controller::Hub,
            call: CallMatch { side: Side::Kube, action: "writes".to_owned(), nth: 1 },
            status: 409,
            times: 2,
        });
        let mut effect_on =
            |writes| armed.effect_on(Controller::Hub, Side::Kube, "PATCH x", writes, Moment::Before);
        assert_eq!(effect_on(false), None);
        assert_eq!(effect_on(true), Some(Effect::Refuse(409)));
        assert_eq!(effect_on(true), Some(Effect::Refuse(409)));
        assert_eq!((effect_on(true), armed.waiting()), (None, 0));
    }
}
