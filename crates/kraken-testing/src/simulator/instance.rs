//! One instance: its settings, its states over time, and how it is described.

use std::time::{Duration, Instant};

use super::markup::Xml;
use super::tags::{History, Tags};

pub(super) const ACCOUNT: &str = "123456789012";
pub(super) const ROOT_DEVICE: &str = "/dev/sda1";
const ZONE: &str = "us-east-1a";
pub(super) const VPC: &str = "vpc-0a1b2c3d4e5f60718";

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

    /// Whether it is terminated or about to be.
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

/// From one state to the next by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    pub(super) from: State,
    pub(super) to: State,
    pub(super) at: Instant,
}

impl Life {
    pub(super) fn new(from: State, to: State, now: Instant, after: Duration) -> Self {
        Self { from, to, at: now + after }
    }

    pub(super) fn state(self, now: Instant) -> State {
        if now >= self.at { self.to } else { self.from }
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

/// What a launch asks for and later calls change.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the API")]
pub(super) struct Settings {
    pub(super) image: String,
    pub(super) instance_type: String,
    pub(super) subnet: String,
    pub(super) groups: Vec<String>,
    pub(super) key_name: Option<String>,
    /// In base64, as it came.
    pub(super) user_data: Option<String>,
    pub(super) profile: Option<String>,
    pub(super) private_address: Option<String>,
    pub(super) public: bool,
    pub(super) monitoring: bool,
    pub(super) ebs_optimized: bool,
    pub(super) metadata: Metadata,
    pub(super) protected: bool,
    /// Whether the root volume outlives the instance.
    pub(super) keeps_volume: bool,
}

/// One instance with its root volume.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    /// Counts launches; ids and addresses come from it.
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) volume: String,
    pub(super) reservation: String,
    pub(super) index: usize,
    pub(super) token: Option<String>,
    pub(super) launch_time: String,
    pub(super) settings: Settings,
    pub(super) life: Life,
    pub(super) tags: History,
    pub(super) volume_tags: History,
    pub(super) described_from: Instant,
    pub(super) known_from: Instant,
    pub(super) launched_by: u64,
    pub(super) ended_by: Option<u64>,
}

/// An id that is the same for the same number and looks like AWS's.
pub(super) fn id(prefix: &str, number: u64) -> String {
    // splitmix64: no two numbers have one image, and neighbours look nothing alike.
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{prefix}0{:016x}", mixed ^ (mixed >> 31))
}

impl Instance {
    pub(super) fn state(&self, now: Instant) -> State {
        self.life.state(now)
    }

    /// Whether its volume exists: it goes with its instance unless it was launched to stay.
    pub(super) fn has_volume(&self, now: Instant) -> bool {
        self.settings.keeps_volume || self.state(now) != State::Terminated
    }

    fn address(&self) -> String {
        let [.., a, b, c] = self.number.to_be_bytes();
        self.settings.private_address.clone().unwrap_or_else(|| format!("10.{a}.{b}.{c}"))
    }

    fn public_address(&self, now: Instant) -> Option<String> {
        let [.., a, b, c] = self.number.to_be_bytes();
        (self.settings.public && self.state(now) == State::Running).then(|| format!("54.{a}.{b}.{c}"))
    }

    /// What DescribeInstances and RunInstances say of it.
    pub(super) fn write(&self, xml: &mut Xml, now: Instant) {
        let (settings, state) = (&self.settings, self.state(now));
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
            xml.text("availabilityZone", ZONE);
            xml.text("tenancy", "default");
        });
        xml.tag("monitoring", |xml| {
            xml.text("state", if settings.monitoring { "enabled" } else { "disabled" });
        });
        settings.metadata.write(xml, "metadataOptions");
        if let Some(arn) = &settings.profile {
            xml.tag("iamInstanceProfile", |xml| xml.text("arn", arn));
        }
        write_tags(xml, self.tags.described(now));
        // A terminated instance has lost its volumes, addresses and interfaces, and is in no network.
        if state != State::Terminated {
            xml.list("blockDeviceMapping", [&self.volume], |xml, volume| {
                xml.text("deviceName", ROOT_DEVICE);
                xml.tag("ebs", |xml| {
                    xml.text("volumeId", volume);
                    xml.text("status", "attached");
                    xml.text("deleteOnTermination", !settings.keeps_volume);
                });
            });
            self.write_network(xml, now);
        }
    }

    fn write_network(&self, xml: &mut Xml, now: Instant) {
        let (address, public) = (self.address(), self.public_address(now));
        let private_name = format!("ip-{}.ec2.internal", address.replace('.', "-"));
        let public_name =
            public.as_ref().map(|ip| format!("ec2-{}.compute-1.amazonaws.com", ip.replace('.', "-")));
        let place = |xml: &mut Xml| {
            xml.text("vpcId", VPC);
            xml.text("subnetId", &self.settings.subnet);
            xml.text("privateIpAddress", &address);
            xml.text("privateDnsName", &private_name);
            xml.list("groupSet", &self.settings.groups, |xml, group| {
                xml.text("groupId", group);
                xml.text("groupName", "default");
            });
        };
        place(xml);
        xml.optional("ipAddress", public.as_ref());
        xml.optional("dnsName", public_name.as_ref());
        xml.list("networkInterfaceSet", [()], |xml, ()| {
            let [.., a, b, c] = self.number.to_be_bytes();
            xml.text("networkInterfaceId", id("eni-", self.number));
            xml.text("macAddress", format!("02:00:00:{a:02x}:{b:02x}:{c:02x}"));
            xml.text("ownerId", ACCOUNT);
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

fn write_tags(xml: &mut Xml, tags: &Tags) {
    xml.list("tagSet", tags, |xml, (key, value)| {
        xml.text("key", key);
        xml.text("value", value);
    });
}
