//! The calls of network ACLs.

use kraken_aws::{ec2::types, errors::terminal, prelude::*, release::filter};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired},
    entry::Entry,
    import,
    observed::{Association, NetworkAcl},
};
use crate::{conflicts::held, security_group::rule::Direction};

const ASSOCIATE: &str = "failed to associate a subnet with the network ACL";
const DISASSOCIATE: &str = "failed to associate a subnet with the default network ACL";

/// The kind NetworkACL.
pub(crate) struct NetworkAcls;

/// Sets an entry on a call. The builders of two calls have these setters in common.
macro_rules! with_entry {
    ($call:expr, $entry:expr) => {{
        let Entry {
            rule_number,
            egress,
            rule_action,
            protocol,
            cidr_block,
            ipv6_cidr_block,
            port_range,
            icmp_type_code,
        } = $entry;
        let ports = port_range
            .as_ref()
            .map(|ports| types::PortRange::builder().from(ports.from).to(ports.to).build());
        let icmp = icmp_type_code
            .as_ref()
            .map(|icmp| types::IcmpTypeCode::builder().r#type(icmp.r#type).code(icmp.code).build());
        $call
            .rule_number(*rule_number)
            .egress(*egress)
            .rule_action(rule_action.as_str().into())
            .protocol(protocol)
            .set_cidr_block(cidr_block.clone())
            .set_ipv6_cidr_block(ipv6_cidr_block.clone())
            .set_port_range(ports)
            .set_icmp_type_code(icmp)
    }};
}

impl AwsResource for NetworkAcls {
    type Kind = api::NetworkACL;
    const FEATURES: Features = Features {
        ordered_fields: &["ingress", "egress", "subnetIDs"],
        is_idempotent: true,
        ..Features::NONE
    };

    fn not_importable(acl: &NetworkAcl) -> Option<String> {
        import::not_importable(acl)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<NetworkAcl>, Failure> {
        let call =
            aws.ec2().describe_network_acls().set_network_acl_ids(query.ids).set_filters(query.filters);
        let pages = call.into_paginator().send();
        aws.items("DescribeNetworkAcls", "failed to describe network ACLs", pages, |page| page.network_acls)
            .await
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<NetworkAcl, Failure> {
        // Entries and associations are added by changes.
        let Desired { vpc_id, ingress: _, egress: _, subnet_ids: _ } = desired;
        let call = aws
            .ec2_once()
            .create_network_acl()
            .vpc_id(vpc_id.expose())
            .client_token(&creation.launch.token)
            .set_tag_specifications(Some(creation.specifications(ResourceType::NetworkAcl)));
        let made = aws.call("CreateNetworkAcl", "failed to create the network ACL", call.send()).await?;
        Ok(made.network_acl.map(NetworkAcl::from).unwrap_or_default())
    }

    async fn update(aws: &Aws, change: &Change, _: &Desired, acl: &NetworkAcl) -> Result<(), Failure> {
        let id = &acl.network_acl_id;
        match change {
            Change::Create(entry) => {
                let call =
                    with_entry!(aws.ec2().create_network_acl_entry().network_acl_id(id), entry.expose());
                // Another entry with this number is observed by the next reconcile, and replaced.
                let result = aws.call("CreateNetworkAclEntry", "failed to add an entry", call.send()).await;
                ignore_codes(result, &["NetworkAclEntryAlreadyExists"])
            }
            Change::Replace(entry) => {
                let call =
                    with_entry!(aws.ec2().replace_network_acl_entry().network_acl_id(id), entry.expose());
                // A deleted entry is observed by the next reconcile, and created.
                let result =
                    aws.call("ReplaceNetworkAclEntry", "failed to change an entry", call.send()).await;
                ignore_codes(result, &["InvalidNetworkAclEntry.NotFound"])
            }
            Change::Delete(direction, number) => {
                let call = aws.ec2().delete_network_acl_entry().network_acl_id(id);
                let call = call.rule_number(*number).egress(*direction == Direction::Egress);
                let result =
                    aws.call("DeleteNetworkAclEntry", "failed to delete an entry", call.send()).await;
                ignore_codes(result, &["InvalidNetworkAclEntry.NotFound"])
            }
            Change::Associate(subnet_id) => associate(aws, acl, subnet_id).await,
            Change::Disassociate(subnet_id) => disassociate(aws, acl, acl.association_of(subnet_id)).await,
        }
    }

    async fn delete(aws: &Aws, acl: &NetworkAcl) -> Result<(), Failure> {
        disassociate(aws, acl, &acl.associations).await?;
        let call = aws.ec2().delete_network_acl().network_acl_id(&acl.network_acl_id);
        aws.call("DeleteNetworkAcl", "failed to delete the network ACL", call.send()).await.map(drop)
    }
}

/// A subnet always has a network ACL, which AWS replaces without a question: only the default one of the VPC, which nobody chose, is.
async fn associate(aws: &Aws, own: &NetworkAcl, subnet_id: &str) -> Result<(), Failure> {
    let id = own.network_acl_id.as_str();
    let found = NetworkAcls::read(aws, DescribeQuery::with("association.subnet-id", subnet_id)).await?;
    let current = found.iter().find_map(|acl| Some((acl, acl.association_of(subnet_id)?)));
    match current {
        // A stale read.
        Some((acl, _)) if acl.network_acl_id == id => Ok(()),
        Some((acl, association)) if acl.is_default => replace(aws, association, id, ASSOCIATE).await,
        Some((acl, _)) => {
            let message = |other: &str| {
                format!("{subnet_id} has the network ACL {other} already: remove it there first")
            };
            Err(held(terminal(ASSOCIATE, ""), acl, own, message))
        }
        None => {
            let message = format!("no network ACL of {subnet_id} is visible: does the subnet exist?");
            Err(Failure { class: FailureClass::NotYet, ..terminal(ASSOCIATE, message) })
        }
    }
}

/// The subnets get the default network ACL of the VPC.
async fn disassociate(
    aws: &Aws,
    acl: &NetworkAcl,
    all: impl IntoIterator<Item = &Association>,
) -> Result<(), Failure> {
    let mut all = all.into_iter().peekable();
    if all.peek().is_none() {
        return Ok(());
    }
    if acl.is_default {
        let message = "it is the default network ACL of the VPC: associate its subnets with another one";
        return Err(terminal(DISASSOCIATE, message));
    }
    let filters = [("vpc-id", acl.vpc_id.clone().unwrap_or_default()), ("default", "true".to_owned())];
    let filters = filters.map(|(name, value)| filter(name, vec![value])).into();
    let found = NetworkAcls::read(aws, DescribeQuery { ids: None, filters: Some(filters) }).await?;
    let Some(default) = found.first() else {
        return Err(terminal(DISASSOCIATE, "the default network ACL of the VPC is not visible"));
    };
    for association in all {
        let result = replace(aws, association, &default.network_acl_id, DISASSOCIATE).await;
        // Somebody else gave it another one.
        ignore_codes(result, &["InvalidAssociationID.NotFound"])?;
    }
    Ok(())
}

async fn replace(aws: &Aws, association: &Association, id: &str, action: &str) -> Result<(), Failure> {
    let call = aws
        .ec2()
        .replace_network_acl_association()
        .association_id(&association.network_acl_association_id)
        .network_acl_id(id);
    aws.call("ReplaceNetworkAclAssociation", action, call.send()).await.map(drop)
}
