//! The fields of a queue: validated, compared, imported and sent. Pure.

use std::collections::BTreeMap;

use kraken_aws::{
    policy::{self, Document},
    prelude::*,
    resolved::Joined,
};
use serde_json::{Value, json};

use super::{
    api::{Change, Desired, DesiredRedrivePolicy, PartialDesired, QueueSpec, RedrivePolicy},
    observed::{FIFO, Queue},
};

/// AWS has no default.
const MAX_RECEIVE_COUNT: i32 = 10;

impl QueueSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        // None while the value of a reference is unknown.
        let is_fifo = match &self.fifo_queue {
            Some(_) => given(&partial.fifo_queue).copied(),
            None => Some(false),
        };
        if given(&partial.name).zip(is_fifo).is_some_and(|(name, is_fifo)| name.ends_with(FIFO) != is_fifo) {
            validator.problem("name", "must end with .fifo if, and only if, fifoQueue is true");
        }
        if self.content_based_deduplication.is_some() && is_fifo == Some(false) {
            validator.problem("contentBasedDeduplication", "requires fifoQueue");
        }
        if self.kms_key_id.is_some() && given(&partial.sqs_managed_sse_enabled) == Some(&true) {
            validator.problem("sqsManagedSSEEnabled", "cannot be combined with kmsKeyID; remove one of them");
        }
    }

    pub(super) fn policy(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Option<Joined<Document>>> {
        let Some(policy) = &self.policy else { return Some(None) };
        policy::resolved_resource("policy", policy, validator).map(Some)
    }

    pub(super) fn compare_redrive(desired: &Desired, queue: &Queue) -> Vec<Difference<Change>> {
        let Some((wanted, _)) = desired.redrive_policy.as_ref().zip(queue.attributes.as_ref()) else {
            return vec![];
        };
        wanted.differences("redrivePolicy", queue, || Change::Attributes)
    }

    pub(super) fn import_redrive(queue: &Queue) -> Option<Value> {
        queue.dead_letter_target_arn().filter(|arn| !arn.is_empty())?;
        RedrivePolicy::imported(queue)
    }

    pub(super) fn compare_policy(desired: &Desired, queue: &Queue) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.policy.as_ref()?, &queue.attributes.as_ref()?.policy);
        if have.is_empty() && wanted.expose().is_empty() {
            return None;
        }
        policy::compared("policy", wanted, have, Change::Attributes)
    }

    pub(super) fn import_policy(queue: &Queue) -> Option<Value> {
        policy::imported_resource(&queue.attributes.as_ref()?.policy)
    }
}

/// The attributes that the spec sets, as AWS names and writes them. `queue`: the observed one, for a call that sets a part of a value.
pub(super) fn attributes(desired: &Desired, queue: Option<&Queue>) -> BTreeMap<&'static str, String> {
    let Desired {
        name: _,
        fifo_queue: _, // only at creation
        content_based_deduplication,
        visibility_timeout_seconds,
        message_retention_seconds,
        delay_seconds,
        max_message_size_bytes,
        receive_wait_time_seconds,
        redrive_policy,
        sqs_managed_sse_enabled,
        kms_key_id,
        kms_data_key_reuse_period_seconds,
        policy,
    } = desired;
    let flag = |value: &Option<Resolved<bool>>| exposed(value.as_ref()).map(|value| value.to_string());
    let number = |value: &Option<Resolved<i32>>| exposed(value.as_ref()).map(|value| value.to_string());
    let kms_key_id = exposed(kms_key_id.as_ref());
    let of_kms = kms_key_id.as_ref().map(|_| "false".to_owned());
    let written = |policy: &Joined<Document>| match policy.expose() {
        document if document.is_empty() => String::new(),
        document => document.text(),
    };
    let all = [
        ("ContentBasedDeduplication", flag(content_based_deduplication)),
        ("VisibilityTimeout", number(visibility_timeout_seconds)),
        ("MessageRetentionPeriod", number(message_retention_seconds)),
        ("DelaySeconds", number(delay_seconds)),
        ("MaximumMessageSize", number(max_message_size_bytes)),
        ("ReceiveMessageWaitTimeSeconds", number(receive_wait_time_seconds)),
        ("RedrivePolicy", redrive_policy.as_ref().map(|wanted| redrive(wanted, queue))),
        // AWS accepts one of both.
        ("SqsManagedSseEnabled", flag(sqs_managed_sse_enabled).or(of_kms)),
        ("KmsMasterKeyId", kms_key_id),
        ("KmsDataKeyReusePeriodSeconds", number(kms_data_key_reuse_period_seconds)),
        ("Policy", policy.as_ref().map(written)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The value is set as a whole: what the spec does not say stays as it is.
fn redrive(wanted: &DesiredRedrivePolicy, queue: Option<&Queue>) -> String {
    let DesiredRedrivePolicy { dead_letter_target_arn, max_receive_count } = wanted;
    let observed = || queue?.dead_letter_target_arn().cloned();
    let arn = exposed(dead_letter_target_arn.as_ref()).or_else(observed).unwrap_or_default();
    if arn.is_empty() {
        return arn;
    }
    let observed = || queue?.max_receive_count().copied();
    let count = exposed(max_receive_count.as_ref()).or_else(observed).unwrap_or(MAX_RECEIVE_COUNT);
    json!({"deadLetterTargetArn": arn, "maxReceiveCount": count}).to_string()
}
