//! The fields of a topic: validated, compared, imported and sent. Pure.

use kraken_aws::{
    policy::{self, Document},
    prelude::*,
    resolved::Joined,
};
use serde_json::Value;

use super::{
    api::{Change, Desired, PartialDesired, TopicSpec},
    observed::{FIFO, Topic},
};

/// The id of the policy that AWS gives to each new topic.
const DEFAULT_POLICY: &str = "__default_policy_ID";

impl TopicSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        // None while the value of a reference is unknown.
        let is_fifo = match &self.fifo_topic {
            Some(_) => given(&partial.fifo_topic).copied(),
            None => Some(false),
        };
        if given(&partial.name).zip(is_fifo).is_some_and(|(name, is_fifo)| name.ends_with(FIFO) != is_fifo) {
            validator.problem("name", "must end with .fifo if, and only if, fifoTopic is true");
        }
        if self.content_based_deduplication.is_some() && is_fifo == Some(false) {
            validator.problem("contentBasedDeduplication", "requires fifoTopic");
        }
        if partial.policy.as_ref().and_then(Option::as_ref).is_some_and(|policy| policy.expose().is_empty()) {
            validator.problem("policy", "must have at least 1 statement: a topic always has a policy");
        }
    }

    pub(super) fn policy(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Option<Joined<Document>>> {
        let Some(policy) = &self.policy else { return Some(None) };
        policy::resolved_resource("policy", policy, validator).map(Some)
    }

    pub(super) fn compare_policy(desired: &Desired, topic: &Topic) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.policy.as_ref()?, &topic.attributes.as_ref()?.policy);
        policy::compared("policy", wanted, have, Change::Policy)
    }

    pub(super) fn import_policy(topic: &Topic) -> Option<Value> {
        let policy = &topic.attributes.as_ref()?.policy;
        if policy.contains(DEFAULT_POLICY) { None } else { policy::imported_resource(policy) }
    }
}

/// The attributes that the spec sets, each with the change that sets it, as AWS names and writes them.
pub(super) fn attributes(desired: &Desired) -> Vec<(Change, &'static str, String)> {
    let Desired {
        name: _,
        fifo_topic: _, // only at creation
        content_based_deduplication,
        display_name,
        kms_key_id,
        signature_version,
        tracing_config,
        policy,
    } = desired;
    let flag = exposed(content_based_deduplication.as_ref()).map(|value| value.to_string());
    let all = [
        (Change::Deduplication, "ContentBasedDeduplication", flag),
        (Change::DisplayName, "DisplayName", exposed(display_name.as_ref())),
        (Change::Key, "KmsMasterKeyId", exposed(kms_key_id.as_ref())),
        (Change::Signature, "SignatureVersion", exposed(signature_version.as_ref())),
        (Change::Tracing, "TracingConfig", exposed(tracing_config.as_ref())),
        (Change::Policy, "Policy", policy.as_ref().map(|policy| policy.expose().text())),
    ];
    all.into_iter().filter_map(|(change, name, value)| Some((change, name, value?))).collect()
}
