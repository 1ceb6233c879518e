//! Security groups and their rules.

use super::account::Account;
use crate::xml::Element;

fn described(account: &mut Account, id: &str) -> Element {
    account.only("DescribeSecurityGroups", &format!("GroupId.1={id}"), "securityGroupInfo")
}

fn web(group: &str) -> String {
    format!(
        "GroupId={group} IpPermissions.1.IpProtocol=tcp IpPermissions.1.FromPort=80 IpPermissions.1.ToPort=80 \
         IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0 IpPermissions.1.IpRanges.1.Description=web"
    )
}

#[test]
fn a_new_group_allows_all_egress_and_no_ingress() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let id = account.group(&vpc, "web");
    let group = described(&mut account, &id);
    assert_eq!(group.items("ipPermissions").count(), 0);
    let out = group.items("ipPermissionsEgress").next().unwrap();
    assert_eq!(out.text_at(&["ipProtocol"]), "-1");
    assert_eq!(out.items("ipRanges").next().unwrap().text_at(&["cidrIp"]), "0.0.0.0/0");
    let by_name = "Filter.1.Name=group-name Filter.1.Value.1=web";
    assert_eq!(account.texts("DescribeSecurityGroups", by_name, "securityGroupInfo", &["groupId"]), [id]);
}

#[test]
fn a_group_name_is_unique_in_a_vpc() {
    let mut account = Account::new();
    let (vpc, other) = (account.vpc(), account.vpc());
    account.group(&vpc, "web");
    account.group(&other, "web");
    let again = format!("VpcId={vpc} GroupName=web GroupDescription=x");
    let (code, message) = account.no("CreateSecurityGroup", &again);
    assert_eq!(code, "InvalidGroup.Duplicate");
    assert_eq!(message, format!("The security group 'web' already exists for VPC '{vpc}'"));
    let reserved = format!("VpcId={vpc} GroupName=default GroupDescription=x");
    assert_eq!(account.code("CreateSecurityGroup", &reserved), "InvalidParameterValue");
    let nowhere = "VpcId=vpc-00000000 GroupName=a GroupDescription=x";
    assert_eq!(account.code("CreateSecurityGroup", nowhere), "InvalidVpcID.NotFound");
}

#[test]
fn rules_are_added_once_and_removed_once() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let id = account.group(&vpc, "web");
    let added = account.only("AuthorizeSecurityGroupIngress", &web(&id), "securityGroupRuleSet");
    assert_eq!(
        (added.text_at(&["cidrIpv4"]), added.text_at(&["isEgress"])),
        ("0.0.0.0/0".into(), "false".into())
    );
    let group = described(&mut account, &id);
    let range = group.items("ipPermissions").next().unwrap().items("ipRanges").next().unwrap();
    assert_eq!(range.text_at(&["description"]), "web");
    let (code, message) = account.no("AuthorizeSecurityGroupIngress", &web(&id));
    assert_eq!(code, "InvalidPermission.Duplicate");
    assert_eq!(
        message,
        "the specified rule \"peer: 0.0.0.0/0, TCP, from port: 80, to port: 80, ALLOW\" already exists"
    );
    account.ok("RevokeSecurityGroupIngress", &web(&id));
    let (code, message) = account.no("RevokeSecurityGroupIngress", &web(&id));
    assert_eq!(code, "InvalidPermission.NotFound");
    assert_eq!(message, "The specified rule does not exist in this security group.");
}

#[test]
fn the_default_egress_rule_can_be_removed() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let id = account.group(&vpc, "web");
    let all =
        format!("GroupId={id} IpPermissions.1.IpProtocol=-1 IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0");
    assert_eq!(account.code("AuthorizeSecurityGroupEgress", &all), "InvalidPermission.Duplicate");
    account.ok("RevokeSecurityGroupEgress", &all);
    assert_eq!(described(&mut account, &id).items("ipPermissionsEgress").count(), 0);
    account.ok("AuthorizeSecurityGroupEgress", &all);
}

#[test]
fn rules_of_one_port_are_returned_as_one_permission_with_peers_of_all_types() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let (id, peer) = (account.group(&vpc, "web"), account.group(&vpc, "peer"));
    account.ok("AuthorizeSecurityGroupIngress", &web(&id));
    let more = format!(
        "{} IpPermissions.1.IpRanges.1.CidrIp=10.0.0.0/8 IpPermissions.1.Ipv6Ranges.1.CidrIpv6=2001:db8::/32 \
         IpPermissions.1.Groups.1.GroupId={peer} IpPermissions.1.PrefixListIds.1.PrefixListId=pl-1",
        web(&id).rsplit_once(" IpPermissions.1.IpRanges.1.CidrIp").unwrap().0
    );
    account.ok("AuthorizeSecurityGroupIngress", &more);
    let group = described(&mut account, &id);
    let permissions: Vec<&Element> = group.items("ipPermissions").collect();
    assert_eq!(permissions.len(), 1);
    for (set, count) in [("ipRanges", 2), ("ipv6Ranges", 1), ("groups", 1), ("prefixListIds", 1)] {
        assert_eq!(permissions[0].items(set).count(), count, "{set}");
    }
    let by_range = "Filter.1.Name=ip-permission.cidr Filter.1.Value.1=10.0.0.0/8";
    assert_eq!(account.ok("DescribeSecurityGroups", by_range).items("securityGroupInfo").count(), 1);
}

