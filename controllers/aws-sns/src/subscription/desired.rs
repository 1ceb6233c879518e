//! The fields of a subscription: validated, compared, imported and sent. Pure.

use kraken_aws::{
    fields::{NOT_SHOWN, SECRET},
    import::literal,
    prelude::*,
};
use serde_json::{Value, json};

use super::{
    api::{Change, Desired, PartialDesired, Protocol, SubscriptionSpec},
    observed::{NO_FILTER, Subscription},
};

impl SubscriptionSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let Some(protocol) = partial.protocol.as_ref().map(|protocol| *protocol.expose()) else { return };
        if let Some(why) = partial.endpoint.as_ref().and_then(|one| problem(protocol, one.expose())) {
            validator.problem("endpoint", why);
        }
        let is_firehose = protocol == Protocol::Firehose;
        match (is_firehose, self.subscription_role_arn.is_some()) {
            (true, false) => validator.problem("subscriptionRoleARN", "is required for firehose"),
            (false, true) => validator.problem("subscriptionRoleARN", "is only supported for firehose"),
            _ => {}
        }
        let can_be_raw = matches!(protocol, Protocol::Sqs | Protocol::Http | Protocol::Https) || is_firehose;
        if given(&partial.raw_message_delivery) == Some(&true) && !can_be_raw {
            validator.problem("rawMessageDelivery", "is only supported for sqs, firehose, http and https");
        }
    }

    /// By the JSON: the order of keys and the form of the text have no meaning.
    pub(super) fn compare_filter(desired: &Desired, found: &Subscription) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.filter_policy.as_ref()?, &found.attributes.as_ref()?.filter_policy);
        let text = json!(wanted.expose()).to_string();
        let (want, shown) =
            if wanted.is_secret() { (SECRET, NOT_SHOWN) } else { (text.as_str(), have.as_str()) };
        (text != *have).then(|| difference("filterPolicy", want, shown, Change::Filter))
    }

    pub(super) fn import_filter(found: &Subscription) -> Option<Value> {
        let policy = &found.attributes.as_ref()?.filter_policy;
        let policy: Value = serde_json::from_str(policy).ok().filter(|_| policy != NO_FILTER)?;
        Some(literal(policy))
    }
}

/// What is wrong with the endpoint of a subscription with this protocol.
fn problem(protocol: Protocol, endpoint: &str) -> Option<String> {
    let is_arn = |service: &str| {
        let parts: Vec<&str> = endpoint.splitn(6, ':').collect();
        matches!(parts.as_slice(), ["arn", _, of, _, _, _] if *of == service)
    };
    let is_url = |scheme: &str| {
        let host = endpoint.strip_prefix(scheme).and_then(|rest| rest.split('/').next());
        host.is_some_and(|host| !host.is_empty() && !host.contains('@'))
    };
    let (holds, wanted) = match protocol {
        Protocol::Sqs => (is_arn("sqs"), "the ARN of a queue"),
        Protocol::Lambda => (is_arn("lambda"), "the ARN of a function"),
        Protocol::Firehose => (is_arn("firehose"), "the ARN of a delivery stream"),
        Protocol::Application => (is_arn("sns"), "the ARN of a platform endpoint"),
        Protocol::Sms => (endpoint.starts_with(|c: char| c == '+' || c.is_ascii_digit()), "a phone number"),
        Protocol::Email | Protocol::EmailJson => (endpoint.contains('@'), "an email address"),
        // AWS does not return the password in it.
        Protocol::Http => (is_url("http://"), "a URL with http:// and without a password"),
        Protocol::Https => (is_url("https://"), "a URL with https:// and without a password"),
    };
    (!holds).then(|| format!("must be {wanted} for the protocol {protocol}"))
}

/// The attributes that the spec sets, each with the change that sets it, as AWS names and writes them. The scope comes before the policy,
/// which is validated with it.
pub(super) fn attributes(desired: &Desired) -> Vec<(Change, &'static str, String)> {
    let Desired {
        topic_arn: _,
        protocol: _,
        endpoint: _, // only at creation
        filter_policy,
        filter_policy_scope,
        raw_message_delivery,
        dead_letter_target_arn,
        subscription_role_arn,
    } = desired;
    let redrive = |arn: String| {
        if arn.is_empty() { arn } else { json!({"deadLetterTargetArn": arn}).to_string() }
    };
    let flag = exposed(raw_message_delivery.as_ref()).map(|value| value.to_string());
    let filter = filter_policy.as_ref().map(|policy| json!(policy.expose()).to_string());
    let all = [
        (Change::Filter, "FilterPolicyScope", exposed(filter_policy_scope.as_ref())),
        (Change::Filter, "FilterPolicy", filter),
        (Change::RawDelivery, "RawMessageDelivery", flag),
        (Change::Redrive, "RedrivePolicy", exposed(dead_letter_target_arn.as_ref()).map(redrive)),
        (Change::Role, "SubscriptionRoleArn", exposed(subscription_role_arn.as_ref())),
    ];
    all.into_iter().filter_map(|(change, name, value)| Some((change, name, value?))).collect()
}
