//! The network resources of a launch, which are released when its instances end.

use std::net::Ipv4Addr;

use crate::cloud::Cloud;
use crate::form::Form;
use crate::kind::Kind;
use crate::model::instance::Place;
use crate::model::{SecurityGroup, Subnet, zone};
use crate::refusal::{Refusal, is_well_formed};

use super::security_group::default_group;

/// The location of instances without a known subnet.
const SOMEWHERE: (&str, &str, &str) =
    ("subnet-0123456789abcdef0", "sg-0123456789abcdef0", "vpc-0a1b2c3d4e5f60718");

/// The validated network settings of a launch.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) subnet: String,
    pub(crate) groups: Vec<String>,
    pub(crate) public: bool,
    /// The number of free addresses.
    pub(crate) capacity: usize,
    address: Option<Ipv4Addr>,
}

/// The site of a launch of so many instances; `network` has the parameters of the launch or of its interface.
pub(crate) fn site(cloud: &Cloud, network: &Form, count: usize) -> Result<Site, Refusal> {
    let subnet = network.text("SubnetId").unwrap_or_else(|| SOMEWHERE.0.to_owned());
    let known = cloud.existing::<Subnet>(&subnet);
    let is_named = network.get("SubnetId").is_some();
    if !is_well_formed(&subnet, "subnet-") || (cloud.options.strict_network && is_named && known.is_none()) {
        return Err(Kind::Subnet.missing(&[&subnet]));
    }
    let address = match network.get("PrivateIpAddress") {
        None => None,
        Some(text) => {
            let malformed = || {
                let message = format!("Invalid value '{text}' for address. Must be an IPv4 address.");
                Refusal::new("InvalidParameterValue", message)
            };
            Some(text.parse().map_err(|_| malformed())?)
        }
    };
    if let Some(known) = known {
        if known.free_addresses() < count {
            return Err(known.full());
        }
        address.map_or(Ok(()), |address| known.offers(address))?;
    }
    let mut groups: Vec<String> = network.list("SecurityGroupId").into_iter().map(str::to_owned).collect();
    groups_exist(cloud, &groups)?;
    let vpc = known.map(|known| known.vpc.as_str());
    for group in groups.iter().filter_map(|group| cloud.existing::<SecurityGroup>(group)) {
        if vpc.is_some_and(|vpc| vpc != group.vpc) {
            let message =
                format!("Security group {} and subnet {subnet} belong to different networks.", group.id);
            return Err(Refusal::new("InvalidParameter", message));
        }
    }
    if groups.is_empty() {
        let default = vpc.and_then(|vpc| default_group(cloud, vpc));
        groups.push(default.unwrap_or_else(|| SOMEWHERE.1.to_owned()));
    }
    let by_default = known.is_none_or(|known| known.maps_public);
    let public = network.flag("AssociatePublicIpAddress")?.unwrap_or(by_default);
    let capacity = known.map_or(usize::MAX, Subnet::free_addresses);
    Ok(Site { subnet, groups, public, capacity, address })
}

/// Rejects malformed security group ids, and in a strict network missing groups.
pub(crate) fn groups_exist(cloud: &Cloud, groups: &[String]) -> Result<(), Refusal> {
    let is_wrong = |group: &&String| {
        !is_well_formed(group, "sg-")
            || (cloud.options.strict_network && cloud.existing::<SecurityGroup>(group).is_none())
    };
    groups.iter().find(is_wrong).map_or(Ok(()), |wrong| Err(Kind::SecurityGroup.missing(&[wrong])))
}

/// Allocates the network location of an instance.
pub(crate) fn place(cloud: &mut Cloud, site: &Site, number: u64, owner: &str) -> Place {
    let [.., a, b, c] = number.to_be_bytes();
    let made_up = site.address.unwrap_or(Ipv4Addr::new(10, a, b, c));
    let first = zone::first(&cloud.options.region);
    let (vpc, zone, address) = match cloud.existing_mut::<Subnet>(&site.subnet) {
        None => (SOMEWHERE.2.to_owned(), first, made_up),
        Some(subnet) => {
            if let Some(address) = site.address {
                subnet.take_address(address, owner);
            }
            let taken = site.address.map_or_else(|| subnet.take(owner), Ok);
            (subnet.vpc.clone(), subnet.zone().to_owned(), taken.unwrap_or(made_up))
        }
    };
    Place { vpc, zone, address: address.to_string() }
}