#[test]
fn a_call_adds_all_of_its_rules_or_none() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let id = account.group(&vpc, "web");
    let unknown = format!("{} IpPermissions.1.Groups.1.GroupId=sg-00000000", web(&id));
    assert_eq!(account.code("AuthorizeSecurityGroupIngress", &unknown), "InvalidGroup.NotFound");
    let twice = format!("{} IpPermissions.1.IpRanges.2.CidrIp=0.0.0.0/0", web(&id));
    assert_eq!(account.code("AuthorizeSecurityGroupIngress", &twice), "InvalidParameterValue");
    assert_eq!(described(&mut account, &id).items("ipPermissions").count(), 0);
}

#[test]
fn a_rules_description_can_change() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let id = account.group(&vpc, "web");
    let wanted = web(&id).replace("Description=web", "Description=shop");
    assert_eq!(
        account.code("UpdateSecurityGroupRuleDescriptionsIngress", &wanted),
        "InvalidPermission.NotFound"
    );
    account.ok("AuthorizeSecurityGroupIngress", &web(&id));
    account.ok("UpdateSecurityGroupRuleDescriptionsIngress", &wanted);
    let group = described(&mut account, &id);
    let range = group.items("ipPermissions").next().unwrap().items("ipRanges").next().unwrap();
    assert_eq!(range.text_at(&["description"]), "shop");
}

#[test]
fn a_rule_can_be_removed_by_its_id() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let id = account.group(&vpc, "web");
    let added = account.only("AuthorizeSecurityGroupIngress", &web(&id), "securityGroupRuleSet");
    let rule = format!("GroupId={id} SecurityGroupRuleId.1={}", added.text_at(&["securityGroupRuleId"]));
    account.ok("RevokeSecurityGroupIngress", &rule);
    assert_eq!(account.code("RevokeSecurityGroupIngress", &rule), "InvalidSecurityGroupRuleId.NotFound");
}

#[test]
fn a_group_in_use_cannot_be_deleted() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let (id, other) = (account.group(&vpc, "web"), account.group(&vpc, "other"));
    let subnet = account.subnet(&vpc, 1, 'a');
    let delete = format!("GroupId={id}");
    let refused = |account: &mut Account| {
        let (code, message) = account.no("DeleteSecurityGroup", &delete);
        assert_eq!(code, "DependencyViolation");
        assert_eq!(message, format!("resource {id} has a dependent object"));
    };
    let instance = account.instance(&format!("SubnetId={subnet} SecurityGroupId.1={id}"));
    refused(&mut account);
    account.terminate(&instance);
    let rule = format!("GroupId={other} IpPermissions.1.IpProtocol=-1 IpPermissions.1.Groups.1.GroupId={id}");
    account.ok("AuthorizeSecurityGroupIngress", &rule);
    refused(&mut account);
    account.ok("RevokeSecurityGroupIngress", &rule);
    let itself = rule.replace(&other, &id);
    account.ok("AuthorizeSecurityGroupIngress", &itself);
    account.ok("DeleteSecurityGroup", &delete);
    let (code, message) = account.no("DeleteSecurityGroup", &delete);
    assert_eq!(
        (code.as_str(), message),
        ("InvalidGroup.NotFound", format!("The security group '{id}' does not exist"))
    );
}

#[test]
fn the_default_group_cannot_be_deleted() {
    let mut account = Account::new();
    account.vpc();
    let id = account.only("DescribeSecurityGroups", "", "securityGroupInfo").text_at(&["groupId"]);
    assert_eq!(account.code("DeleteSecurityGroup", &format!("GroupId={id}")), "CannotDelete");
}

#[test]
fn a_direction_has_at_most_sixty_rules() {
    let mut account = Account::new();
    let vpc = account.vpc();
    let id = account.group(&vpc, "web");
    let ranges: Vec<String> =
        (0..61).map(|n| format!("IpPermissions.1.IpRanges.{}.CidrIp=10.0.{n}.0/24", n + 1)).collect();
    let many =
        |count: usize| format!("GroupId={id} IpPermissions.1.IpProtocol=-1 {}", ranges[..count].join(" "));
    assert_eq!(
        account.code("AuthorizeSecurityGroupIngress", &many(61)),
        "RulesPerSecurityGroupLimitExceeded"
    );
    account.ok("AuthorizeSecurityGroupIngress", &many(60));
}
