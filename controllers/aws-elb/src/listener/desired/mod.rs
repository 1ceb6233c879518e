//! The desired state of a listener, and its comparison with the observed state. Pure.

use kraken_aws::{
    diff::{changed, fixed},
    resolved::Joined,
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Ignored, Resolved, Resolver};

use super::{api::ListenerSpec, observed::ObservedListener};
use crate::{
    action::{self, Action},
    rules,
    words::Protocol,
};

/// The path of the action in the spec.
pub(super) const ACTION: &str = "defaultAction";

/// The desired state. Absent fields are neither sent nor compared.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    pub(crate) load_balancer_arn: Resolved<String>,
    pub(crate) port: Resolved<i32>,
    pub(crate) protocol: Resolved<Protocol>,
    pub(crate) action: Joined<Action>,
    pub(crate) certificate_arn: Option<Resolved<String>>,
    pub(crate) ssl_policy: Option<Resolved<String>>,
}

/// A change in place, one call each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Changes the certificate and the policy in the same call, because AWS requires them for some protocols.
    Protocol,
    Certificate,
    SslPolicy,
    Action,
    Port,
}

pub(crate) fn desired(spec: &ListenerSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let load_balancer_arn =
        validator.public("loadBalancerARN", &spec.load_balancer_arn, rules::load_balancer_arn);
    let port = validator.one("port", &spec.port, rules::port);
    let protocol = validator.any("protocol", &spec.protocol);
    let action = action::desired(ACTION, &spec.default_action, &mut validator);
    let certificate_arn =
        validator.optional("certificateARN", spec.certificate_arn.as_ref(), rules::certificate_arn);
    let ssl_policy = validator.optional("sslPolicy", spec.ssl_policy.as_ref(), rules::ssl_policy);

    if let Some(protocol) = protocol.as_ref().map(|protocol| *protocol.expose()) {
        if protocol.is_secure() && spec.certificate_arn.is_none() {
            validator.problem("certificateARN", format!("is required for {protocol}"));
        }
        for (field, is_given) in
            [("certificateARN", spec.certificate_arn.is_some()), ("sslPolicy", spec.ssl_policy.is_some())]
        {
            if is_given && !protocol.is_secure() {
                validator.problem(field, format!("is not supported for {protocol}"));
            }
        }
        if !protocol.is_http() && action.as_ref().is_some_and(|action| action.expose().is_of_http()) {
            validator.problem(ACTION, format!("must be forward for {protocol}"));
        }
    }

    let desired = Desired {
        load_balancer_arn: load_balancer_arn?,
        port: port?,
        protocol: protocol?,
        action: action?,
        certificate_arn: certificate_arn?,
        ssl_policy: ssl_policy?,
    };
    validator.is_valid().then_some(desired)
}

pub(crate) fn differences(desired: &Desired, listener: &ObservedListener) -> Vec<Difference<Change>> {
    let certificate =
        listener.certificates.first().and_then(|certificate| certificate.certificate_arn.as_ref());
    let wanted = desired.certificate_arn.as_ref();
    let first = [
        fixed("loadBalancerARN", Some(&desired.load_balancer_arn), listener.load_balancer_arn.as_ref()),
        changed("protocol", Some(&desired.protocol), listener.protocol.as_ref(), Change::Protocol),
        changed("certificateARN", wanted, certificate, Change::Certificate),
        changed("sslPolicy", desired.ssl_policy.as_ref(), listener.ssl_policy.as_ref(), Change::SslPolicy),
    ];
    let observed = Action::of(&listener.default_actions);
    let action = action::differences(ACTION, &desired.action, observed.as_ref(), || Change::Action);
    let port = changed("port", Some(&desired.port), listener.port.as_ref(), Change::Port);
    first.into_iter().flatten().chain(action).chain(port).collect()
}

/// With the ignored parts of the action as they are observed: a call sends the whole action.
pub(crate) fn without_ignored(
    desired: &Desired,
    listener: &ObservedListener,
    ignored: &Ignored,
) -> Option<Desired> {
    let observed = Action::of(&listener.default_actions);
    let covers = |path: &str| ignored.covers(path);
    let action = action::without_ignored(ACTION, &desired.action, observed.as_ref(), covers)?;
    Some(Desired { action, ..desired.clone() })
}

#[cfg(test)]
mod tests;
