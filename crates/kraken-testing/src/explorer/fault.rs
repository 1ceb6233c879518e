//! What goes wrong, and at which call.

use std::fmt;

use crate::proxy::When;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// All connections are reset, in the middle of whatever goes over them.
    Reset,
    /// The leader of two replicas is stopped (SIGSTOP) until the other one has its lease, and goes on then.
    Stop,
    /// Both of two replicas get SIGKILL, and are started again.
    Both,
    /// kube-apiserver gets SIGKILL, and is started again. The runs of other faults are over by then.
    Restart,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Kill,
        Self::Lose,
        Self::Conflict,
        Self::Storm,
        Self::Cut,
        Self::Reset,
        Self::Stop,
        Self::Both,
        Self::Restart,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Lose => "lose",
            Self::Conflict => "conflict",
            Self::Storm => "storm",
            Self::Cut => "cut",
            Self::Reset => "reset",
            Self::Stop => "stop",
            Self::Both => "both",
            Self::Restart => "restart",
        }
    }

    /// Whether it takes two replicas.
    pub(super) fn needs_replicas(self) -> bool {
        matches!(self, Self::Stop | Self::Both)
    }

    /// The moments of this call at which it makes sense.
    pub(super) fn moments(self, call: &Numbered) -> &'static [When] {
        const BEFORE: &[When] = &[When::Before];
        const AFTER: &[When] = &[When::After];
        match self {
            Self::Kill => &[When::Before, When::After],
            // A read that is lost, or comes while a watch breaks, is read again: one that writes is the harder case.
            Self::Stop | Self::Both | Self::Lose | Self::Cut | Self::Reset | Self::Restart
                if !call.writes =>
            {
                &[]
            }
            // What comes of a leader that wakes up or of two that start is decided by what it was about to create or delete.
            Self::Stop | Self::Both if !call.is_grave() => &[],
            Self::Stop => &[When::Before, When::After],
            // A request that never arrived is what a kill before the call looks like to the cloud.
            Self::Lose | Self::Reset | Self::Both => AFTER,
            Self::Conflict if call.is_kubernetes() && call.writes => BEFORE,
            Self::Storm if call.number == 1 => BEFORE,
            Self::Conflict | Self::Storm => &[],
            Self::Cut => BEFORE,
            Self::Restart if call.is_grave() => AFTER,
            Self::Restart => &[],
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

    /// Whether it creates, deletes or persists what must be known of that: not an event, nor a status that can be written again.
    fn is_grave(&self) -> bool {
        const LIGHT: [&str; 4] = ["events", "statedeclarations", "tags", "dependencyrequests"];
        let name = self.name.to_lowercase();
        let answers = name.ends_with("dependencyrequests/status"); // the hub's; of spokes there is none
        answers || (!name.ends_with("/status") && !LIGHT.iter().any(|light| name.ends_with(light)))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, writes: bool) -> Numbered {
        Numbered { number: 2, name: name.to_owned(), occurrence: 1, writes }
    }

    #[test]
    fn a_leader_is_stopped_only_where_it_creates_deletes_or_records() {
        let stops = |name: &str| !Fault::Stop.moments(&call(name, true)).is_empty();
        for name in [
            "cloud CreateVpc",
            "kube PATCH vpcs",
            "kube PATCH secrets",
            "kube PATCH dependencyrequests/status",
        ] {
            assert!(stops(name), "{name}");
        }
        for name in
            ["cloud CreateTags", "kube POST events", "kube PATCH vpcs/status", "kube PATCH statedeclarations"]
        {
            assert!(!stops(name), "{name}");
        }
    }

    #[test]
    fn reads_are_only_killed_at() {
        let read = call("cloud DescribeVpcs", false);
        let faults: Vec<&str> = Fault::ALL
            .iter()
            .filter(|fault| !fault.moments(&read).is_empty())
            .map(|fault| fault.name())
            .collect();
        assert_eq!(faults, ["kill"]);
    }
}
