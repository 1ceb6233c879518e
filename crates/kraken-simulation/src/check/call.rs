//! The subjects and the effect of a call to the cloud.

use std::collections::BTreeMap;

use kraken_simulator::hook::Call;

use super::remote::UID;

/// The tag with the number of the launch.
const EPOCH: &str = "kraken-iac.eoinfennessy.com/epoch";

/// The effect of a call on its subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// It creates an object.
    Create,
    /// It ends them.
    Delete,
    /// It sets tags.
    Tag,
    /// It removes tags.
    Untag,
    /// It changes anything else of them.
    Change,
}

/// A call to the cloud, in the terms of the checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParsedCall {
    pub action: String,
    pub verb: Verb,
    /// The ids of changed objects, without referenced ones.
    pub subjects: Vec<String>,
    /// The tags that it sets.
    pub tags: BTreeMap<String, String>,
    /// The keys of the tags that it removes.
    pub untags: Vec<String>,
    /// Its idempotency token.
    pub token: Option<String>,
}

impl ParsedCall {
    /// A call that may change something.
    pub(super) fn of(call: &Call) -> Self {
        let form = String::from_utf8_lossy(&call.body);
        let fields: Vec<(String, String)> = form
            .split('&')
            .filter_map(|field| field.split_once('='))
            .map(|(key, value)| (decoded(key), decoded(value)))
            .collect();
        let action = call.name.clone();
        let verb = verb(&action);
        let is_subject = |key: &str| {
            let base = key.split('.').next().unwrap_or_default();
            let all = subject_keys(&action);
            all.contains(&base) || (all.contains(&"RulePriorities") && key.ends_with("RuleArn"))
        };
        let subjects = fields.iter().filter(|(key, value)| is_subject(key) && !value.is_empty());
        let subjects = subjects.map(|(_, value)| value.clone()).collect();
        let mut tags = BTreeMap::new();
        let mut untags = vec![];
        for (key, value) in &fields {
            let Some(place) = key.strip_suffix(".Key") else {
                if verb == Verb::Untag && key.starts_with("TagKeys") {
                    untags.push(value.clone());
                }
                continue;
            };
            if verb == Verb::Untag {
                untags.push(value.clone());
            } else if key.contains("Tag") {
                let text = fields.iter().find(|(key, _)| key.strip_suffix(".Value") == Some(place));
                tags.insert(value.clone(), text.map(|(_, text)| text.clone()).unwrap_or_default());
            }
        }
        let token = fields.iter().find(|(key, value)| key == "ClientToken" && !value.is_empty());
        let token = token.map(|(_, value)| value.clone());
        Self { action, verb, subjects, tags, untags, token }
    }

    /// The UID that it tags with.
    pub(super) fn uid(&self) -> Option<&str> {
        self.tags.get(UID).map(String::as_str)
    }

    /// The launch that it tags with.
    pub(super) fn epoch(&self) -> Option<i64> {
        self.tags.get(EPOCH)?.parse().ok()
    }

    /// Whether it is part of the deletion of an object, which some are detached for.
    pub(super) fn is_of_a_deletion(&self) -> bool {
        self.verb == Verb::Delete || matches!(self.action.as_str(), "DetachInternetGateway" | "DetachVolume")
    }

    /// Whether only Kraken's tags are set or removed: to claim, or to release.
    pub(super) fn is_about_ownership(&self) -> bool {
        match self.verb {
            Verb::Tag => self.tags.contains_key(UID),
            Verb::Untag => self.untags.iter().any(|key| key == UID),
            _ => false,
        }
    }
}

/// The ids of objects that a call changes.
pub(crate) fn subjects(call: &Call) -> Vec<String> {
    ParsedCall::of(call).subjects
}

/// The values of a call's parameters, without its name and its tags.
pub(crate) fn values(call: &Call) -> Vec<String> {
    let form = String::from_utf8_lossy(&call.body);
    let fields = form.split('&').filter_map(|field| field.split_once('='));
    let is_own = |(key, _): &(&str, &str)| {
        !matches!(*key, "Action" | "Version" | "ClientToken") && !key.contains("Tag")
    };
    fields.filter(is_own).map(|(_, value)| decoded(value)).filter(|value| !value.is_empty()).collect()
}

fn verb(action: &str) -> Verb {
    match action {
        "CreateTags" | "AddTags" => Verb::Tag,
        "DeleteTags" | "RemoveTags" => Verb::Untag,
        "DeleteRoute" | "CreateRoute" => Verb::Change,
        "RunInstances" | "AllocateAddress" | "ImportKeyPair" => Verb::Create,
        "TerminateInstances" | "ReleaseAddress" => Verb::Delete,
        action if action.starts_with("Create") => Verb::Create,
        action if action.starts_with("Delete") => Verb::Delete,
        _ => Verb::Change,
    }
}

