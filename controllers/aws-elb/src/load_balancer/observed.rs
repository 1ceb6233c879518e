//! The observed load balancer, which is the published state.

use std::collections::BTreeMap;

use kraken_aws::{Tags, aws_observed, items::in_order, resource::Phase};

use crate::elb::types;

/// The attribute of `deletionProtection`.
pub(crate) const DELETION_PROTECTION: &str = "deletion_protection.enabled";
/// The attribute of `idleTimeoutSeconds`.
pub(crate) const IDLE_TIMEOUT: &str = "idle_timeout.timeout_seconds";

#[aws_observed(from = types::LoadBalancer, id = load_balancer_arn, phase = Self::phase)]
pub(crate) struct Balancer {
    pub(crate) load_balancer_arn: String,
    pub(crate) load_balancer_name: String,
    #[serde(rename = "DNSName")]
    pub(crate) dns_name: Option<String>,
    pub(crate) canonical_hosted_zone_id: Option<String>,
    pub(crate) r#type: Option<String>,
    pub(crate) scheme: Option<String>,
    pub(crate) vpc_id: Option<String>,
    pub(crate) state: Option<State>,
    pub(crate) ip_address_type: Option<String>,
    #[from(in_order(sdk.security_groups))]
    pub(crate) security_groups: Vec<String>,
    pub(crate) availability_zones: Vec<Zone>,
    /// Read only in deep observations, and therefore not published: it is absent after other observations.
    #[serde(skip)]
    pub(crate) attributes: Option<BTreeMap<String, String>>,
    #[serde(skip)]
    pub(crate) tags: Tags,
}

#[aws_observed(from = types::LoadBalancerState)]
pub(crate) struct State {
    pub(crate) code: Option<String>,
    pub(crate) reason: Option<String>,
}

#[aws_observed(from = types::AvailabilityZone)]
pub(crate) struct Zone {
    pub(crate) zone_name: Option<String>,
    pub(crate) subnet_id: Option<String>,
}

impl Balancer {
    pub(crate) fn subnets(&self) -> Vec<&str> {
        self.availability_zones.iter().filter_map(|zone| zone.subnet_id.as_deref()).collect()
    }

    fn phase(&self) -> Phase {
        let Some(state) = &self.state else { return Phase::Available };
        match state.code.as_deref() {
            Some("provisioning") => Phase::Pending("provisioning".to_owned()),
            Some("failed") => {
                Phase::Failed(state.reason.clone().unwrap_or_else(|| "AWS reports no cause".to_owned()))
            }
            // A load balancer in the state `active_impaired` works, with less capacity than it requires.
            _ => Phase::Available,
        }
    }
}
