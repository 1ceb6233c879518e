//! The objects that block a deletion. AWS's error `DependencyViolation` does not contain their ids.

use kraken_aws::{
    Aws, Tags,
    ec2::types::{Filter, NatGatewayState, NetworkInterface},
    fields::listed,
    release::filter,
    tags,
};
use kraken_kind::Failure;

/// The object that cannot be deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of<'a> {
    Vpc(&'a str),
    Subnet(&'a str),
    SecurityGroup(&'a str),
    /// The internet gateway of this VPC, which cannot be detached.
    Attachment(&'a str),
}

/// The error of a deletion, with the ids of the dependent objects that the credentials can describe.
pub(crate) async fn named<T: Send>(aws: &Aws, result: Result<T, Failure>, of: Of<'_>) -> Result<(), Failure> {
    let failure = match result {
        Ok(_) => return Ok(()),
        Err(failure) if failure.code == "DependencyViolation" => failure,
        Err(failure) => return Err(failure),
    };
    let mut users = users(aws, of).await;
    // Sorted, because AWS's order differs between calls.
    users.sort();
    if users.is_empty() {
        return Err(failure);
    }
    let message = failure.message.trim_end_matches('.');
    Err(Failure { message: format!("{message}; it is used by {}", listed(&users)), ..failure })
}

/// Whether a network interface uses a security group.
pub(crate) async fn has_interfaces(aws: &Aws, group: &str) -> Result<bool, Failure> {
    let call = aws.ec2().describe_network_interfaces().set_filters(Some(one("group-id", group)));
    let answer = aws.call("DescribeNetworkInterfaces", "failed to describe dependents", call.send()).await?;
    Ok(!answer.network_interfaces().is_empty())
}

/// The results of all calls; a call that fails, such as for a missing permission, counts as an empty list.
macro_rules! found {
    ($aws:ident, $call:ident.$set:ident($filters:expr), $operation:literal, $list:ident) => {{
        let call = $aws.ec2().$call().$set(Some($filters));
        let answer = $aws.call($operation, "failed to describe dependents", call.send()).await;
        answer.ok().and_then(|answer| answer.$list).unwrap_or_default()
    }};
}

async fn users(aws: &Aws, of: Of<'_>) -> Vec<String> {
    match of {
        Of::Vpc(id) => of_vpc(aws, id).await,
        Of::Subnet(id) => {
            let filters = one("subnet-id", id);
            let gateways =
                found!(aws, describe_nat_gateways.set_filter(filters), "DescribeNatGateways", nat_gateways);
            let is_there = |state: Option<&NatGatewayState>| {
                !matches!(state, Some(NatGatewayState::Deleted | NatGatewayState::Failed))
            };
            let mut users: Vec<String> = gateways
                .into_iter()
                .filter(|gateway| is_there(gateway.state.as_ref()))
                .map(|gateway| label(gateway.nat_gateway_id, gateway.tags))
                .collect();
            users.extend(interfaces(aws, one("subnet-id", id)).await);
            users
        }
        Of::SecurityGroup(id) => {
            let mut users = interfaces(aws, one("group-id", id)).await;
            for name in ["ip-permission.group-id", "egress.ip-permission.group-id"] {
                let filters = one(name, id);
                let groups = found!(
                    aws,
                    describe_security_groups.set_filters(filters),
                    "DescribeSecurityGroups",
                    security_groups
                );
                let others = groups.into_iter().filter(|group| group.group_id.as_deref() != Some(id));
                users.extend(others.map(|group| format!("a rule of {}", label(group.group_id, group.tags))));
            }
            users
        }
        Of::Attachment(vpc) => {
            let mut filters = one("vpc-id", vpc);
            filters.push(filter("association.public-ip", vec!["*".to_owned()]));
            interfaces(aws, filters).await
        }
    }
}

async fn of_vpc(aws: &Aws, id: &str) -> Vec<String> {
    let of_vpc = || one("vpc-id", id);
    let subnets = found!(aws, describe_subnets.set_filters(of_vpc()), "DescribeSubnets", subnets);
    let gateways = found!(
        aws,
        describe_internet_gateways.set_filters(one("attachment.vpc-id", id)),
        "DescribeInternetGateways",
        internet_gateways
    );
    let tables =
        found!(aws, describe_route_tables.set_filters(of_vpc()), "DescribeRouteTables", route_tables);
    let groups = found!(
        aws,
        describe_security_groups.set_filters(of_vpc()),
        "DescribeSecurityGroups",
        security_groups
    );
    let endpoints =
        found!(aws, describe_vpc_endpoints.set_filters(of_vpc()), "DescribeVpcEndpoints", vpc_endpoints);
    let acls = found!(aws, describe_network_acls.set_filters(of_vpc()), "DescribeNetworkAcls", network_acls);
    let private = found!(
        aws,
        describe_vpn_gateways.set_filters(one("attachment.vpc-id", id)),
        "DescribeVpnGateways",
        vpn_gateways
    );
    // The main route table, the default security group and the default network ACL are deleted with the VPC.
    let is_main = |table: &kraken_aws::ec2::types::RouteTable| {
        table.associations().iter().any(|association| association.main == Some(true))
    };
    let mut users: Vec<String> = vec![];
    users.extend(subnets.into_iter().map(|subnet| label(subnet.subnet_id, subnet.tags)));
    users.extend(gateways.into_iter().map(|gateway| label(gateway.internet_gateway_id, gateway.tags)));
    users.extend(tables.into_iter().filter(|table| !is_main(table)).map(|t| label(t.route_table_id, t.tags)));
    let others = groups.into_iter().filter(|group| group.group_name.as_deref() != Some("default"));
    users.extend(others.map(|group| label(group.group_id, group.tags)));
    let acls = acls.into_iter().filter(|acl| acl.is_default != Some(true));
    users.extend(acls.map(|acl| label(acl.network_acl_id, acl.tags)));
    users.extend(endpoints.into_iter().map(|endpoint| label(endpoint.vpc_endpoint_id, endpoint.tags)));
    users.extend(private.into_iter().map(|gateway| label(gateway.vpn_gateway_id, gateway.tags)));
    users
}

async fn interfaces(aws: &Aws, filters: Vec<Filter>) -> Vec<String> {
    let found = found!(
        aws,
        describe_network_interfaces.set_filters(filters),
        "DescribeNetworkInterfaces",
        network_interfaces
    );
    found.into_iter().map(interface).collect()
}

/// The id of an interface with its instance or its description, because the id alone does not identify the user.
fn interface(interface: NetworkInterface) -> String {
    let id = interface.network_interface_id.unwrap_or_default();
    let instance = interface.attachment.and_then(|attachment| attachment.instance_id);
    let part = instance.or(interface.description).filter(|part| !part.is_empty());
    part.map_or_else(|| id.clone(), |part| format!("{id} ({part})"))
}

/// An id with its owner resource, or its name tag.
fn label(id: Option<String>, tags: Option<Vec<kraken_aws::ec2::types::Tag>>) -> String {
    let (id, tags): (_, Tags) = (id.unwrap_or_default(), tags::from_sdk(&tags.unwrap_or_default()));
    let owner = tags::owner(&tags).map(|owner| owner.owner);
    let name = owner.or_else(|| tags.get("Name").cloned()).filter(|name| !name.is_empty());
    name.map_or_else(|| id.clone(), |name| format!("{id} ({name})"))
}

fn one(name: &str, value: &str) -> Vec<Filter> {
    vec![filter(name, vec![value.to_owned()])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::ec2::types::{NetworkInterfaceAttachment, Tag};

    #[test]
    fn a_dependent_is_named_with_its_owner() {
        let tag = |key: &str, value: &str| Tag::builder().key(key).value(value).build();
        let id = || Some("subnet-1".to_owned());
        let owned = [(tags::CLUSTER, "c"), (tags::UID, "u"), (tags::OWNER, "Subnet/ns/a")];
        let owned = owned.map(|(key, value)| tag(key, value)).into();
        assert_eq!(label(id(), Some(owned)), "subnet-1 (Subnet/ns/a)");
        assert_eq!(label(id(), Some(vec![tag("Name", "by hand")])), "subnet-1 (by hand)");
        assert_eq!(label(id(), None), "subnet-1");
    }

    #[test]
    fn an_interface_is_named_with_its_object() {
        let eni = NetworkInterface::builder().network_interface_id("eni-1");
        let of_instance = NetworkInterfaceAttachment::builder().instance_id("i-1").build();
        assert_eq!(interface(eni.clone().attachment(of_instance).build()), "eni-1 (i-1)");
        assert_eq!(interface(eni.clone().description("ELB app/web/1").build()), "eni-1 (ELB app/web/1)");
        assert_eq!(interface(eni.build()), "eni-1");
    }
}
