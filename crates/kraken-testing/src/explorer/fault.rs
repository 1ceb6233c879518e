//! What goes wrong, and at which call.

use std::fmt;

use crate::proxy::When;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The controller gets SIGKILL, and is started again.
    Kill,
    /// The connection closes without an answer.
    Lose,
    /// A write to Kubernetes is refused with 409.
    Conflict,
    /// Every write to Kubernetes is refused with 409 when it is made first.
    Storm,
    /// All watches break, and the next ones are refused with 410.
    Cut,
    /// The leader of two replicas is stopped (SIGSTOP) until the other one has its lease, and goes on then.
    Stop,
}

/// What a stopped leader can do harm with.
const GRAVE: [&str; 3] = ["kube PATCH ec2instances", "cloud RunInstances", "cloud TerminateInstances"];

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Kill, Self::Lose, Self::Conflict, Self::Storm, Self::Cut, Self::Stop];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Lose => "lose",
            Self::Conflict => "conflict",
            Self::Storm => "storm",
            Self::Cut => "cut",
            Self::Stop => "stop",
        }
    }

    /// The moments of this call at which it makes sense.
    pub(super) fn moments(self, call: &Numbered) -> &'static [When] {
        match self {
            Self::Stop if !GRAVE.contains(&call.name.as_str()) => &[],
            Self::Kill | Self::Stop => &[When::Before, When::After],
            // A read that is lost, or comes while a watch breaks, is read again: one that writes is the harder case.
            Self::Lose | Self::Cut if !call.writes => &[],
            // A request that never arrived is what a kill before the call looks like to the cloud.
            Self::Lose => &[When::After],
            Self::Conflict if call.is_kubernetes() => &[When::Before],
            Self::Storm if call.number == 1 => &[When::Before],
            Self::Conflict | Self::Storm => &[],
            Self::Cut => &[When::Before],
        }
    }
}

/// A call of a run without faults: its name, and which of that name it was. This, and not its place among all calls,
/// finds it again in another run, where polls and events may come in another order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// Its place among all calls.
    pub number: usize,
    /// `cloud RunInstances`, `kube PATCH ec2instances/status`.
    pub name: String,
    /// Which of this name, from 1.
    pub occurrence: u32,
    /// Whether it may change something.
    pub writes: bool,
}

impl Numbered {
    fn is_kubernetes(&self) -> bool {
        self.name.starts_with("kube ")
    }
}

/// One fault at one call.
#[derive(Debug, Clone)]
pub struct Point {
    /// The scenario's name.
    pub scenario: &'static str,
    /// The call.
    pub call: Numbered,
    /// Before or after its effect.
    pub when: When,
    /// What happens.
    pub fault: Fault,
}

impl fmt::Display for Point {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.when == When::Before { "before" } else { "after" };
        let Numbered { number, name, occurrence, .. } = &self.call;
        write!(formatter, "{} {} {when} #{number} {name} ({occurrence})", self.scenario, self.fault.name())
    }
}
