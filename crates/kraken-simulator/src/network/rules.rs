//! Adds and removes permissions of a security group; each call is atomic.

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::model::SecurityGroup;
use crate::model::permissions::{Peer, Permission, Rule};
use crate::refusal::Refusal;

/// AWS's default quota in each direction.
const MOST: usize = 60;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "AuthorizeSecurityGroupIngress" => |cloud, form| authorize(cloud, form, false),
        "AuthorizeSecurityGroupEgress" => |cloud, form| authorize(cloud, form, true),
        "RevokeSecurityGroupIngress" => |cloud, form| revoke(cloud, form, false),
        "RevokeSecurityGroupEgress" => |cloud, form| revoke(cloud, form, true),
        "UpdateSecurityGroupRuleDescriptionsIngress" => |cloud, form| redescribe(cloud, form, false),
        "UpdateSecurityGroupRuleDescriptionsEgress" => |cloud, form| redescribe(cloud, form, true),
        _ => return None,
    };
    Some(handler)
}

fn authorize(cloud: &mut Cloud, form: &Form, egress: bool) -> Result<Answer, Refusal> {
    let id = form.required("GroupId")?;
    let group = cloud.one::<SecurityGroup>(id)?;
    let wanted = named(form, egress)?;
    for (index, (permission, _)) in wanted.iter().enumerate() {
        if wanted[..index].iter().any(|(other, _)| other == permission) {
            let message = "The same permission must not appear multiple times";
            return Err(Refusal::new("InvalidParameterValue", message));
        }
        if group.rules.iter().any(|rule| rule.permission == *permission) {
            let message = format!("the specified rule \"{permission}\" already exists");
            return Err(Refusal::new("InvalidPermission.Duplicate", message));
        }
        if let Some(peer) = permission.peer.group() {
            cloud.one::<SecurityGroup>(peer)?;
        }
    }
    if group.rules.iter().filter(|rule| rule.permission.egress == egress).count() + wanted.len() > MOST {
        let message = "The maximum number of rules per security group has been reached.";
        return Err(Refusal::new("RulesPerSecurityGroupLimitExceeded", message));
    }
    let new: Vec<Rule> = wanted
        .into_iter()
        .map(|(permission, description)| Rule { id: cloud.part_ids.next("sgr-"), permission, description })
        .collect();
    let account = cloud.options.account.clone();
    let mut body = Xml::default();
    body.text("return", true);
    body.list("securityGroupRuleSet", &new, |xml, rule| {
        xml.text("groupOwnerId", &account);
        write_rule(xml, &account, id, rule, "referencedGroupInfo");
    });
    cloud.one_mut::<SecurityGroup>(id)?.rules.extend(new);
    Ok(Answer { body, ids: vec![id.to_owned()] })
}

fn revoke(cloud: &mut Cloud, form: &Form, egress: bool) -> Result<Answer, Refusal> {
    let id = form.required("GroupId")?;
    let account = cloud.options.account.clone();
    let rule_ids = form.list("SecurityGroupRuleId");
    let group = cloud.one_mut::<SecurityGroup>(id)?;
    let unwanted: Vec<String> = if rule_ids.is_empty() {
        let mut found = vec![];
        for (permission, _) in named(form, egress)? {
            let Some(rule) = group.rules.iter().find(|rule| rule.permission == permission) else {
                let message = "The specified rule does not exist in this security group.";
                return Err(Refusal::new("InvalidPermission.NotFound", message));
            };
            found.push(rule.id.clone());
        }
        found
    } else {
        for rule_id in &rule_ids {
            if !group.rules.iter().any(|rule| rule.id == *rule_id && rule.permission.egress == egress) {
                let message = format!("The security group rule ID '{rule_id}' does not exist");
                return Err(Refusal::new("InvalidSecurityGroupRuleId.NotFound", message));
            }
        }
        rule_ids.into_iter().map(str::to_owned).collect()
    };
    let (gone, kept) = group.rules.drain(..).partition(|rule| unwanted.contains(&rule.id));
    group.rules = kept;
    let gone: Vec<Rule> = gone;
    let mut body = Xml::default();
    body.text("return", true);
    body.list("revokedSecurityGroupRuleSet", &gone, |xml, rule| {
        write_rule(xml, &account, id, rule, "referencedGroupId");
    });
    Ok(Answer { body, ids: vec![id.to_owned()] })
}

fn redescribe(cloud: &mut Cloud, form: &Form, egress: bool) -> Result<Answer, Refusal> {
    let id = form.required("GroupId")?;
    let group = cloud.one_mut::<SecurityGroup>(id)?;
    let wanted = named(form, egress)?;
    let has =
        |(permission, _): &(Permission, _)| group.rules.iter().any(|rule| rule.permission == *permission);
    if !wanted.iter().all(has) {
        let message = "The specified rule does not exist in this security group.";
        return Err(Refusal::new("InvalidPermission.NotFound", message));
    }
    for (permission, description) in wanted {
        if let Some(rule) = group.rules.iter_mut().find(|rule| rule.permission == permission) {
            rule.description = description;
        }
    }
    Ok(done(vec![id.to_owned()]))
}

fn named(form: &Form, egress: bool) -> Result<Vec<(Permission, Option<String>)>, Refusal> {
    let named = Permission::of(form, egress)?;
    if named.is_empty() {
        form.required("IpPermissions")?;
    }
    Ok(named)
}

/// The two responses with rules differ in the representation of a group.
fn write_rule(xml: &mut Xml, account: &str, group: &str, rule: &Rule, referenced: &str) {
    let (from, to) = rule.permission.ports.unwrap_or((-1, -1));
    xml.text("securityGroupRuleId", &rule.id);
    xml.text("groupId", group);
    xml.text("isEgress", rule.permission.egress);
    xml.text("ipProtocol", &rule.permission.protocol);
    xml.text("fromPort", from);
    xml.text("toPort", to);
    match &rule.permission.peer {
        Peer::V4(range) => xml.text("cidrIpv4", range),
        Peer::V6(range) => xml.text("cidrIpv6", range),
        Peer::PrefixList(list) => xml.text("prefixListId", list),
        Peer::Group(peer) if referenced == "referencedGroupId" => xml.text(referenced, peer),
        Peer::Group(peer) => xml.tag(referenced, |xml| {
            xml.text("groupId", peer);
            xml.text("userId", account);
        }),
    }
    xml.optional("description", rule.description.as_ref());
}
