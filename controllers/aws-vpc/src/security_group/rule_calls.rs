//! The calls that change the rules of a security group. Each is atomic: one existing rule makes AWS reject all rules of the
//! call.

use kraken_aws::{Aws, ec2::types::IpPermission, missing::unless_done, resolved::Joined};
use kraken_spoke::Failure;

use super::{
    api::Desired,
    compare::extra,
    observed::SecurityGroup,
    rule::{Change, Direction, Entry},
    sdk::to_sdk,
};

/// The error codes for a rule that exists already, or that is removed already.
const DONE: [&str; 2] = ["InvalidPermission.Duplicate", "InvalidPermission.NotFound"];
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
            let extra = extra(*direction, desired.rules(*direction), group);
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

/// All rules in one call; one at a time if one of them exists already, or is removed already.
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
        Err(failure) if DONE.contains(&&*failure.code) && entries.len() > 1 => {
            for entry in entries {
                let result = send(aws, change, direction, vec![permission(entry)], &group.group_id).await;
                unless_done(result, &DONE)?;
            }
            Ok(())
        }
        result => unless_done(result, &DONE),
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
        Change::Authorize(..) => "failed to add rules",
        Change::Revoke(..) => "failed to remove rules",
        Change::Describe(..) => "failed to describe rules",
    };
    // The builders of the six calls have these setters in common.
    macro_rules! send {
        ($call:ident, $operation:literal) => {{
            let call = aws.ec2().$call().group_id(id).set_ip_permissions(Some(permissions));
            aws.call($operation, action, call.send()).await.map(drop)
        }};
    }
    match (change, direction) {
        (Change::Authorize(..), Direction::Ingress) => {
            send!(authorize_security_group_ingress, "AuthorizeSecurityGroupIngress")
        }
        (Change::Authorize(..), Direction::Egress) => {
            send!(authorize_security_group_egress, "AuthorizeSecurityGroupEgress")
        }
        (Change::Revoke(..), Direction::Ingress) => {
            send!(revoke_security_group_ingress, "RevokeSecurityGroupIngress")
        }
        (Change::Revoke(..), Direction::Egress) => {
            send!(revoke_security_group_egress, "RevokeSecurityGroupEgress")
        }
        (Change::Describe(..), Direction::Ingress) => {
            send!(
                update_security_group_rule_descriptions_ingress,
                "UpdateSecurityGroupRuleDescriptionsIngress"
            )
        }
        (Change::Describe(..), Direction::Egress) => {
            send!(update_security_group_rule_descriptions_egress, "UpdateSecurityGroupRuleDescriptionsEgress")
        }
    }
}
