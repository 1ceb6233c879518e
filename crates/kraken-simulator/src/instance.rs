//! One instance: its settings, its states over time, and its representation in Describe calls.

use tokio::time::Instant;

use super::cloud::Cloud;
use super::kind::id;
use super::listing::Described;
use super::markup::Xml;
use super::network::{self, SecurityGroup};
use super::state_transition::StateTransition;

pub(super) const ROOT_DEVICE: &str = "/dev/sda1";

/// A state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Running,
    ShuttingDown,
    Terminated,
    Stopping,
    Stopped,
}

impl State {
    pub(super) fn name(self) -> &'static str {
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
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::ShuttingDown | Self::Terminated)
    }

    pub(super) fn write(self, xml: &mut Xml, name: &str) {
        xml.tag(name, |xml| {
            xml.text("code", self.code());
            xml.text("name", self.name());
        });
    }
}

/// The metadata service's settings.
#[derive(Debug, Clone)]
pub(super) struct Metadata {
    pub(super) tokens: String,
    pub(super) hop_limit: usize,
    pub(super) endpoint: String,
}

impl Metadata {
    pub(super) fn write(&self, xml: &mut Xml, name: &str) {
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
pub(super) struct Settings {
    pub(super) image: String,
    pub(super) instance_type: String,
    pub(super) subnet: String,
    pub(super) groups: Vec<String>,
    pub(super) key_name: Option<String>,
    /// In base64, as in the call.
    pub(super) user_data: Option<String>,
    pub(super) profile: Option<String>,
    pub(super) public: bool,
    pub(super) monitoring: bool,
    pub(super) ebs_optimized: bool,
    pub(super) metadata: Metadata,
    pub(super) protected: bool,
}

/// The network location of an instance.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) vpc: String,
    pub(super) zone: String,
    pub(super) address: String,
}

/// One instance.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    /// The number of the launch, from which ids and addresses are derived.
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) place: Place,
    /// The ids of its volumes, first the one that it was launched with.
    pub(super) volumes: Vec<String>,
    pub(super) reservation: String,
    pub(super) index: usize,
    pub(super) token: Option<String>,
    pub(super) launch_time: String,
    pub(super) settings: Settings,
    pub(super) transition: StateTransition<State>,
    pub(super) ended_by: Option<u64>,
    /// The Elastic IP address that is associated with it.
    pub(super) elastic: Option<String>,
}

impl Described for Instance {
    const IDS: &'static str = "InstanceId";
    const SET: &'static str = "instancesSet";
    const FILTERS: &'static [&'static str] = &[
        "instance-state-name",
        "instance-id",
        "image-id",
        "instance-type",
        "subnet-id",
        "vpc-id",
        "availability-zone",
        "instance.group-id",
        "key-name",
        "private-ip-address",
        "client-token",
    ];

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        let settings = &self.settings;
        let in_network = self.state(cloud.now) != State::Terminated;
        match filter {
            "instance-state-name" => vec![self.state(cloud.now).name().to_owned()],
            "instance-id" => vec![self.id.clone()],
            "image-id" => vec![settings.image.clone()],
            "instance-type" => vec![settings.instance_type.clone()],
            "availability-zone" => vec![self.place.zone.clone()],
            "key-name" => settings.key_name.iter().cloned().collect(),
            "client-token" => self.token.iter().cloned().collect(),
            "subnet-id" if in_network => vec![settings.subnet.clone()],
            "vpc-id" if in_network => vec![self.place.vpc.clone()],
            "private-ip-address" if in_network => vec![self.place.address.clone()],
            "instance.group-id" if in_network => settings.groups.clone(),
            _ => vec![],
        }
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        self.write_all(xml, cloud);
    }
}

impl Instance {
    pub(super) fn state(&self, now: Instant) -> State {
        self.transition.state(now)
    }

    /// The network interface that it was launched with.
    pub(super) fn interface(&self) -> String {
        id("eni-", self.number)
    }

    pub(super) fn public_address(&self, now: Instant) -> Option<String> {
        let [.., a, b, c] = self.number.to_be_bytes();
        let own =
            || (self.settings.public && self.state(now) == State::Running).then(|| format!("54.{a}.{b}.{c}"));
        self.elastic.clone().or_else(own)
    }

    /// The representation in DescribeInstances and RunInstances.
    fn write_all(&self, xml: &mut Xml, cloud: &Cloud) {
        let (settings, state) = (&self.settings, self.state(cloud.now));
        xml.text("instanceId", &self.id);
        xml.text("imageId", &settings.image);
        state.write(xml, "instanceState");
        xml.text("instanceType", &settings.instance_type);
        xml.text("amiLaunchIndex", self.index);
        xml.text("launchTime", &self.launch_time);
        xml.optional("keyName", settings.key_name.as_ref());
        xml.optional("clientToken", self.token.as_ref());
        xml.text("architecture", "x86_64");
        xml.text("hypervisor", "xen");
        xml.text("virtualizationType", "hvm");
        xml.text("rootDeviceName", ROOT_DEVICE);
        xml.text("rootDeviceType", "ebs");
        xml.text("ebsOptimized", settings.ebs_optimized);
        xml.tag("placement", |xml| {
            xml.text("availabilityZone", &self.place.zone);
            xml.text("tenancy", "default");
        });
        xml.tag("monitoring", |xml| {
            xml.text("state", if settings.monitoring { "enabled" } else { "disabled" });
        });
        settings.metadata.write(xml, "metadataOptions");
        if let Some(arn) = &settings.profile {
            xml.tag("iamInstanceProfile", |xml| xml.text("arn", arn));
        }
        // A terminated instance has lost its volumes, addresses and interfaces, and is in no network.
        if state != State::Terminated {
            network::write_devices(xml, cloud, self);
            self.write_network(xml, cloud);
        }
    }

    fn write_network(&self, xml: &mut Xml, cloud: &Cloud) {
        let (address, public) = (&self.place.address, self.public_address(cloud.now));
        let private_name = format!("ip-{}.ec2.internal", address.replace('.', "-"));
        let public_name =
            public.as_ref().map(|ip| format!("ec2-{}.compute-1.amazonaws.com", ip.replace('.', "-")));
        let place = |xml: &mut Xml| {
            xml.text("vpcId", &self.place.vpc);
            xml.text("subnetId", &self.settings.subnet);
            xml.text("privateIpAddress", address);
            xml.text("privateDnsName", &private_name);
            xml.list("groupSet", &self.settings.groups, |xml, group| {
                xml.text("groupId", group);
                let known = cloud.existing::<SecurityGroup>(group);
                xml.text("groupName", known.map_or("default", |known| &known.name));
            });
        };
        place(xml);
        xml.optional("ipAddress", public.as_ref());
        xml.optional("dnsName", public_name.as_ref());
        xml.list("networkInterfaceSet", [()], |xml, ()| {
            let [.., a, b, c] = self.number.to_be_bytes();
            xml.text("networkInterfaceId", self.interface());
            xml.text("macAddress", format!("02:00:00:{a:02x}:{b:02x}:{c:02x}"));
            xml.text("ownerId", &cloud.options.account);
            xml.text("status", "in-use");
            place(xml);
            xml.tag("attachment", |xml| {
                xml.text("deviceIndex", 0);
                xml.text("status", "attached");
            });
            if let (Some(ip), Some(name)) = (&public, &public_name) {
                xml.tag("association", |xml| {
                    xml.text("publicIp", ip);
                    xml.text("publicDnsName", name);
                });
            }
        });
    }
}
