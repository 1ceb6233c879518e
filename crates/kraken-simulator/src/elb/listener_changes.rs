//! Creates, changes and deletes listeners.

use crate::answer::{Answer, Handler, nothing};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::kind::{Kind, mixed};
use crate::model::action::Action;
use crate::model::listener::Settings;
use crate::model::{Listener, ListenerRule, LoadBalancer};
use crate::refusal::Refusal;

use super::paging;
use super::tags::given;

const POLICY: &str = "ELBSecurityPolicy-2016-08";

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateListener" => create,
        "ModifyListener" => modify,
        "DeleteListener" => delete,
        _ => return None,
    };
    Some(handler)
}

impl Settings {
    /// Rejects unsupported settings of this load balancer.
    fn check(&self, cloud: &Cloud, one: &LoadBalancer) -> Result<(), Refusal> {
        let allowed: &[&str] =
            if one.settings.application { &["HTTP", "HTTPS"] } else { &["TCP", "TLS", "UDP", "TCP_UDP"] };
        if !allowed.contains(&self.protocol.as_str()) {
            let allowed = allowed.join(", ");
            return Err(Refusal::invalid(format!(
                "Listener protocol '{}' must be one of '{allowed}'",
                self.protocol
            )));
        }
        if !(1..=65_535).contains(&self.port) {
            return Err(Refusal::invalid(format!("The port '{}' must be between 1 and 65535", self.port)));
        }
        if self.is_encrypted() && self.certificates.is_empty() {
            return Err(Refusal::invalid(format!(
                "A certificate must be specified for {} listeners",
                self.protocol
            )));
        }
        if let Some(wrong) = self.certificates.iter().find(|arn| !is_certificate(arn)) {
            return Err(Refusal::new("CertificateNotFound", format!("Certificate '{wrong}' not found")));
        }
        if self.actions.is_empty() {
            return Err(Refusal::invalid("A listener must have a default action"));
        }
        self.actions.iter().try_for_each(|action| action.check(cloud, one, &self.protocol))
    }
}

/// Every well-formed certificate ARN is valid.
fn is_certificate(arn: &str) -> bool {
    arn.starts_with("arn:aws:acm:") || arn.starts_with("arn:aws:iam:")
}

/// A repeated call with the same settings returns the existing listener.
fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let one = cloud.one::<LoadBalancer>(form.required("LoadBalancerArn")?)?;
    let mut settings = Settings {
        port: form.number("Port")?.ok_or_else(|| Refusal::invalid("A listener port must be specified"))?,
        protocol: form
            .text("Protocol")
            .ok_or_else(|| Refusal::invalid("A listener protocol must be specified"))?,
        policy: form.text("SslPolicy"),
        certificates: certificates(form)?,
        alpn: form.text("AlpnPolicy.member.1"),
        actions: Action::of(form, "DefaultActions")?,
    };
    if settings.is_encrypted() {
        settings.policy.get_or_insert_with(|| POLICY.to_owned());
    }
    settings.check(cloud, one)?;
    let same = |(_, other): &(&u64, &Listener)| other.load_balancer == one.arn && other.settings == settings;
    if let Some((number, _)) = cloud.all::<Listener>().iter().find(same) {
        return Ok(paging::answer::<Listener>(cloud, *number));
    }
    is_free(cloud, &one.arn, settings.port, None)?;
    let tags = given(form)?;
    let number = cloud.registry.next_number(Kind::Listener);
    let its = one.arn.replace(":loadbalancer/", ":listener/");
    let arn = format!("{its}/{:016x}", mixed(number));
    let made = Listener { arn: arn.clone(), load_balancer: one.arn.clone(), settings };
    let number = cloud.make_as(arn, tags, made);
    Ok(paging::answer::<Listener>(cloud, number))
}

/// Absent fields are unchanged, except TLS fields of a plain protocol.
fn modify(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("ListenerArn")?;
    let number = cloud.number::<Listener>(arn)?;
    let listener = cloud.one::<Listener>(arn)?;
    let balancer = listener.load_balancer.clone();
    let mut settings = listener.settings.clone();
    if let Some(port) = form.number("Port")? {
        settings.port = port;
    }
    if let Some(protocol) = form.text("Protocol") {
        settings.protocol = protocol;
    }
    let (named, actions) = (certificates(form)?, Action::of(form, "DefaultActions")?);
    if !named.is_empty() {
        settings.certificates = named;
    }
    if !actions.is_empty() {
        settings.actions = actions;
    }
    if settings.is_encrypted() {
        let policy = form.text("SslPolicy").or(settings.policy);
        settings.policy = policy.or_else(|| Some(POLICY.to_owned()));
    } else {
        (settings.policy, settings.certificates) = (None, vec![]);
    }
    settings.alpn = form.text("AlpnPolicy.member.1").or(settings.alpn);
    let one =
        cloud.existing::<LoadBalancer>(&balancer).ok_or_else(|| Kind::LoadBalancer.missing(&[&balancer]))?;
    settings.check(cloud, one)?;
    is_free(cloud, &balancer, settings.port, Some(arn))?;
    cloud.one_mut::<Listener>(arn)?.settings = settings;
    Ok(paging::answer::<Listener>(cloud, number))
}

fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("ListenerArn")?;
    let number = cloud.number::<Listener>(arn)?;
    delete_listener(cloud, number);
    Ok(nothing(arn))
}

/// A listener is deleted with its rules.
pub(super) fn delete_listener(cloud: &mut Cloud, number: u64) {
    let Some(listener) = cloud.remove_object::<Listener>(number) else { return };
    let its = cloud.all::<ListenerRule>().iter().filter(|(_, rule)| rule.listener == listener.arn);
    let rules: Vec<u64> = its.map(|(number, _)| *number).collect();
    for rule in rules {
        cloud.remove_object::<ListenerRule>(rule);
    }
}

/// Rejects a port of another listener of the load balancer.
fn is_free(cloud: &Cloud, balancer: &str, port: usize, own: Option<&str>) -> Result<(), Refusal> {
    let is_other = |listener: &Listener| {
        listener.load_balancer == balancer && listener.settings.port == port && own != Some(&*listener.arn)
    };
    if cloud.all::<Listener>().values().any(is_other) {
        let message = format!("A listener already exists on this port for this load balancer '{balancer}'");
        return Err(Refusal::new("DuplicateListener", message));
    }
    Ok(())
}

fn certificates(form: &Form) -> Result<Vec<String>, Refusal> {
    let named = form.structures("Certificates.member");
    named.iter().map(|one| one.required("CertificateArn").map(str::to_owned)).collect()
}