/// The parameters that name what is changed.
fn subject_keys(action: &str) -> &'static [&'static str] {
    match action {
        "CreateTags" | "DeleteTags" => &["ResourceId"],
        "AddTags" | "RemoveTags" => &["ResourceArns"],
        "TerminateInstances"
        | "StopInstances"
        | "StartInstances"
        | "MonitorInstances"
        | "UnmonitorInstances"
        | "ModifyInstanceAttribute"
        | "ModifyInstanceMetadataOptions"
        | "AssociateIamInstanceProfile" => &["InstanceId"],
        "DeleteVpc" | "ModifyVpcAttribute" | "AssociateVpcCidrBlock" => &["VpcId"],
        "DeleteSubnet" | "ModifySubnetAttribute" => &["SubnetId"],
        "AttachInternetGateway" | "DetachInternetGateway" | "DeleteInternetGateway" => &["InternetGatewayId"],
        "DeleteRouteTable" | "CreateRoute" | "ReplaceRoute" | "DeleteRoute" | "AssociateRouteTable" => {
            &["RouteTableId"]
        }
        "DeleteSecurityGroup"
        | "AuthorizeSecurityGroupIngress"
        | "AuthorizeSecurityGroupEgress"
        | "RevokeSecurityGroupIngress"
        | "RevokeSecurityGroupEgress"
        | "UpdateSecurityGroupRuleDescriptionsIngress"
        | "UpdateSecurityGroupRuleDescriptionsEgress" => &["GroupId"],
        "AssociateAddress" | "ReleaseAddress" => &["AllocationId"],
        "DeleteNatGateway" => &["NatGatewayId"],
        "DeleteKeyPair" => &["KeyPairId", "KeyName"],
        "DeleteVolume" | "ModifyVolume" | "AttachVolume" | "DetachVolume" => &["VolumeId"],
        "DeleteLoadBalancer" | "ModifyLoadBalancerAttributes" | "SetSubnets" | "SetSecurityGroups" => {
            &["LoadBalancerArn"]
        }
        "DeleteListener" | "ModifyListener" => &["ListenerArn"],
        "DeleteRule" | "ModifyRule" => &["RuleArn"],
        "SetRulePriorities" => &["RulePriorities"],
        "DeleteTargetGroup"
        | "ModifyTargetGroup"
        | "ModifyTargetGroupAttributes"
        | "RegisterTargets"
        | "DeregisterTargets" => &["TargetGroupArn"],
        _ => &[],
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let digits = String::from_utf8_lossy(&digits).into_owned();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A call as the SDK sends it.
    pub(in crate::check) fn call(name: &str, form: &str) -> Call {
        Call {
            number: 1,
            name: name.to_owned(),
            writes: true,
            watches: false,
            namespace: String::new(),
            object: String::new(),
            body: format!("Action={name}&{form}").into(),
        }
    }

    #[test]
    fn subjects_of_a_call_exclude_references() {
        let parsed = ParsedCall::of(&call("AssociateAddress", "AllocationId=eipalloc-1&InstanceId=i-1"));
        assert_eq!((parsed.verb, parsed.subjects), (Verb::Change, vec!["eipalloc-1".to_owned()]));
        let parsed = ParsedCall::of(&call("TerminateInstances", "InstanceId.1=i-1&InstanceId.2=i-2"));
        assert_eq!((parsed.verb, parsed.subjects.len()), (Verb::Delete, 2));
        let parsed = ParsedCall::of(&call("SetRulePriorities", "RulePriorities.member.1.RuleArn=arn%3Aa"));
        assert_eq!(parsed.subjects, ["arn:a"]);
    }

    #[test]
    fn values_of_a_call_exclude_its_name_and_tags() {
        let call = call(
            "RunInstances",
            "UserData=ZWNobw%3D%3D&ClientToken=t&TagSpecification.1.Tag.1.Value=x&MinCount=1",
        );
        assert_eq!(values(&call), ["ZWNobw==", "1"]);
    }

    #[test]
    fn a_launch_has_a_token() {
        let parsed = ParsedCall::of(&call("RunInstances", "ClientToken=t-1&MinCount=1"));
        assert_eq!(parsed.token.as_deref(), Some("t-1"));
        assert_eq!(ParsedCall::of(&call("CreateVpc", "CidrBlock=x")).token, None);
    }

    #[test]
    fn a_create_call_names_its_owner() {
        let form = "TagSpecification.1.ResourceType=vpc&TagSpecification.1.Tag.1.Key=kraken-iac.eoinfennessy.com%2Fuid\
                    &TagSpecification.1.Tag.1.Value=u-1&TagSpecification.1.Tag.2.Key=kraken-iac.eoinfennessy.com%2Fepoch\
                    &TagSpecification.1.Tag.2.Value=3";
        let parsed = ParsedCall::of(&call("CreateVpc", form));
        assert_eq!((parsed.verb, parsed.uid(), parsed.epoch()), (Verb::Create, Some("u-1"), Some(3)));
        let form = "ResourceId.1=vpc-1&Tag.1.Key=kraken-iac.eoinfennessy.com%2Fuid";
        assert!(ParsedCall::of(&call("DeleteTags", form)).is_about_ownership());
        assert!(
            !ParsedCall::of(&call("DeleteTags", "ResourceId.1=vpc-1&Tag.1.Key=Team")).is_about_ownership()
        );
    }
}
