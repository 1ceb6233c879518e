//! LoadBalancer as users write it.

use kraken_aws::{TagOptions, tags};
use kraken_spoke::{
    HasLifecycle, Lifecycle, Opt, ResourceStatus,
    options::{ListOpt, Public},
};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::{BalancerType, IpAddressType, Scheme};

/// An application or network load balancer.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "aws.kraken-iac.eoinfennessy.com",
    version = "v1alpha1",
    kind = "LoadBalancer",
    plural = "loadbalancers",
    shortname = "lb",
    category = "kraken",
    namespaced,
    status = "ResourceStatus",
    doc = "An application or network load balancer of Elastic Load Balancing. Kraken creates, heals and deletes it."
)]
pub(crate) struct LoadBalancerSpec {
    /// The name, unique in the account and region: 1 to 32 letters, digits and hyphens, not beginning with `internal-`.
    /// It is part of the DNS name and cannot be changed later. Default: one that Kraken makes. Example: `{value: web}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Public<Opt<String>>>,

    /// The type: `application` (HTTP) or `network` (TCP, UDP, TLS). It cannot be changed later. Default: AWS's
    /// (`application`). Example: `{value: network}`
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) balancer_type: Option<Opt<BalancerType>>,

    /// Who can reach it: `internet-facing`, or `internal` for the VPC alone. It cannot be changed later. Default: AWS's
    /// (`internet-facing`). Example: `{value: internal}`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scheme: Option<Opt<Scheme>>,

    /// The subnets, one of each availability zone that it shall be in; at least two for an application load balancer.
    /// Changed in place. Example: `{value: [{valueFrom: {krakenResource: {kind: subnet, name: a}}}, subnet-0abc1234]}`
    #[serde(rename = "subnetIDs")]
    pub(crate) subnet_ids: ListOpt<String>,

    /// The security groups, at least one; changed in place, but AWS gives a network load balancer none that was made
    /// without. Default: AWS's, and what is there is left alone. Example:
    /// `{value: [{valueFrom: {krakenResource: {kind: securitygroup, name: web}}}]}`
    #[serde(rename = "securityGroupIDs", skip_serializing_if = "Option::is_none")]
    pub(crate) security_group_ids: Option<ListOpt<String>>,

    /// The addresses it has: `ipv4`, `dualstack`, or `dualstack-without-public-ipv4`. Changed in place. Default: AWS's
    /// (`ipv4`). Example: `{value: dualstack}`
    #[serde(rename = "ipAddressType", skip_serializing_if = "Option::is_none")]
    pub(crate) ip_address_type: Option<Opt<IpAddressType>>,

    /// Whether AWS refuses to delete it, whoever asks: Kraken too. Changed in place; looked at after an edit, not at
    /// every resync. Default: AWS's (off). Example: `{value: true}`
    #[serde(rename = "deletionProtection", skip_serializing_if = "Option::is_none")]
    pub(crate) deletion_protection: Option<Opt<bool>>,

    /// Seconds after which an idle connection of an application load balancer is closed, 1 to 4000. Changed in place;
    /// looked at after an edit, not at every resync. Default: AWS's (60). Example: `{value: 120}`
    #[serde(rename = "idleTimeoutSeconds", skip_serializing_if = "Option::is_none")]
    pub(crate) idle_timeout_seconds: Option<Opt<i32>>,

    /// Tags; at most 45, with keys of up to 128 and values of up to 256 characters; each value is a literal or a
    /// reference, but not to a Secret. Tags that others set are left alone. Default: none. Example:
    /// `{Team: shop, Env: {valueFrom: {configMap: {name: env, key: name}}}}`
    #[serde(default, skip_serializing_if = "tags::is_empty")]
    pub(crate) tags: TagOptions,

    /// How this resource is created, healed and deleted.
    #[serde(default)]
    pub(crate) lifecycle: Lifecycle,
}

impl HasLifecycle for LoadBalancerSpec {
    fn lifecycle(&self) -> &Lifecycle {
        &self.lifecycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;
    use serde_json::json;

    #[test]
    fn names_are_spelled_as_aws_and_kubernetes_do() {
        assert_round_trips::<LoadBalancerSpec>(&json!({
            "name": {"value": "web"},
            "type": {"value": "network"},
            "scheme": {"value": "internet-facing"},
            "subnetIDs": {"value": ["subnet-1"]},
            "securityGroupIDs": {"value": ["sg-1"]},
            "ipAddressType": {"value": "dualstack-without-public-ipv4"},
            "deletionProtection": {"value": true},
            "idleTimeoutSeconds": {"value": 60},
            "tags": {"Name": "web"},
        }));
    }
}
