//! The network interfaces of instances, NAT gateways and load balancers, which are created and deleted with them.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::filters::Filter;
use crate::form::Form;
use crate::listing::{next_token, page_size, to_token};
use crate::markup::Xml;
use crate::model::{Instance, Interface, LoadBalancer, NatGateway};
use crate::refusal::Refusal;
use crate::registry::Visibility;
use crate::store::CloudObject as _;

const FILTERS: [&str; 6] = [
    "network-interface-id",
    "subnet-id",
    "vpc-id",
    "group-id",
    "attachment.instance-id",
    "association.public-ip",
];

pub(super) fn handler(action: &str) -> Option<Handler> {
    match action {
        "DescribeNetworkInterfaces" => Some(|cloud, form| describe(cloud, form)),
        _ => None,
    }
}

impl Interface {
    fn passes(&self, filter: &Filter) -> bool {
        match filter.name.as_str() {
            "network-interface-id" => filter.matches(&self.id),
            "subnet-id" => filter.matches(&self.subnet),
            "vpc-id" => filter.matches(&self.vpc),
            "group-id" => self.groups.iter().any(|group| filter.matches(group)),
            "attachment.instance-id" => self.instance.iter().any(|id| filter.matches(id)),
            _ => self.public_ip.iter().any(|ip| filter.matches(ip)),
        }
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("networkInterfaceId", &self.id);
        xml.text("subnetId", &self.subnet);
        xml.text("vpcId", &self.vpc);
        xml.text("description", &self.description);
        xml.text("ownerId", &cloud.options.account);
        xml.text("requesterManaged", self.instance.is_none());
        xml.text("status", "in-use");
        xml.list("groupSet", &self.groups, |xml, group| xml.text("groupId", group));
        xml.tag("attachment", |xml| {
            xml.optional("instanceId", self.instance.as_ref());
            xml.text("status", "attached");
        });
        if let Some(ip) = &self.public_ip {
            xml.tag("association", |xml| xml.text("publicIp", ip));
        }
    }
}

/// All interfaces of objects that Describe calls return.
fn all(cloud: &Cloud) -> Vec<Interface> {
    let is_seen = |instance: &&Instance| {
        cloud.registry.is_seen(Instance::object(instance.number), Visibility::Described, cloud.now)
    };
    let of_instances = cloud.live_instances().filter(is_seen).map(|instance| Interface {
        id: instance.interface(),
        subnet: instance.settings.subnet.clone(),
        vpc: instance.place.vpc.clone(),
        groups: instance.settings.groups.clone(),
        instance: Some(instance.id.clone()),
        public_ip: instance.public_address(cloud.now),
        description: String::new(),
    });
    let of_gateways = cloud.all::<NatGateway>().values().filter_map(|gateway| gateway.interface(cloud.now));
    of_instances
        .chain(of_gateways)
        .chain(cloud.all::<LoadBalancer>().values().flat_map(LoadBalancer::interfaces))
        .collect()
}

/// A page ends at a whole number of interfaces; its token counts them.
fn describe(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (ids, filters) = (form.list("NetworkInterfaceId"), Filter::of(form)?);
    let (size, first) = (page_size(cloud, form, (5, 1000))?, next_token(form)?);
    Filter::check(&filters, |name| FILTERS.contains(&name))?;
    let mut found = all(cloud);
    if let Some(id) = ids.iter().find(|id| !found.iter().any(|interface| interface.id == **id)) {
        let message = format!("The networkInterface ID '{id}' does not exist");
        return Err(Refusal::new("InvalidNetworkInterfaceID.NotFound", message));
    }
    found.retain(|interface| {
        (ids.is_empty() || ids.contains(&interface.id.as_str()))
            && filters.iter().all(|filter| interface.passes(filter))
    });
    let start = usize::try_from(first).unwrap_or(usize::MAX).min(found.len());
    let end = start.saturating_add(size).min(found.len());
    let mut body = Xml::default();
    body.list("networkInterfaceSet", &found[start..end], |xml, interface| interface.write(xml, cloud));
    if end < found.len() {
        body.text("nextToken", to_token(end as u64));
    }
    Ok(Answer { body, ids: found[start..end].iter().map(|interface| interface.id.clone()).collect() })
}
