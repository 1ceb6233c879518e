//! Security groups in AWS.

use kraken_aws::{
    Aws, Single, Tags,
    ec2::types::{
        self, IpPermission as SdkPermission, IpRange, Ipv6Range, PrefixListId, ResourceType, UserIdGroupPair,
    },
    lookup::Tagged,
    release::filter,
    single::{Creation, Question, Thing},
    tags,
};
use kraken_spoke::{Difference, Failure, Resolver};
use serde::Serialize;

use super::{
    api::{SecurityGroup as Resource, SecurityGroupSpec},
    plan::{self, Change, Desired, Direction},
    rule::{Entry, Peer, Permission},
};

/// Every security group.
pub(crate) struct SecurityGroups;

/// One of them. Its rules are sorted: AWS's order is another at each look.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SecurityGroup {
    pub(super) group_id: String,
    pub(super) group_name: Option<String>,
    pub(super) security_group_arn: Option<String>,
    pub(super) vpc_id: Option<String>,
    pub(super) description: Option<String>,
    pub(super) owner_id: Option<String>,
    pub(super) ip_permissions: Vec<IpPermission>,
    pub(super) ip_permissions_egress: Vec<IpPermission>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct IpPermission {
    ip_protocol: String,
    from_port: Option<i32>,
    to_port: Option<i32>,
    ip_ranges: Vec<Cidr>,
    ipv6_ranges: Vec<Cidr>,
    user_id_group_pairs: Vec<Pair>,
    prefix_list_ids: Vec<PrefixList>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Cidr {
    cidr_ip: Option<String>,
    cidr_ipv6: Option<String>,
    description: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Pair {
    group_id: String,
    user_id: Option<String>,
    description: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
struct PrefixList {
    prefix_list_id: String,
    description: Option<String>,
}

impl SecurityGroup {
    /// Its rules as single permissions.
    pub(super) fn entries(&self, direction: Direction) -> Vec<Entry> {
        let all = match direction {
            Direction::Ingress => &self.ip_permissions,
            Direction::Egress => &self.ip_permissions_egress,
        };
        all.iter().flat_map(IpPermission::entries).collect()
    }

    #[cfg(test)]
    pub(super) fn with_rules(id: &str, vpc_id: &str, ingress: impl Iterator<Item = Entry>) -> Self {
        Self {
            group_id: id.to_owned(),
            vpc_id: Some(vpc_id.to_owned()),
            ip_permissions: permissions(ingress.map(|entry| to_sdk(&entry)).collect()),
            ..Self::default()
        }
    }
}

impl IpPermission {
    fn entries(&self) -> Vec<Entry> {
        let entry = |peer: Peer, description: &Option<String>| Entry {
            permission: Permission::new(&self.ip_protocol, self.from_port, self.to_port, peer),
            description: description.clone(),
        };
        let v4 = self
            .ip_ranges
            .iter()
            .map(|range| entry(Peer::V4(range.cidr_ip.clone().unwrap_or_default()), &range.description));
        let v6 = self.ipv6_ranges.iter().map(|range| {
            let block = kraken_aws::cidr::canonical(range.cidr_ipv6.as_deref().unwrap_or_default());
            entry(Peer::V6(block), &range.description)
        });
        let groups = self
            .user_id_group_pairs
            .iter()
            .map(|pair| entry(Peer::Group(pair.group_id.clone()), &pair.description));
        let lists = self
            .prefix_list_ids
            .iter()
            .map(|list| entry(Peer::PrefixList(list.prefix_list_id.clone()), &list.description));
        v4.chain(v6).chain(groups).chain(lists).collect()
    }
}

impl Tagged for SecurityGroup {
    fn id(&self) -> &str {
        &self.group_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl Thing for SecurityGroup {}

fn group(group: types::SecurityGroup) -> SecurityGroup {
    SecurityGroup {
        group_id: group.group_id.unwrap_or_default(),
        group_name: group.group_name,
        security_group_arn: group.security_group_arn,
        vpc_id: group.vpc_id,
        description: group.description,
        owner_id: group.owner_id,
        ip_permissions: permissions(group.ip_permissions.unwrap_or_default()),
        ip_permissions_egress: permissions(group.ip_permissions_egress.unwrap_or_default()),
        tags: tags::from_sdk(&group.tags.unwrap_or_default()),
    }
}

fn permissions(permissions: Vec<SdkPermission>) -> Vec<IpPermission> {
    let one = |permission: SdkPermission| IpPermission {
        ip_protocol: permission.ip_protocol.unwrap_or_default(),
        from_port: permission.from_port,
        to_port: permission.to_port,
        ip_ranges: sorted(permission.ip_ranges, |range| Cidr {
            cidr_ip: range.cidr_ip,
            cidr_ipv6: None,
            description: range.description,
        }),
        ipv6_ranges: sorted(permission.ipv6_ranges, |range| Cidr {
            cidr_ip: None,
            cidr_ipv6: range.cidr_ipv6,
            description: range.description,
        }),
        user_id_group_pairs: sorted(permission.user_id_group_pairs, |pair| Pair {
            group_id: pair.group_id.unwrap_or_default(),
            user_id: pair.user_id,
            description: pair.description,
        }),
        prefix_list_ids: sorted(permission.prefix_list_ids, |list| PrefixList {
            prefix_list_id: list.prefix_list_id.unwrap_or_default(),
            description: list.description,
        }),
    };
    sorted(Some(permissions), one)
}

fn sorted<F, T: Ord>(from: Option<Vec<F>>, one: impl FnMut(F) -> T) -> Vec<T> {
    let mut all: Vec<T> = from.unwrap_or_default().into_iter().map(one).collect();
    all.sort();
    all
}

fn to_sdk(entry: &Entry) -> SdkPermission {
    let Entry { permission, description } = entry;
    let made = SdkPermission::builder()
        .ip_protocol(&permission.protocol)
        .set_from_port(permission.ports.map(|ports| ports.0))
        .set_to_port(permission.ports.map(|ports| ports.1));
    let about = description.clone();
    match &permission.peer {
        Peer::V4(block) => {
            made.ip_ranges(IpRange::builder().cidr_ip(block).set_description(about).build()).build()
        }
        Peer::V6(block) => {
            made.ipv6_ranges(Ipv6Range::builder().cidr_ipv6(block).set_description(about).build()).build()
        }
        Peer::PrefixList(id) => {
            let list = PrefixListId::builder().prefix_list_id(id).set_description(about).build();
            made.prefix_list_ids(list).build()
        }
        Peer::Group(id) => {
            let pair = UserIdGroupPair::builder().group_id(id).set_description(about).build();
            made.user_id_group_pairs(pair).build()
        }
        // The comparison has put the id in its place.
        Peer::Itself => made.build(),
    }
}

impl Single for SecurityGroups {
    type Kind = Resource;
    type Desired = Desired;
    type Thing = SecurityGroup;
    type Change = Change;
    const NOUN: &'static str = "security group";
    const STATE_KEY: &'static str = "securityGroup";
    /// AWS takes a name once in a VPC.
    const IS_IDEMPOTENT: bool = true;
    const DRIFT_PATHS: &[&str] = &["ingress.description", "egress.description"];

    fn desired(spec: &SecurityGroupSpec, values: &mut Resolver<'_>) -> Option<Desired> {
        plan::desired(spec, values)
    }

    fn tags(spec: &SecurityGroupSpec) -> &Tags {
        &spec.tags
    }

    fn differences(desired: &Desired, group: &SecurityGroup) -> Vec<Difference<Change>> {
        plan::differences(desired, group)
    }

    async fn read(aws: &Aws, question: Question) -> Result<Vec<SecurityGroup>, Failure> {
        let call =
            aws.ec2().describe_security_groups().set_group_ids(question.ids).set_filters(question.filters);
        let pages = call.into_paginator().send();
        let pages = aws.pages("DescribeSecurityGroups", "failed to look at security groups", pages).await?;
        Ok(pages.into_iter().flat_map(|page| page.security_groups.unwrap_or_default()).map(group).collect())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<SecurityGroup, Failure> {
        let name = desired.group_name.as_ref().map_or_else(|| creation.name(), |name| name.expose().clone());
        let description = desired.description.as_ref().map_or("Managed by Kraken", |text| text.expose());
        let call = aws
            .ec2()
            .create_security_group()
            .vpc_id(desired.vpc_id.expose())
            .group_name(&name)
            .description(description)
            .set_tag_specifications(Some(creation.specifications(ResourceType::SecurityGroup)));
        match aws.call("CreateSecurityGroup", "failed to create the security group", call.send()).await {
            Ok(made) => {
                Ok(SecurityGroup { group_id: made.group_id.unwrap_or_default(), ..Default::default() })
            }
            Err(failure) if failure.code == "InvalidGroup.Duplicate" => {
                let filters = [("vpc-id", desired.vpc_id.expose()), ("group-name", &name)];
                let filters = filters.map(|(key, value)| filter(key, vec![value.clone()])).into();
                let others = Self::read(aws, Question { ids: None, filters: Some(filters) }).await?;
                Err(creation.name_is_taken(failure, &others))
            }
            Err(failure) => Err(failure),
        }
    }

    async fn update(aws: &Aws, change: &Change, _: &Desired, group: &SecurityGroup) -> Result<(), Failure> {
        let (Change::Authorize(direction, entries)
        | Change::Describe(direction, entries)
        | Change::Revoke(direction, entries)) = change;
        let permissions = Some(entries.iter().map(|entry| to_sdk(entry.expose())).collect());
        let id = &group.group_id;
        match (change, direction) {
            (Change::Authorize(..), Direction::Ingress) => {
                let call = aws.ec2().authorize_security_group_ingress().group_id(id);
                let call = call.set_ip_permissions(permissions).send();
                aws.call("AuthorizeSecurityGroupIngress", "failed to add rules", call).await.map(drop)
            }
            (Change::Authorize(..), Direction::Egress) => {
                let call = aws.ec2().authorize_security_group_egress().group_id(id);
                let call = call.set_ip_permissions(permissions).send();
                aws.call("AuthorizeSecurityGroupEgress", "failed to add rules", call).await.map(drop)
            }
            (Change::Revoke(..), Direction::Ingress) => {
                let call = aws.ec2().revoke_security_group_ingress().group_id(id);
                let call = call.set_ip_permissions(permissions).send();
                aws.call("RevokeSecurityGroupIngress", "failed to take rules away", call).await.map(drop)
            }
            (Change::Revoke(..), Direction::Egress) => {
                let call = aws.ec2().revoke_security_group_egress().group_id(id);
                let call = call.set_ip_permissions(permissions).send();
                aws.call("RevokeSecurityGroupEgress", "failed to take rules away", call).await.map(drop)
            }
            (Change::Describe(..), Direction::Ingress) => {
                let call = aws.ec2().update_security_group_rule_descriptions_ingress().group_id(id);
                let call = call.set_ip_permissions(permissions).send();
                let operation = "UpdateSecurityGroupRuleDescriptionsIngress";
                aws.call(operation, "failed to describe rules", call).await.map(drop)
            }
            (Change::Describe(..), Direction::Egress) => {
                let call = aws.ec2().update_security_group_rule_descriptions_egress().group_id(id);
                let call = call.set_ip_permissions(permissions).send();
                let operation = "UpdateSecurityGroupRuleDescriptionsEgress";
                aws.call(operation, "failed to describe rules", call).await.map(drop)
            }
        }
    }

    async fn delete(aws: &Aws, group: &SecurityGroup) -> Result<(), Failure> {
        let call = aws.ec2().delete_security_group().group_id(&group.group_id);
        aws.call("DeleteSecurityGroup", "failed to delete the security group", call.send()).await.map(drop)
    }
}
