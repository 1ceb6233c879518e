//! The kinds of objects, with AWS's names, ids and error codes.

use super::refusal::{Refusal, is_well_formed};

/// A kind of object in the account. The last four are of Elastic Load Balancing, the others of EC2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A virtual machine.
    Instance,
    /// A disk.
    Volume,
    /// A virtual network.
    Vpc,
    /// A part of a VPC in one zone.
    Subnet,
    /// A gateway that connects a VPC to the internet.
    InternetGateway,
    /// The routes of subnets.
    RouteTable,
    /// A security group.
    SecurityGroup,
    /// An Elastic IP address.
    Address,
    /// A gateway that connects private subnets to the internet.
    NatGateway,
    /// A public key for instances.
    KeyPair,
    /// An application or network load balancer.
    LoadBalancer,
    /// A target group.
    TargetGroup,
    /// A port that a load balancer listens on.
    Listener,
    /// A listener rule.
    ListenerRule,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Instance,
        Self::Volume,
        Self::Vpc,
        Self::Subnet,
        Self::InternetGateway,
        Self::RouteTable,
        Self::SecurityGroup,
        Self::Address,
        Self::NatGateway,
        Self::KeyPair,
        Self::LoadBalancer,
        Self::TargetGroup,
        Self::Listener,
        Self::ListenerRule,
    ];

    /// The prefix of its ids; empty for ARNs.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Instance => "i-",
            Self::Volume => "vol-",
            Self::Vpc => "vpc-",
            Self::Subnet => "subnet-",
            Self::InternetGateway => "igw-",
            Self::RouteTable => "rtb-",
            Self::SecurityGroup => "sg-",
            Self::Address => "eipalloc-",
            Self::NatGateway => "nat-",
            Self::KeyPair => "key-",
            Self::LoadBalancer | Self::TargetGroup | Self::Listener | Self::ListenerRule => "",
        }
    }

    /// Its name as a resource type of tags.
    pub(super) fn tag_type(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Volume => "volume",
            Self::Vpc => "vpc",
            Self::Subnet => "subnet",
            Self::InternetGateway => "internet-gateway",
            Self::RouteTable => "route-table",
            Self::SecurityGroup => "security-group",
            Self::Address => "elastic-ip",
            Self::NatGateway => "natgateway",
            Self::KeyPair => "key-pair",
            Self::LoadBalancer => "load-balancer",
            Self::TargetGroup => "target-group",
            Self::Listener => "listener",
            Self::ListenerRule => "listener-rule",
        }
    }

    /// Whether it is EC2's.
    pub(super) fn is_of_ec2(self) -> bool {
        !self.prefix().is_empty()
    }

    /// The error for these well-formed ids, which do not exist.
    pub(super) fn missing(self, ids: &[&str]) -> Refusal {
        let all = ids.join(", ");
        let one = ids.len() == 1;
        let by_id = |code: &str, noun: &str| {
            let (ids, verb) = if one { ("ID", "does") } else { ("IDs", "do") };
            Refusal::new(code, format!("The {noun} {ids} '{all}' {verb} not exist"))
        };
        let by_name = |code: &str, noun: &str, end: &str| {
            let (plural, verb) = if one { ("", "does") } else { ("s", "do") };
            Refusal::new(code, format!("The {noun}{plural} '{all}' {verb} not exist{end}"))
        };
        match self {
            Self::Instance => by_id("InvalidInstanceID.NotFound", "instance"),
            Self::Vpc => by_id("InvalidVpcID.NotFound", "vpc"),
            Self::Subnet => by_id("InvalidSubnetID.NotFound", "subnet"),
            Self::InternetGateway => by_id("InvalidInternetGatewayID.NotFound", "internetGateway"),
            Self::RouteTable => by_id("InvalidRouteTableID.NotFound", "routeTable"),
            Self::Address => by_id("InvalidAllocationID.NotFound", "allocation"),
            Self::Volume => by_name("InvalidVolume.NotFound", "volume", "."),
            Self::SecurityGroup => by_name("InvalidGroup.NotFound", "security group", ""),
            Self::KeyPair => by_name("InvalidKeyPair.NotFound", "key pair", ""),
            Self::NatGateway => {
                Refusal::new("NatGatewayNotFound", format!("The Nat Gateway {all} was not found"))
            }
            Self::LoadBalancer => {
                Refusal::new("LoadBalancerNotFound", "One or more load balancers not found")
            }
            Self::TargetGroup => Refusal::new("TargetGroupNotFound", "One or more target groups not found"),
            Self::Listener => Refusal::new("ListenerNotFound", "One or more listeners not found"),
            Self::ListenerRule => Refusal::new("RuleNotFound", "One or more rules not found"),
        }
    }

    /// Rejects a malformed id of this kind.
    pub(super) fn check(self, id: &str) -> Result<(), Refusal> {
        let code = match self {
            Self::Instance => "InvalidInstanceID.Malformed",
            Self::Vpc => "InvalidVpcID.Malformed",
            Self::Subnet => "InvalidSubnetID.Malformed",
            Self::InternetGateway => "InvalidInternetGatewayId.Malformed",
            Self::RouteTable => "InvalidRouteTableId.Malformed",
            Self::SecurityGroup => "InvalidGroupId.Malformed",
            Self::NatGateway => "NatGatewayMalformed",
            Self::Address => "InvalidAllocationID.Malformed",
            Self::Volume => "InvalidVolumeID.Malformed",
            Self::KeyPair => "InvalidKeyPairId.Malformed",
            Self::LoadBalancer | Self::TargetGroup | Self::Listener | Self::ListenerRule => {
                let noun = self.tag_type().replace('-', " ");
                let is_arn = id.starts_with("arn:aws:elasticloadbalancing:");
                let wrong = || Refusal::new("ValidationError", format!("'{id}' is not a valid {noun} ARN"));
                return if is_arn { Ok(()) } else { Err(wrong()) };
            }
        };
        if is_well_formed(id, self.prefix()) {
            Ok(())
        } else {
            Err(Refusal::malformed(code, id, self.prefix()))
        }
    }
}

/// A deterministic id for a number, in AWS's format.
pub(super) fn id(prefix: &str, number: u64) -> String {
    format!("{prefix}0{:016x}", mixed(number))
}

/// splitmix64: bijective, and adjacent numbers have very different results.
pub(super) fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ids_are_reported_as_by_aws() {
        let message_of = |kind: Kind, ids: &[&str]| kind.missing(ids).message;
        assert_eq!(message_of(Kind::Instance, &["i-1"]), "The instance ID 'i-1' does not exist");
        assert_eq!(message_of(Kind::Vpc, &["vpc-1", "vpc-2"]), "The vpc IDs 'vpc-1, vpc-2' do not exist");
        assert_eq!(message_of(Kind::SecurityGroup, &["sg-1"]), "The security group 'sg-1' does not exist");
        assert_eq!(message_of(Kind::Volume, &["vol-1"]), "The volume 'vol-1' does not exist.");
    }

    #[test]
    fn ids_are_checked_by_their_kind() {
        assert!(Kind::Vpc.check("vpc-0a1b2c3d4e5f60718").is_ok());
        assert_eq!(Kind::Vpc.check("i-12345678").unwrap_err().code, "InvalidVpcID.Malformed");
        assert_eq!(Kind::Listener.check("web").unwrap_err().code, "ValidationError");
        assert!(Kind::KeyPair.check(&id("key-", 7)).is_ok());
    }
}
