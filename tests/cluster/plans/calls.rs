//! What a plan announces, and what the cloud was asked to do, in the same words: for each kind, how many objects are created, deleted and
//! stopped, and whether one is changed.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use kraken_api::effect::Effect;
use serde_json::Value;

/// The effects on the objects of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Effects {
    created: u64,
    deleted: u64,
    stopped: u64,
    changed: bool,
}

/// The effects by kind.
pub(super) type Changes = BTreeMap<String, Effects>;

/// Calls that change an attribute or a part of an object, by the kind of the object.
const PARTS: [(&str, &[&str]); 16] = [
    ("VPC", &["ModifyVpcAttribute", "AssociateVpcCidrBlock", "DisassociateVpcCidrBlock"]),
    ("InternetGateway", &["AttachInternetGateway", "DetachInternetGateway"]),
    ("Subnet", &["ModifySubnetAttribute"]),
    (
        "RouteTable",
        &[
            "CreateRoute",
            "ReplaceRoute",
            "DeleteRoute",
            "AssociateRouteTable",
            "DisassociateRouteTable",
            "ReplaceRouteTableAssociation",
        ],
    ),
    (
        "SecurityGroup",
        &[
            "AuthorizeSecurityGroupIngress",
            "RevokeSecurityGroupIngress",
            "AuthorizeSecurityGroupEgress",
            "RevokeSecurityGroupEgress",
        ],
    ),
    (
        "EC2Instance",
        &[
            "ModifyInstanceAttribute",
            "ModifyInstanceMetadataOptions",
            "MonitorInstances",
            "UnmonitorInstances",
            "StartInstances",
        ],
    ),
    ("Volume", &["ModifyVolume", "AttachVolume", "DetachVolume"]),
    ("ElasticIP", &["AssociateAddress", "DisassociateAddress"]),
    ("LoadBalancer", &["ModifyLoadBalancerAttributes", "SetSubnets", "SetSecurityGroups"]),
    (
        "TargetGroup",
        &["ModifyTargetGroup", "ModifyTargetGroupAttributes", "RegisterTargets", "DeregisterTargets"],
    ),
    ("Listener", &["ModifyListener"]),
    ("ListenerRule", &["ModifyRule", "SetRulePriorities"]),
    (
        "LaunchTemplate",
        &["CreateLaunchTemplateVersion", "ModifyLaunchTemplate", "DeleteLaunchTemplateVersions"],
    ),
    ("AutoScalingGroup", &["UpdateAutoScalingGroup", "StartInstanceRefresh"]),
    (
        "Role",
        &[
            "UpdateRole",
            "UpdateRoleDescription",
            "UpdateAssumeRolePolicy",
            "AttachRolePolicy",
            "DetachRolePolicy",
            "PutRolePolicy",
            "DeleteRolePolicy",
            "PutRolePermissionsBoundary",
        ],
    ),
    ("Policy", &["CreatePolicyVersion", "DeletePolicyVersion", "SetDefaultPolicyVersion"]),
];
/// The words of AWS for objects whose kind has another name.
const NAMES: [(&str, &str); 4] =
    [("Vpc", "VPC"), ("Rule", "ListenerRule"), ("Address", "ElasticIP"), ("Instances", "EC2Instance")];
/// Calls that change no attribute of an object that a plan lists.
const TAGS: [&str; 12] = [
    "CreateTags",
    "DeleteTags",
    "AddTags",
    "RemoveTags",
    "TagRole",
    "UntagRole",
    "TagPolicy",
    "UntagPolicy",
    "TagResource",
    "UntagResource",
    "CreateOrUpdateTags",
    "DeleteAutoScalingTags",
];

/// What the cloud was asked to do.
pub(super) fn done(calls: &BTreeMap<String, u64>) -> Result<Changes> {
    let mut changes = Changes::new();
    for (action, count) in calls {
        // A path is a call of Route 53, of which the stack has no kind: its controller lists zones.
        let is_read = ["Describe", "Get", "List", "/"].iter().any(|verb| action.starts_with(verb));
        if is_read || TAGS.contains(&action.as_str()) {
            continue;
        }
        if let Some((kind, _)) = PARTS.iter().find(|(_, actions)| actions.contains(&action.as_str())) {
            changes.entry((*kind).to_owned()).or_default().changed = true;
            continue;
        }
        let verbs = ["Create", "Run", "Allocate", "Delete", "Terminate", "Release", "Stop"];
        let verb = verbs.into_iter().find(|verb| action.starts_with(verb));
        let verb = verb.with_context(|| format!("the test does not know what {action} does"))?;
        let object = &action[verb.len()..];
        let kind = NAMES.iter().find(|(name, _)| *name == object).map_or(object, |(_, kind)| kind);
        let effects = changes.entry(kind.to_owned()).or_default();
        match verb {
            "Create" | "Run" | "Allocate" => effects.created += count,
            "Stop" => effects.stopped += count,
            _ => effects.deleted += count,
        }
    }
    Ok(normal(changes))
}

/// What a plan announces. A change of the number of objects creates or deletes some.
pub(super) fn announced(plan: &Value) -> Result<Changes> {
    let mut changes = Changes::new();
    for entry in plan["entries"].as_array().context("a plan has no entries")? {
        let kind = entry["kind"].as_str().context("an entry has no kind")?;
        if kind == "ConfigMap" {
            continue;
        }
        let effects = changes.entry(kind.to_owned()).or_default();
        match entry["action"].as_str().context("an entry has no action")? {
            "Create" => effects.created += 1,
            "Delete" => {
                effects.deleted += 1;
                continue; // its effects say the same
            }
            "Replace" => {
                effects.created += 1;
                effects.deleted += 1;
            }
            "Stop" => effects.stopped += 1,
            "Change" | "Edit" | "None" => {}
            other => bail!("an edit that must be possible is {other}: {entry}"),
        }
        for effect in entry["effects"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let fields = effect.split_once(": ").map(|(_, fields)| fields);
            let is_tag = fields.is_some_and(|fields| fields.split("; ").all(|one| one.starts_with("tags.")));
            match Effect::of(effect) {
                // An attribute is set while the object is stopped.
                Some(Effect::Changes | Effect::Stops) if !is_tag => effects.changed = true,
                Some(Effect::Creates) => effects.created += 1,
                Some(Effect::Deletes) => effects.deleted += 1,
                _ => {}
            }
        }
    }
    Ok(normal(changes))
}

fn normal(mut changes: Changes) -> Changes {
    // The rules of a listener go with it.
    let is_without_listener = changes.get("Listener").is_some_and(|effects| effects.deleted > 0);
    if let Some(effects) = changes.get_mut("ListenerRule").filter(|_| is_without_listener) {
        effects.deleted = 0;
    }
    for (kind, effects) in &mut changes {
        // One call launches or terminates several instances.
        if kind == "EC2Instance" {
            (effects.created, effects.deleted) = (effects.created.min(1), effects.deleted.min(1));
            effects.stopped = effects.stopped.min(1);
        }
        // Attributes of a created object are set, and parts of a deleted one removed, by calls of their own.
        effects.changed &= effects.created == 0 && effects.deleted == 0;
    }
    changes.retain(|_, effects| *effects != Effects::default());
    changes
}
