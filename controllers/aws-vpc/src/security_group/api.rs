//! SecurityGroup as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{
    HasLifecycle, Lifecycle, Opt, ResourceStatus,
    options::{ListOpt, Public, Text},
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who may talk to whom, in a VPC.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "SecurityGroup",
    plural = "securitygroups",
    shortname = "sg",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "Who may talk to whom: rules of what may reach and leave those that are in the group. Its main id is its GroupId."
)]
pub(crate) struct SecurityGroupSpec {
    /// The VPC. It cannot be changed later. Example: `{valueFrom: {krakenResource: {kind: vpc, name: main}}}`
    #[serde(rename = "vpcID")]
    pub(crate) vpc_id: Opt<String>,

    /// The name, of up to 255 characters and once in a VPC. It cannot be changed later. Default: one that Kraken makes,
    /// so that a group is never created twice. Example: `{value: web}`
    #[serde(rename = "groupName", skip_serializing_if = "Option::is_none")]
    pub(crate) group_name: Option<Public<Opt<String>>>,

    /// What it is for, up to 255 characters. It cannot be changed later. Default: `Managed by Kraken`. Example:
    /// `{value: the web servers}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<Opt<String>>,

    /// Everything that may come in; changed in place. A rule that is not in this list is taken away, and an empty list
    /// lets nothing in. Default: AWS's (nothing), and what is there is left alone. Example:
    /// `[{protocol: {value: tcp}, fromPort: {value: 443}, cidrBlocks: {value: [0.0.0.0/0]}}]`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub(crate) ingress: Option<Vec<Rule>>,

    /// Everything that may go out; changed in place, as `ingress`. Default: AWS's (everything), and what is there is left
    /// alone. Example: `[{protocol: {value: -1}, cidrBlocks: {value: [0.0.0.0/0]}}]`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub(crate) egress: Option<Vec<Rule>>,

    /// Tags, at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a reference,
    /// but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Name: web, Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

/// A rule: what may pass, and from or to whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Rule {
    /// The protocol: `tcp`, `udp`, `icmp`, `icmpv6`, a number of 0 to 255, or `-1` for all. Example: `{value: tcp}`
    pub(crate) protocol: Opt<Text>,

    /// The first port, 0 to 65535, for `tcp` and `udp`, which need it. For ICMP it is the type, -1 to 255, by default -1
    /// for all. Example: `{value: 443}`
    #[serde(rename = "fromPort", skip_serializing_if = "Option::is_none")]
    pub(crate) from_port: Option<Opt<i32>>,

    /// The last port, 0 to 65535. Default: `fromPort`. For ICMP it is the code, -1 to 255, by default -1 for all. Example:
    /// `{value: 443}`
    #[serde(rename = "toPort", skip_serializing_if = "Option::is_none")]
    pub(crate) to_port: Option<Opt<i32>>,

    /// Who, as IPv4 blocks. Default: none. Example: `{value: [0.0.0.0/0]}`
    #[serde(rename = "cidrBlocks", skip_serializing_if = "Option::is_none")]
    pub(crate) cidr_blocks: Option<ListOpt<String>>,

    /// Who, as IPv6 blocks. Default: none. Example: `{value: ["::/0"]}`
    #[serde(rename = "ipv6CIDRBlocks", skip_serializing_if = "Option::is_none")]
    pub(crate) ipv6_cidr_blocks: Option<ListOpt<String>>,

    /// Who, as all that are in these security groups; `self` is this one. Default: none. Example:
    /// `{value: [self, {valueFrom: {krakenResource: {kind: securitygroup, name: web}}}]}`
    #[serde(rename = "securityGroupIDs", skip_serializing_if = "Option::is_none")]
    pub(crate) security_group_ids: Option<ListOpt<String>>,

    /// Who, as prefix lists. Default: none. Example: `{value: [pl-63a5400a]}`
    #[serde(rename = "prefixListIDs", skip_serializing_if = "Option::is_none")]
    pub(crate) prefix_list_ids: Option<ListOpt<String>>,

    /// What the rule is for, up to 255 characters; changed in place. Default: none, and what is there is left alone.
    /// Example: `{value: HTTPS from everywhere}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<Opt<String>>,
}

impl HasLifecycle for SecurityGroupSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}
