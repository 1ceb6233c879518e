//! Listeners: one per port of a load balancer.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::refusal::Refusal;

use super::actions::Action;
use super::invalid;
use super::load_balancer::LoadBalancer;
use super::paging::{self, WriteXml};

/// A listener.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    pub(super) arn: String,
    pub(super) load_balancer: String,
    pub(super) settings: Settings,
}

/// The parameters of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) port: usize,
    pub(super) protocol: String,
    pub(super) policy: Option<String>,
    pub(super) certificates: Vec<String>,
    pub(super) alpn: Option<String>,
    pub(super) actions: Vec<Action>,
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    match action {
        "DescribeListeners" => Some(|cloud, form| described(cloud, form)),
        _ => None,
    }
}

impl Listener {
    /// Whether it sends requests to this target group.
    pub(super) fn forwards_to(&self, group: &str) -> bool {
        self.settings.actions.iter().flat_map(Action::groups).any(|(arn, _)| arn == group)
    }
}

impl Settings {
    pub(super) fn is_encrypted(&self) -> bool {
        ["HTTPS", "TLS"].contains(&self.protocol.as_str())
    }

    /// Rejects unsupported settings of this load balancer.
    pub(super) fn check(&self, cloud: &Cloud, one: &LoadBalancer) -> Result<(), Refusal> {
        let allowed: &[&str] =
            if one.settings.application { &["HTTP", "HTTPS"] } else { &["TCP", "TLS", "UDP", "TCP_UDP"] };
        if !allowed.contains(&self.protocol.as_str()) {
            let allowed = allowed.join(", ");
            return Err(invalid(format!("Listener protocol '{}' must be one of '{allowed}'", self.protocol)));
        }
        if !(1..=65_535).contains(&self.port) {
            return Err(invalid(format!("The port '{}' must be between 1 and 65535", self.port)));
        }
        if self.is_encrypted() && self.certificates.is_empty() {
            return Err(invalid(format!("A certificate must be specified for {} listeners", self.protocol)));
        }
        if let Some(wrong) = self.certificates.iter().find(|arn| !is_certificate(arn)) {
            return Err(Refusal::new("CertificateNotFound", format!("Certificate '{wrong}' not found")));
        }
        if self.actions.is_empty() {
            return Err(invalid("A listener must have a default action"));
        }
        self.actions.iter().try_for_each(|action| action.check(cloud, one, &self.protocol))
    }
}

/// Every well-formed certificate ARN is valid.
fn is_certificate(arn: &str) -> bool {
    arn.starts_with("arn:aws:acm:") || arn.starts_with("arn:aws:iam:")
}

impl WriteXml for Listener {
    const ARNS: &'static str = "ListenerArns.member";
    const SET: &'static str = "Listeners";

    fn write_xml(&self, xml: &mut Xml, _: &Cloud) {
        let settings = &self.settings;
        xml.text("ListenerArn", &self.arn);
        xml.text("LoadBalancerArn", &self.load_balancer);
        xml.text("Port", settings.port);
        xml.text("Protocol", &settings.protocol);
        xml.optional("SslPolicy", settings.policy.as_ref());
        xml.members("Certificates", &settings.certificates, |xml, arn| xml.text("CertificateArn", arn));
        xml.members("DefaultActions", settings.actions.iter().zip(1..), |xml, (action, order)| {
            action.write_xml(xml, order);
        });
        if let Some(policy) = &settings.alpn {
            xml.members("AlpnPolicy", [policy], |xml, policy| xml.plain(policy));
        }
    }
}

fn described(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let balancer = form.get("LoadBalancerArn");
    if balancer.is_none() && form.get("ListenerArns.member.1").is_none() {
        return Err(invalid("You must specify either listener ARNs or a load balancer ARN"));
    }
    balancer.map(|arn| cloud.one::<LoadBalancer>(arn)).transpose()?;
    paging::describe::<Listener>(cloud, form, None, |listener| {
        balancer.is_none_or(|arn| listener.load_balancer == arn)
    })
}
