//! Load balancers, their subnets and their network interfaces.

use std::collections::BTreeMap;

use crate::form::Form;
use crate::kind::{id, mixed};
use crate::markup::Xml;
use crate::refusal::Refusal;
use crate::state_transition::StateTransition;

use super::interface::Interface;

/// A load balancer.
#[derive(Debug, Clone)]
pub(crate) struct LoadBalancer {
    pub(crate) arn: String,
    pub(crate) name: String,
    pub(crate) settings: Settings,
    pub(crate) groups: Vec<String>,
    pub(crate) zones: Vec<Zoned>,
    pub(crate) vpc: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) dns_name: String,
    pub(crate) created: String,
    pub(crate) transition: StateTransition<&'static str>,
}

/// The immutable fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) application: bool,
    pub(crate) scheme: String,
    pub(crate) address_type: String,
}

impl Settings {
    pub(crate) fn of(form: &Form) -> Result<Self, Refusal> {
        let one_of = |name: &str, allowed: [&str; 2]| {
            let value = form.get(name).unwrap_or(allowed[0]);
            if allowed.contains(&value) {
                return Ok(value.to_owned());
            }
            Err(Refusal::invalid(format!(
                "1 validation error detected: Value '{value}' at '{}{}' failed to satisfy constraint: Member must \
                 satisfy enum value set: [{}]",
                name[..1].to_lowercase(),
                &name[1..],
                allowed.join(", ")
            )))
        };
        Ok(Self {
            application: one_of("Type", ["application", "network"])? == "application",
            scheme: one_of("Scheme", ["internet-facing", "internal"])?,
            address_type: one_of("IpAddressType", ["ipv4", "dualstack"])?,
        })
    }

    /// Its type in ARNs.
    pub(crate) fn short(&self) -> &'static str {
        if self.application { "app" } else { "net" }
    }

    pub(crate) fn dns_name(&self, region: &str, name: &str, number: u64) -> String {
        let prefix = if self.scheme == "internal" { "internal-" } else { "" };
        if self.application {
            format!("{prefix}{name}-{}.{region}.elb.amazonaws.com", mixed(number) % 10_000_000_000)
        } else {
            format!("{prefix}{name}-{:016x}.elb.{region}.amazonaws.com", mixed(number))
        }
    }
}

impl LoadBalancer {
    /// Whether it has public addresses.
    pub(crate) fn faces_internet(&self) -> bool {
        self.settings.scheme == "internet-facing"
    }

    /// Whether it is in these subnets and no others.
    pub(crate) fn is_at(&self, zones: &[Zoned]) -> bool {
        self.zones.len() == zones.len() && zones.iter().all(|zone| self.zones.contains(zone))
    }

    /// Its network interfaces, one in each zone.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = Interface> + '_ {
        let (_, name) = self.arn.split_once("loadbalancer/").unwrap_or_default();
        self.zones.iter().map(move |zone| {
            let bytes = name.bytes().chain(zone.subnet.bytes());
            let number = bytes.fold(0, |number, byte| mixed(number ^ u64::from(byte)));
            let [.., a, b, c] = number.to_be_bytes();
            let is_public = self.faces_internet();
            Interface {
                id: id("eni-", number),
                subnet: zone.subnet.clone(),
                vpc: self.vpc.clone(),
                groups: self.groups.clone(),
                instance: None,
                public_ip: is_public.then(|| format!("53.{a}.{b}.{c}")),
                description: format!("ELB {name}"),
            }
        })
    }
}

/// The subnet of a load balancer in one zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Zoned {
    pub(crate) subnet: String,
    pub(crate) zone: String,
    /// The Elastic IP address, for a network load balancer that has one.
    pub(crate) allocation: Option<String>,
}

impl Zoned {
    pub(crate) fn write_xml(&self, xml: &mut Xml) {
        xml.text("ZoneName", &self.zone);
        xml.text("SubnetId", &self.subnet);
        xml.members("LoadBalancerAddresses", &self.allocation, |xml, id| xml.text("AllocationId", id));
    }
}
