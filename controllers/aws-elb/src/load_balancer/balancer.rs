//! The observed load balancer, which is the published state.

use std::collections::BTreeMap;

use kraken_aws::{
    Tags,
    elb::types::LoadBalancer as Sdk,
    lookup::Tagged,
    resource::{Phase, RemoteObject},
};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Balancer {
    pub(crate) load_balancer_arn: String,
    pub(crate) load_balancer_name: String,
    #[serde(rename = "DNSName")]
    pub(crate) dns_name: Option<String>,
    pub(crate) canonical_hosted_zone_id: Option<String>,
    #[serde(rename = "Type")]
    pub(crate) kind: Option<String>,
    pub(crate) scheme: Option<String>,
    pub(crate) vpc_id: Option<String>,
    pub(crate) state: Option<State>,
    pub(crate) ip_address_type: Option<String>,
    pub(crate) security_groups: Vec<String>,
    pub(crate) availability_zones: Vec<Zone>,
    /// Read only in deep observations, and therefore not published: it is absent after other observations.
    #[serde(skip)]
    pub(crate) attributes: Option<BTreeMap<String, String>>,
    #[serde(skip)]
    pub(crate) tags: Tags,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct State {
    pub(crate) code: Option<String>,
    pub(crate) reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Zone {
    pub(crate) zone_name: Option<String>,
    pub(crate) subnet_id: Option<String>,
}

impl Balancer {
    pub(crate) fn subnets(&self) -> Vec<&str> {
        self.availability_zones.iter().filter_map(|zone| zone.subnet_id.as_deref()).collect()
    }
}

impl From<&Sdk> for Balancer {
    fn from(balancer: &Sdk) -> Self {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let mut availability_zones: Vec<Zone> = balancer
            .availability_zones()
            .iter()
            .map(|zone| Zone { zone_name: text(zone.zone_name()), subnet_id: text(zone.subnet_id()) })
            .collect();
        availability_zones.sort_by(|a, b| (&a.zone_name, &a.subnet_id).cmp(&(&b.zone_name, &b.subnet_id)));
        Self {
            load_balancer_arn: text(balancer.load_balancer_arn()).unwrap_or_default(),
            load_balancer_name: text(balancer.load_balancer_name()).unwrap_or_default(),
            dns_name: text(balancer.dns_name()),
            canonical_hosted_zone_id: text(balancer.canonical_hosted_zone_id()),
            kind: balancer.r#type().map(ToString::to_string),
            scheme: balancer.scheme().map(ToString::to_string),
            vpc_id: text(balancer.vpc_id()),
            state: balancer.state().map(|state| State {
                code: state.code().map(ToString::to_string),
                reason: text(state.reason()),
            }),
            ip_address_type: balancer.ip_address_type().map(ToString::to_string),
            security_groups: balancer.security_groups().to_vec(),
            availability_zones,
            attributes: None,
            tags: Tags::new(),
        }
    }
}

impl Tagged for Balancer {
    fn id(&self) -> &str {
        &self.load_balancer_arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for Balancer {
    fn phase(&self) -> Phase {
        let Some(state) = &self.state else { return Phase::Up };
        match state.code.as_deref() {
            Some("provisioning") => Phase::Settling("provisioning".to_owned()),
            Some("failed") => {
                Phase::Failed(state.reason.clone().unwrap_or_else(|| "AWS reports no cause".to_owned()))
            }
            // A load balancer in the state `active_impaired` works, with less capacity than it requires.
            _ => Phase::Up,
        }
    }
}
