//! Listeners: one per port of a load balancer.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::model::{Listener, LoadBalancer};
use crate::refusal::Refusal;

use super::paging::{self, WriteXml};

pub(super) fn handler(action: &str) -> Option<Handler> {
    match action {
        "DescribeListeners" => Some(|cloud, form| described(cloud, form)),
        _ => None,
    }
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
        return Err(Refusal::invalid("You must specify either listener ARNs or a load balancer ARN"));
    }
    balancer.map(|arn| cloud.one::<LoadBalancer>(arn)).transpose()?;
    paging::describe::<Listener>(cloud, form, None, |listener| {
        balancer.is_none_or(|arn| listener.load_balancer == arn)
    })
}
