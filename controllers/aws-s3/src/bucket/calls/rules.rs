//! Lifecycle rules from and to the types of the SDK. Pure.

use super::super::lifecycle::Rule;
use crate::s3::types::{
    AbortIncompleteMultipartUpload, ExpirationStatus, LifecycleExpiration, LifecycleRule,
    LifecycleRuleFilter, NoncurrentVersionExpiration, Transition,
};

impl From<LifecycleRule> for Rule {
    #[allow(deprecated)] // AWS returns the prefix of old rules there
    fn from(rule: LifecycleRule) -> Self {
        let (filter, expiration) = (rule.filter.as_ref(), rule.expiration.as_ref());
        let noncurrent = rule.noncurrent_version_expiration.as_ref();
        let all = rule.transitions.clone().unwrap_or_default();
        let transition =
            |one: &Transition| Some((one.storage_class.as_ref()?.as_str().to_owned(), one.days?));
        let has_other_filter = filter.is_some_and(|one| {
            one.tag.is_some()
                || one.and.is_some()
                || one.object_size_greater_than.is_some()
                || one.object_size_less_than.is_some()
        });
        let has_other_expiration = expiration
            .is_some_and(|one| one.date.is_some() || one.expired_object_delete_marker == Some(true));
        Self {
            prefix: filter.and_then(|filter| filter.prefix.clone()).or(rule.prefix).unwrap_or_default(),
            is_off: rule.status == ExpirationStatus::Disabled,
            expiration: expiration.and_then(|one| one.days),
            noncurrent: noncurrent.and_then(|one| one.noncurrent_days),
            abort: rule.abort_incomplete_multipart_upload.as_ref().and_then(|one| one.days_after_initiation),
            has_others: has_other_filter
                || has_other_expiration
                || rule.noncurrent_version_transitions.as_ref().is_some_and(|all| !all.is_empty())
                || noncurrent.is_some_and(|one| one.newer_noncurrent_versions.is_some())
                || all.iter().any(|one| transition(one).is_none()),
            transitions: all.iter().filter_map(transition).collect(),
            id: rule.id.unwrap_or_default(),
        }
    }
}

/// For a call.
pub(in super::super) fn to_sdk(rule: &Rule) -> Option<LifecycleRule> {
    let status = if rule.is_off { ExpirationStatus::Disabled } else { ExpirationStatus::Enabled };
    let transition = |(class, days): (&String, &i32)| {
        Transition::builder().days(*days).storage_class(class.as_str().into()).build()
    };
    let transitions: Vec<Transition> = rule.transitions.iter().map(transition).collect();
    let expiration = |days| LifecycleExpiration::builder().days(days).build();
    let noncurrent = |days| NoncurrentVersionExpiration::builder().noncurrent_days(days).build();
    let abort = |days| AbortIncompleteMultipartUpload::builder().days_after_initiation(days).build();
    let built = LifecycleRule::builder()
        .id(&rule.id)
        .status(status)
        .filter(LifecycleRuleFilter::builder().prefix(&rule.prefix).build())
        .set_expiration(rule.expiration.map(expiration))
        .set_noncurrent_version_expiration(rule.noncurrent.map(noncurrent))
        .set_abort_incomplete_multipart_upload(rule.abort.map(abort))
        .set_transitions(Some(transitions).filter(|all| !all.is_empty()));
    built.build().ok()
}
