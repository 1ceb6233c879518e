//! The calls that change the rules of a security group. Each is atomic: one existing rule makes AWS reject all rules of the
//! call.

use kraken_aws::{
    ec2::types::{IpPermission, IpRange, Ipv6Range, PrefixListId, UserIdGroupPair},
    prelude::*,
    resolved::Joined,
};

use super::{
    api::Desired,
    compare::extra,
    observed::SecurityGroup,
    rule::{Change, Direction, Entry, Peer},
};

/// The error codes for a rule that exists already, or that is removed already: the observation was outdated, or AWS does not
/// recognize a rule that it returned.
const OTHER_STATE: [&str; 2] = ["InvalidPermission.Duplicate", "InvalidPermission.NotFound"];
/// The error code for exceeding the group's quota of rules.
const FULL: &str = "RulesPerSecurityGroupLimitExceeded";

/// Makes one change of rules.
pub(super) async fn change(
    aws: &Aws,
    change: &Change,
    desired: &Desired,
    group: &SecurityGroup,
) -> Result<(), Failure> {
    let (Change::Authorize(direction, entries)
    | Change::Describe(direction, entries)
    | Change::Revoke(direction, entries)) = change;
    match each(aws, change, *direction, entries, group).await {
        // The quota does not allow new and old rules together: in this case the old ones are removed first.
        Err(failure) if failure.code == FULL && matches!(change, Change::Authorize(..)) => {
            let extra = extra(*direction, desired, group);
            if extra.is_empty() {
                return Err(failure);
            }
            let revoke = Change::Revoke(*direction, vec![]);
            each(aws, &revoke, *direction, &extra, group).await?;
            each(aws, change, *direction, entries, group).await
        }
        result => result,
    }
}

/// Removes the rules that name other groups.
pub(super) async fn disconnect(aws: &Aws, group: &SecurityGroup) -> Result<(), Failure> {
    for direction in Direction::BOTH {
        let entries = group.entries_with_others(direction).into_iter();
        let entries: Vec<_> = entries.map(|entry| Joined::new(entry, true)).collect();
        if !entries.is_empty() {
            let revoke = Change::Revoke(direction, vec![]);
            let result = each(aws, &revoke, direction, &entries, group).await;
            ignore_codes(result, &OTHER_STATE)?;
        }
    }
    Ok(())
}

/// All rules in one call; one at a time if one of them exists already, or is removed already. Then that is the result, because it was
/// not changed: the next observation decides.
async fn each(
    aws: &Aws,
    change: &Change,
    direction: Direction,
    entries: &[Joined<Entry>],
    group: &SecurityGroup,
) -> Result<(), Failure> {
    let permission = |entry: &Joined<Entry>| to_sdk(entry.expose());
    let all = entries.iter().map(permission).collect();
    let result = send(aws, change, direction, all, &group.group_id).await;
    match result {
        Err(failure) if OTHER_STATE.contains(&&*failure.code) && entries.len() > 1 => {
            let mut unchanged = Ok(());
            for entry in entries {
                match send(aws, change, direction, vec![permission(entry)], &group.group_id).await {
                    Err(failure) if OTHER_STATE.contains(&&*failure.code) => unchanged = Err(failure),
                    result => result?,
                }
            }
            unchanged
        }
        result => result,
    }
}

async fn send(
    aws: &Aws,
    change: &Change,
    direction: Direction,
    permissions: Vec<IpPermission>,
    id: &str,
) -> Result<(), Failure> {
    let action = match change {
        Change::Authorize(..) => "failed to add rules to the security group",
        Change::Revoke(..) => "failed to remove rules from the security group",
        Change::Describe(..) => "failed to change the descriptions of rules",
    };
    // The builders of the six calls have these setters in common.
    macro_rules! send {
        ($($change:ident, $direction:ident => $call:ident, $operation:literal;)+) => {
            match (change, direction) {
                $((Change::$change(..), Direction::$direction) => {
                    let call = aws.ec2().$call().group_id(id).set_ip_permissions(Some(permissions));
                    aws.call($operation, action, call.send()).await.map(drop)
                })+
            }
        };
    }
    send! {
        Authorize, Ingress => authorize_security_group_ingress, "AuthorizeSecurityGroupIngress";
        Authorize, Egress => authorize_security_group_egress, "AuthorizeSecurityGroupEgress";
        Revoke, Ingress => revoke_security_group_ingress, "RevokeSecurityGroupIngress";
        Revoke, Egress => revoke_security_group_egress, "RevokeSecurityGroupEgress";
        Describe, Ingress => update_security_group_rule_descriptions_ingress,
            "UpdateSecurityGroupRuleDescriptionsIngress";
        Describe, Egress => update_security_group_rule_descriptions_egress,
            "UpdateSecurityGroupRuleDescriptionsEgress";
    }
}

/// Converts to the SDK's type.
pub(super) fn to_sdk(entry: &Entry) -> IpPermission {
    let Entry { permission, description } = entry;
    let made = IpPermission::builder()
        .ip_protocol(&permission.protocol)
        .set_from_port(permission.ports.map(|ports| ports.0))
        .set_to_port(permission.ports.map(|ports| ports.1));
    let about = description.clone();
    let made = match &permission.peer {
        Peer::V4(block) => made.ip_ranges(IpRange::builder().cidr_ip(block).set_description(about).build()),
        Peer::V6(block) => {
            made.ipv6_ranges(Ipv6Range::builder().cidr_ipv6(block).set_description(about).build())
        }
        Peer::PrefixList(id) => {
            made.prefix_list_ids(PrefixListId::builder().prefix_list_id(id).set_description(about).build())
        }
        Peer::Group(id) => {
            made.user_id_group_pairs(UserIdGroupPair::builder().group_id(id).set_description(about).build())
        }
        // Does not occur: the comparison replaces it with the id of the group.
        Peer::Itself => made,
    };
    made.build()
}
