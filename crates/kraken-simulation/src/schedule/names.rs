//! Names of objects in schedules.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An object of Kubernetes: `NAMESPACE/KIND/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectName {
    /// Its namespace.
    pub namespace: String,
    /// Its kind, as in a manifest.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl ObjectName {
    /// Of its three parts.
    pub fn new(namespace: &str, kind: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
    }

    /// Of a manifest; what it lacks is empty.
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            namespace: text(&metadata["namespace"]),
            kind: text(&object["kind"]),
            name: text(&metadata["name"]),
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.namespace, self.kind, self.name)
    }
}

/// A text that is not `NAMESPACE/KIND/NAME`.
#[derive(Debug, thiserror::Error)]
#[error("invalid object name {0:?}: expected NAMESPACE/KIND/NAME")]
pub struct InvalidName(String);

impl FromStr for ObjectName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let mut parts = text.splitn(3, '/');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(namespace), Some(kind), Some(name)) => Ok(Self::new(namespace, kind, name)),
            _ => Err(InvalidName(text.to_owned())),
        }
    }
}

impl TryFrom<String> for ObjectName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<ObjectName> for String {
    fn from(name: ObjectName) -> Self {
        name.to_string()
    }
}

/// A remote object, by its owner or name and not by its id, which shrinking would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Remote {
    /// What `status.externalIds` of an object names, or what carries its UID as a tag; the n-th of them, modulo their number.
    Of(ObjectName, usize),
    /// What [`super::Operation::CreateRemote`] created under this name.
    Named(String),
}

impl fmt::Display for Remote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(object, 0) => write!(formatter, "the remote object of {object}"),
            Self::Of(object, number) => write!(formatter, "remote object {number} of {object}"),
            Self::Named(name) => write!(formatter, "the remote object {name} that Kraken did not create"),
        }
    }
}

/// A program of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Controller {
    /// `kraken-hub`
    Hub,
    /// `kraken-aws-ec2-instance`
    Ec2Instance,
    /// `kraken-aws-vpc`
    Vpc,
    /// `kraken-aws-elb`
    Elb,
    /// The controller of a provider's resource types.
    Tofu,
    /// The host of that provider, in a process of its own.
    TofuHost,
}

/// Which controllers a schedule runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Suite {
    /// The hub and the spokes of AWS.
    #[default]
    Aws,
    /// The hub and the controller of a simulated OpenTofu provider.
    Provider,
}

impl Suite {
    /// The controllers that run.
    pub fn controllers(self) -> &'static [Controller] {
        match self {
            Self::Aws => &Controller::OF_AWS,
            Self::Provider => &[Controller::Hub, Controller::TofuHost, Controller::Tofu],
        }
    }
}

impl Controller {
    /// Those of the suite of AWS.
    pub const OF_AWS: [Self; 4] = [Self::Hub, Self::Ec2Instance, Self::Vpc, Self::Elb];

    /// The name of its binary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hub => "kraken-hub",
            Self::Ec2Instance => "kraken-aws-ec2-instance",
            Self::Vpc => "kraken-aws-vpc",
            Self::Elb => "kraken-aws-elb",
            Self::Tofu => "kraken-tofu",
            Self::TofuHost => "kraken-tofu-host",
        }
    }

    /// Whether it has a cloud.
    pub fn is_spoke(self) -> bool {
        !matches!(self, Self::Hub | Self::TofuHost)
    }

    /// The controller that reconciles a kind; the hub for those that no spoke has.
    pub fn of(kind: &str) -> Self {
        match kind {
            "EC2Instance" => Self::Ec2Instance,
            "VPC" | "Subnet" | "InternetGateway" | "RouteTable" | "SecurityGroup" | "ElasticIP"
            | "NATGateway" | "KeyPair" | "Volume" => Self::Vpc,
            "KtestFile" | "KtestNote" => Self::Tofu,
            "LoadBalancer" | "TargetGroup" | "Listener" | "ListenerRule" => Self::Elb,
            _ => Self::Hub,
        }
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
