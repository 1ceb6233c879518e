//! The parts of networks, for out-of-band changes.

use crate::cloud::Cloud;
use crate::model::permissions::{Peer, Rule};
use crate::model::{Address, InternetGateway, KeyPair, RouteTable, SecurityGroup, Subnet, Volume, Vpc};
use crate::network::has_gateway;

/// A part of an object by its name in changes.
pub(crate) fn part_of(cloud: &Cloud, id: &str, name: &str) -> Option<String> {
    match name {
        "$larger" => Some((cloud.existing::<Volume>(id)?.shape.size + 1).to_string()),
        "$name" => Some(cloud.existing::<KeyPair>(id)?.name.clone()),
        "$block" => Some(cloud.existing::<Vpc>(id)?.blocks.get(1)?.association.clone()),
        "$vpc" => cloud.existing::<InternetGateway>(id)?.vpc.clone(),
        "$free-vpc" => {
            let free = cloud.all::<Vpc>().values().find(|vpc| !has_gateway(cloud, &vpc.id));
            free.map(|vpc| vpc.id.clone())
        }
        "$address-association" => Some(cloud.existing::<Address>(id)?.used.as_ref()?.association.clone()),
        "$ingress" | "$egress" => {
            let wanted = name == "$egress";
            let mut rules = cloud.existing::<SecurityGroup>(id)?.rules.iter();
            rules.find(|rule| rule.permission.egress == wanted).map(|rule| rule.id.clone())
        }
        "$described-ingress" => described(cloud.existing::<SecurityGroup>(id)?.rules.iter()),
        "$table-association" => cloud.all::<RouteTable>().values().find_map(|table| association(table, id)),
        _ => of_table(cloud, cloud.existing::<RouteTable>(id)?, name),
    }
}

fn of_table(cloud: &Cloud, table: &RouteTable, name: &str) -> Option<String> {
    match name {
        "$gateway" => {
            let of_vpc = |one: &&InternetGateway| one.vpc.as_ref() == Some(&table.vpc);
            cloud.all::<InternetGateway>().values().find(of_vpc).map(|gateway| gateway.id.clone())
        }
        "$destination" => {
            let route = table.routes.iter().find(|route| !route.is_local())?;
            let v6 = if route.destination.contains(':') { "Ipv6" } else { "" };
            Some(format!("Destination{v6}CidrBlock={}", route.destination))
        }
        "$association" => {
            table.associations.iter().find(|one| one.subnet.is_some()).map(|one| one.id.clone())
        }
        "$main" => {
            let others = cloud.all::<RouteTable>().values().filter(|other| other.vpc == table.vpc);
            let mut all = others.flat_map(|table| &table.associations);
            all.find(|one| one.subnet.is_none()).map(|one| one.id.clone())
        }
        "$subnet" => {
            let is_free = |subnet: &&Subnet| {
                let mut tables = cloud.all::<RouteTable>().values();
                subnet.vpc == table.vpc && !tables.any(|table| association(table, &subnet.id).is_some())
            };
            cloud.all::<Subnet>().values().find(is_free).map(|subnet| subnet.id.clone())
        }
        _ => None,
    }
}

/// The id of a table's association with a subnet.
fn association(table: &RouteTable, subnet: &str) -> Option<String> {
    let meant = table.associations.iter().find(|one| one.subnet.as_deref() == Some(subnet));
    meant.map(|one| one.id.clone())
}

/// An ingress rule with another description.
fn described<'a>(mut rules: impl Iterator<Item = &'a Rule>) -> Option<String> {
    let rule = rules.find(|rule| !rule.permission.egress && rule.permission.peer.v4().is_some())?;
    let Peer::V4(range) = &rule.permission.peer else { return None };
    let ports = rule.permission.ports.map_or_else(String::new, |(from, to)| {
        format!(" IpPermissions.1.FromPort={from} IpPermissions.1.ToPort={to}")
    });
    let protocol = &rule.permission.protocol;
    let range =
        format!("IpPermissions.1.IpRanges.1.CidrIp={range} IpPermissions.1.IpRanges.1.Description=elsewhere");
    Some(format!("IpPermissions.1.IpProtocol={protocol}{ports} {range}"))
}
