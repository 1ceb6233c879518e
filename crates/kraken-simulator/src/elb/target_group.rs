//! Target groups: unique by name, not deletable while a listener uses them.

use std::collections::{BTreeMap, BTreeSet};

use crate::answer::{Answer, Handler, nothing};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::kind::{Kind, mixed};
use crate::markup::Xml;
use crate::model::health::Health;
use crate::model::target_group::Settings;
use crate::model::{Listener, ListenerRule, LoadBalancer, TargetGroup, Vpc};
use crate::refusal::Refusal;

use super::attributes;
use super::names::check_name;
use super::paging::{self, WriteXml};
use super::tags::given;

const PROTOCOLS: [&str; 6] = ["HTTP", "HTTPS", "TCP", "TLS", "UDP", "TCP_UDP"];

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateTargetGroup" => create,
        "DescribeTargetGroups" => |cloud, form| described(cloud, form),
        "ModifyTargetGroup" => modify,
        "DeleteTargetGroup" => delete,
        _ => return None,
    };
    Some(handler)
}

impl TargetGroup {
    /// The load balancers that send requests to it.
    pub(super) fn load_balancers<'a>(&self, cloud: &'a Cloud) -> BTreeSet<&'a str> {
        let listeners = cloud.all::<Listener>().values().filter(|listener| {
            let of_it = |rule: &&ListenerRule| rule.listener == listener.arn;
            let rule =
                cloud.all::<ListenerRule>().values().filter(of_it).any(|rule| rule.forwards_to(&self.arn));
            rule || listener.forwards_to(&self.arn)
        });
        listeners.map(|listener| listener.load_balancer.as_str()).collect()
    }
}

impl WriteXml for TargetGroup {
    const ARNS: &'static str = "TargetGroupArns.member";
    const SET: &'static str = "TargetGroups";

    fn write_xml(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("TargetGroupArn", &self.arn);
        xml.text("TargetGroupName", &self.name);
        xml.text("Protocol", &self.settings.protocol);
        xml.optional("ProtocolVersion", self.settings.version.as_ref());
        xml.text("Port", self.settings.port);
        xml.text("VpcId", &self.settings.vpc);
        xml.text("TargetType", &self.settings.of);
        xml.text("IpAddressType", &self.settings.address_type);
        self.health.write_xml(xml);
        xml.members("LoadBalancerArns", self.load_balancers(cloud), Xml::plain);
    }
}

/// The immutable fields in the parameters of a call.
fn settings(cloud: &Cloud, form: &Form) -> Result<Settings, Refusal> {
    let of = form.text("TargetType").unwrap_or_else(|| "instance".to_owned());
    if !["instance", "ip"].contains(&of.as_str()) {
        return Err(Refusal::invalid(format!("The target type '{of}' is not simulated")));
    }
    let protocol = form.text("Protocol").ok_or_else(|| Refusal::invalid("A protocol must be specified"))?;
    if !PROTOCOLS.contains(&protocol.as_str()) {
        return Err(Refusal::invalid(format!(
            "1 validation error detected: Value '{protocol}' at 'protocol' failed to satisfy constraint: Member \
             must satisfy enum value set: [{}]",
            PROTOCOLS.join(", ")
        )));
    }
    let port = form.number("Port")?.ok_or_else(|| Refusal::invalid("A port must be specified"))?;
    if !(1..=65_535).contains(&port) {
        return Err(Refusal::invalid(format!("The port '{port}' must be between 1 and 65535")));
    }
    let vpc = form.text("VpcId").ok_or_else(|| Refusal::invalid("A VPC ID must be specified"))?;
    if cloud.existing::<Vpc>(&vpc).is_none() {
        return Err(Refusal::invalid(format!("The VPC ID '{vpc}' is not found")));
    }
    let version = protocol
        .starts_with("HTTP")
        .then(|| form.text("ProtocolVersion").unwrap_or_else(|| "HTTP1".to_owned()));
    let address_type = form.text("IpAddressType").unwrap_or_else(|| "ipv4".to_owned());
    Ok(Settings { protocol, version, port, vpc, of, address_type })
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let name = form.required("Name")?.to_owned();
    check_name(&name, "target group")?;
    let settings = settings(cloud, form)?;
    let health = Health::of(form, settings.is_http())?;
    let tags = given(form)?;
    if let Some((number, other)) = cloud.all::<TargetGroup>().iter().find(|(_, other)| other.name == name) {
        if other.settings == settings && other.health == health {
            return Ok(paging::answer::<TargetGroup>(cloud, *number));
        }
        let message =
            format!("A target group with the same name '{name}' exists, but with different settings");
        return Err(Refusal::new("DuplicateTargetGroupName", message));
    }
    let number = cloud.registry.next_number(Kind::TargetGroup);
    let arn = format!(
        "arn:aws:elasticloadbalancing:{}:targetgroup/{name}/{:016x}",
        cloud.options.place(),
        mixed(number)
    );
    let attributes = attributes::of_target_group(settings.is_http());
    let made = TargetGroup { arn: arn.clone(), name, settings, health, attributes, targets: BTreeMap::new() };
    let number = cloud.make_as(arn, tags, made);
    Ok(paging::answer::<TargetGroup>(cloud, number))
}

fn described(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let names = form.list("Names.member");
    for name in &names {
        if !cloud.all::<TargetGroup>().values().any(|group| group.name == *name) {
            return Err(Kind::TargetGroup.missing(&[name]));
        }
    }
    let balancer = form.get("LoadBalancerArn");
    balancer.map(|arn| cloud.one::<LoadBalancer>(arn)).transpose()?;
    paging::describe::<TargetGroup>(cloud, form, None, |group| {
        let is_named = names.is_empty() || names.contains(&&*group.name);
        is_named && balancer.is_none_or(|arn| group.load_balancers(cloud).contains(arn))
    })
}

fn modify(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("TargetGroupArn")?;
    let number = cloud.number::<TargetGroup>(arn)?;
    let group = cloud.one_mut::<TargetGroup>(arn)?;
    let mut health = group.health.clone();
    health.change(form)?;
    group.health = health;
    Ok(paging::answer::<TargetGroup>(cloud, number))
}

/// A missing object counts as deleted.
fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("TargetGroupArn")?;
    Kind::TargetGroup.check(arn)?;
    let Some(group) = cloud.existing::<TargetGroup>(arn) else { return Ok(nothing(arn)) };
    if !group.load_balancers(cloud).is_empty() {
        let message = format!("Target group '{arn}' is currently in use by a listener or a rule");
        return Err(Refusal::new("ResourceInUse", message));
    }
    let number = cloud.number::<TargetGroup>(arn)?;
    cloud.remove_object::<TargetGroup>(number);
    Ok(nothing(arn))
}
