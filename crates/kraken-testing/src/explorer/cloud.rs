//! The cloud of one run: a simulator whose reads lag a little behind its writes, as AWS's do.

use std::time::Duration;

use anyhow::Result;

use super::scenario::{ADOPTABLE, IMAGE};
use crate::moto::Instance;
use crate::simulator::{Simulator, SimulatorOptions};

/// Long enough for the first look after a change to miss it, when it comes at once.
pub(super) const LAG: Duration = Duration::from_millis(200);
const PENDING: Duration = Duration::from_millis(300);

/// The cloud of one run. There is an instance in it that is nobody's of ours, and must still be there at the end.
#[derive(Debug)]
pub(super) struct Cloud {
    pub(super) simulator: Simulator,
    decoy: String,
}

impl Cloud {
    pub(super) fn start(lag: Duration, per_launch: Option<usize>) -> Result<Self> {
        let simulator = Simulator::start(SimulatorOptions {
            pending: PENDING,
            shutting_down: PENDING,
            describe_lag: lag,
            tag_lag: LAG,
            per_launch,
            ..SimulatorOptions::default()
        })?;
        let decoy = simulator.launch_outside(IMAGE, "t2.nano", &[("Team", "web")])?;
        Ok(Self { simulator, decoy })
    }

    /// Somebody launches what is exactly as the scenario wants it, and is nobody's of ours.
    pub(super) fn put_adoptable(&self) -> Result<()> {
        let tags = [(ADOPTABLE, "yes"), ("Team", "web")];
        let id = self.simulator.launch_outside(IMAGE, "t2.nano", &tags)?;
        let imds = [("InstanceId", id.as_str()), ("HttpTokens", "required")];
        self.simulator.outside("ModifyInstanceMetadataOptions", &imds).map(drop)
    }

    pub(super) fn endpoint(&self) -> &str {
        self.simulator.endpoint()
    }

    /// What Kraken launched, as it really is.
    pub(super) fn instances(&self) -> Vec<Instance> {
        let all = self.simulator.instances().into_iter().map(|record| record.instance);
        all.filter(|instance| instance.id != self.decoy).collect()
    }

    /// Whether the instance that was never ours still lives.
    pub(super) fn decoy_lives(&self) -> bool {
        let all = self.simulator.instances();
        all.iter().any(|record| record.instance.id == self.decoy && record.instance.is_alive())
    }
}
