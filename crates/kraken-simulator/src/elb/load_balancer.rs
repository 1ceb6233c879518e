//! Load balancers: unique by name, provisioned for some time, deleted with their listeners.

use std::collections::BTreeSet;

use crate::answer::{Answer, Handler, nothing};
use crate::cloud::Cloud;
use crate::event::Event;
use crate::form::Form;
use crate::kind::{Kind, mixed};
use crate::markup::Xml;
use crate::model::load_balancer::Settings;
use crate::model::{Listener, LoadBalancer};
use crate::refusal::Refusal;
use crate::registry::Visibility;
use crate::state_transition::StateTransition;
use crate::store::CloudObject as _;

use super::names::check_name;
use super::paging::{self, WriteXml};
use super::placement::{allocate_addresses, groups, subnets};
use super::tags::given;
use super::{attributes, listener_changes};

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateLoadBalancer" => create,
        "DescribeLoadBalancers" => |cloud, form| described(cloud, form),
        "DeleteLoadBalancer" => delete,
        _ => return None,
    };
    Some(handler)
}

impl WriteXml for LoadBalancer {
    const ARNS: &'static str = "LoadBalancerArns.member";
    const SET: &'static str = "LoadBalancers";

    fn write_xml(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("LoadBalancerArn", &self.arn);
        xml.text("LoadBalancerName", &self.name);
        xml.text("DNSName", &self.dns_name);
        xml.text("CanonicalHostedZoneId", "Z35SXDOTRQ7X7K");
        xml.text("CreatedTime", &self.created);
        xml.text("Scheme", &self.settings.scheme);
        xml.text("Type", if self.settings.application { "application" } else { "network" });
        xml.text("IpAddressType", &self.settings.address_type);
        xml.text("VpcId", &self.vpc);
        xml.tag("State", |xml| xml.text("Code", self.transition.state(cloud.now)));
        xml.members("AvailabilityZones", &self.zones, |xml, zone| zone.write_xml(xml));
        xml.members("SecurityGroups", &self.groups, |xml, group| xml.plain(group));
    }
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let name = form.required("Name")?.to_owned();
    check_name(&name, "load balancer")?;
    if name.starts_with("internal-") {
        return Err(Refusal::invalid(format!(
            "The load balancer name '{name}' cannot begin with 'internal-'"
        )));
    }
    let settings = Settings::of(form)?;
    let (vpc, zones) = subnets(cloud, form, &settings)?;
    let groups = groups(cloud, form, &settings, &vpc)?;
    let tags = given(form)?;
    if let Some((number, other)) = named(cloud, &name) {
        if other.settings == settings && other.is_at(&zones) && same(&other.groups, &groups) {
            return Ok(paging::answer::<LoadBalancer>(cloud, number));
        }
        let message =
            format!("A load balancer with the same name '{name}' exists, but with different settings");
        return Err(Refusal::new("DuplicateLoadBalancerName", message));
    }
    let number = cloud.registry.next_number(Kind::LoadBalancer);
    let arn = format!(
        "arn:aws:elasticloadbalancing:{}:loadbalancer/{}/{name}/{:016x}",
        cloud.options.place(),
        settings.short(),
        mixed(number)
    );
    let made = LoadBalancer {
        arn: arn.clone(),
        dns_name: settings.dns_name(&cloud.options.region, &name, number),
        name,
        attributes: attributes::of_load_balancer(settings.application),
        settings,
        groups,
        zones,
        vpc,
        created: cloud.timestamp(),
        transition: StateTransition::new("provisioning", "active", cloud.now, cloud.options.provisioning),
    };
    allocate_addresses(cloud, &arn, made.zones.iter().map(|zone| zone.subnet.as_str()))?;
    let number = cloud.make_as(arn, tags, made);
    Ok(paging::answer::<LoadBalancer>(cloud, number))
}

/// The load balancer with this name.
fn named<'a>(cloud: &'a Cloud, name: &str) -> Option<(u64, &'a LoadBalancer)> {
    let mut all = cloud
        .registry
        .present(Kind::LoadBalancer)
        .filter_map(|object| Some((object.number, cloud.all::<LoadBalancer>().get(&object.number)?)));
    all.find(|(_, one)| one.name == name)
}

/// Whether both have the same members, ignoring order.
pub(super) fn same(one: &[String], other: &[String]) -> bool {
    one.iter().collect::<BTreeSet<_>>() == other.iter().collect::<BTreeSet<_>>()
}

fn described(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let names = form.list("Names.member");
    let seen =
        |number| cloud.registry.is_seen(LoadBalancer::object(number), Visibility::Described, cloud.now);
    let (mut found, mut missing) = (BTreeSet::new(), vec![]);
    for name in &names {
        match named(cloud, name) {
            Some((number, _)) if seen(number) => drop(found.insert(number)),
            _ => missing.push(*name),
        }
    }
    if !missing.is_empty() {
        let message = format!("Load balancers '[{}]' not found", missing.join(", "));
        return Err(Refusal::new("LoadBalancerNotFound", message));
    }
    paging::describe::<LoadBalancer>(cloud, form, (!names.is_empty()).then_some(&found), |_| true)
}

/// A missing object counts as deleted. The interfaces remain for some time, and block the deletion of their
/// dependencies.
fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("LoadBalancerArn")?;
    Kind::LoadBalancer.check(arn)?;
    let Some(one) = cloud.existing::<LoadBalancer>(arn) else { return Ok(nothing(arn)) };
    if one.attributes.get("deletion_protection.enabled").is_some_and(|value| value == "true") {
        let message =
            format!("Load balancer '{arn}' cannot be deleted because deletion protection is enabled");
        return Err(Refusal::new("OperationNotPermitted", message));
    }
    let number = cloud.number::<LoadBalancer>(arn)?;
    let its = cloud.all::<Listener>().iter().filter(|(_, listener)| listener.load_balancer == arn);
    let listeners: Vec<u64> = its.map(|(number, _)| *number).collect();
    for listener in listeners {
        listener_changes::delete_listener(cloud, listener);
    }
    cloud.touch::<LoadBalancer>(number, false);
    cloud.registry.remove(LoadBalancer::object(number));
    cloud.schedule(cloud.now + cloud.options.releasing, Event::Released(number));
    cloud.tick(cloud.now);
    Ok(nothing(arn))
}
