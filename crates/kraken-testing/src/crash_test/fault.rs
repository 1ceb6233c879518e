//! Faults and their injection points.

use std::fmt;

use kraken_simulator::FailurePoint;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The controller is killed (SIGKILL) and restarted.
    Kill,
    /// The connection closes without a response.
    Lose,
    /// A write to Kubernetes is rejected with 409.
    Conflict,
    /// The first attempt of every write to Kubernetes is rejected with 409.
    Storm,
    /// All watches break, and the next ones are rejected with 410.
    Cut,
    /// All connections are reset, including requests in flight.
    Reset,
    /// The leader of two replicas is suspended (SIGSTOP) until the other has acquired the lease, and is then resumed.
    Stop,
    /// Both replicas are killed (SIGKILL) and restarted.
    Both,
    /// kube-apiserver is killed (SIGKILL) and restarted. The runs of other faults have ended by then.
    Restart,
}

impl Fault {
    /// All variants.
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

    /// Whether it requires two replicas.
    pub(super) fn needs_replicas(self) -> bool {
        matches!(self, Self::Stop | Self::Both)
    }

    /// The applicable moments of this call.
    pub(super) fn moments(self, call: &Numbered) -> &'static [FailurePoint] {
        const BEFORE: &[FailurePoint] = &[FailurePoint::Before];
        const AFTER: &[FailurePoint] = &[FailurePoint::After];
        match self {
            Self::Kill => &[FailurePoint::Before, FailurePoint::After],
            // A lost read is repeated, so only writes are relevant.
            Self::Stop | Self::Both | Self::Lose | Self::Cut | Self::Reset | Self::Restart
                if !call.writes =>
            {
                &[]
            }
            // For a resumed leader or two starting replicas, only calls that create or delete are relevant.
            Self::Stop | Self::Both if !call.is_critical() => &[],
            Self::Stop => &[FailurePoint::Before, FailurePoint::After],
            // For the cloud, a request that never arrived equals a kill before the call.
            Self::Lose | Self::Reset | Self::Both => AFTER,
            Self::Conflict if call.is_kubernetes() && call.writes => BEFORE,
            Self::Storm if call.number == 1 => BEFORE,
            Self::Conflict | Self::Storm => &[],
            Self::Cut => BEFORE,
            Self::Restart if call.is_critical() => AFTER,
            Self::Restart => &[],
        }
    }
}

/// A call of the baseline run: its name, and its number among the calls with this name. Unlike its position among all
/// calls, this identifies it in another run, in which polls and events may have a different order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// Its position among all calls.
    pub number: usize,
    /// `cloud RunInstances`, `kube PATCH ec2instances/status`.
    pub name: String,
    /// Its number among the calls with this name, from 1.
    pub occurrence: u32,
    /// Whether it may change something.
    pub writes: bool,
}

impl Numbered {
    fn is_kubernetes(&self) -> bool {
        self.name.starts_with("kube ")
    }

    /// Whether it creates, deletes or persists a record: not an event, nor a status that can be written again.
    fn is_critical(&self) -> bool {
        const LIGHT: [&str; 4] = ["events", "statedeclarations", "tags", "dependencyrequests"];
        let name = self.name.to_lowercase();
        let answers = name.ends_with("dependencyrequests/status"); // written by the hub; spokes write none
        answers || (!name.ends_with("/status") && !LIGHT.iter().any(|light| name.ends_with(light)))
    }
}

/// One fault at one call: an injection point.
#[derive(Debug, Clone)]
pub struct Point {
    /// The scenario's name.
    pub scenario: &'static str,
    /// The call.
    pub call: Numbered,
    /// Before or after its effect.
    pub when: FailurePoint,
    /// The fault.
    pub fault: Fault,
}

impl fmt::Display for Point {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.when == FailurePoint::Before { "before" } else { "after" };
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
    fn only_a_kill_is_injected_at_reads() {
        let read = call("cloud DescribeVpcs", false);
        let faults: Vec<&str> = Fault::ALL
            .iter()
            .filter(|fault| !fault.moments(&read).is_empty())
            .map(|fault| fault.name())
            .collect();
        assert_eq!(faults, ["kill"]);
    }
}
