//! One instance: its settings, and its states over time.

use tokio::time::Instant;

use crate::kind::id;
use crate::markup::Xml;
use crate::state_transition::StateTransition;

pub(crate) const ROOT_DEVICE: &str = "/dev/sda1";

/// A state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Pending,
    Running,
    ShuttingDown,
    Terminated,
    Stopping,
    Stopped,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::ShuttingDown => "shutting-down",
            Self::Terminated => "terminated",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Pending => 0,
            Self::Running => 16,
            Self::ShuttingDown => 32,
            Self::Terminated => 48,
            Self::Stopping => 64,
            Self::Stopped => 80,
        }
    }

    /// Whether it is terminated or shutting down.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::ShuttingDown | Self::Terminated)
    }

    pub(crate) fn write(self, xml: &mut Xml, name: &str) {
        xml.tag(name, |xml| {
            xml.text("code", self.code());
            xml.text("name", self.name());
        });
    }
}

/// The metadata service's settings.
#[derive(Debug, Clone)]
pub(crate) struct Metadata {
    pub(crate) tokens: String,
    pub(crate) hop_limit: usize,
    pub(crate) endpoint: String,
}

impl Metadata {
    pub(crate) fn write(&self, xml: &mut Xml, name: &str) {
        xml.tag(name, |xml| {
            xml.text("state", "applied");
            xml.text("httpTokens", &self.tokens);
            xml.text("httpPutResponseHopLimit", self.hop_limit);
            xml.text("httpEndpoint", &self.endpoint);
        });
    }
}

/// The settings of a launch, which later calls can change.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the API")]
pub(crate) struct Settings {
    pub(crate) image: String,
    pub(crate) instance_type: String,
    pub(crate) subnet: String,
    pub(crate) groups: Vec<String>,
    pub(crate) key_name: Option<String>,
    /// In base64, as in the call.
    pub(crate) user_data: Option<String>,
    pub(crate) profile: Option<String>,
    pub(crate) public: bool,
    pub(crate) monitoring: bool,
    pub(crate) ebs_optimized: bool,
    pub(crate) metadata: Metadata,
    pub(crate) protected: bool,
}

/// The network location of an instance.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) vpc: String,
    pub(crate) zone: String,
    pub(crate) address: String,
}

/// One instance.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    /// The number of the launch, from which ids and addresses are derived.
    pub(crate) number: u64,
    pub(crate) id: String,
    pub(crate) place: Place,
    /// The ids of its volumes, first the one that it was launched with.
    pub(crate) volumes: Vec<String>,
    pub(crate) reservation: String,
    pub(crate) index: usize,
    pub(crate) token: Option<String>,
    pub(crate) launch_time: String,
    pub(crate) settings: Settings,
    pub(crate) transition: StateTransition<State>,
    pub(crate) ended_by: Option<u64>,
    /// The Elastic IP address that is associated with it.
    pub(crate) elastic: Option<String>,
}

impl Instance {
    pub(crate) fn state(&self, now: Instant) -> State {
        self.transition.state(now)
    }

    /// The network interface that it was launched with.
    pub(crate) fn interface(&self) -> String {
        id("eni-", self.number)
    }

    pub(crate) fn public_address(&self, now: Instant) -> Option<String> {
        let [.., a, b, c] = self.number.to_be_bytes();
        let own =
            || (self.settings.public && self.state(now) == State::Running).then(|| format!("54.{a}.{b}.{c}"));
        self.elastic.clone().or_else(own)
    }
}
