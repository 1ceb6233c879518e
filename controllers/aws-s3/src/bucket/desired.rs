//! The fields of a bucket: resolved, compared and imported. Settings are compared only after deep observations. Pure.

use kraken_aws::{
    AwsGroup as _,
    fields::{ABSENT, NOT_SHOWN, SECRET, item_path},
    import::literal,
    policy::{self, Document},
    prelude::*,
    resolved::Joined,
};
use serde_json::Value;

use super::{
    api::{
        Algorithm, BucketSpec, Change, Desired, DesiredLifecycleRule, Encryption, LifecycleRule,
        PartialDesired, PartialEncryption, PartialLifecycleRule,
    },
    lifecycle::Rule,
    observed::Bucket,
};

impl BucketSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let rules = partial.lifecycle_rules.iter().flatten().flatten();
        let ids: Vec<&String> = rules.map(|rule| rule.id.expose()).collect();
        for index in repeated(&ids) {
            let path = format!("lifecycleRules[{index}].id");
            validator.problem(&path, "is the id of another rule of the bucket");
        }
    }

    pub(super) fn policy(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Option<Joined<Document>>> {
        let Some(policy) = &self.policy else { return Some(None) };
        policy::resolved_resource("policy", policy, validator).map(Some)
    }

    pub(super) fn compare_public_access(desired: &Desired, bucket: &Bucket) -> Option<Difference<Change>> {
        let have = bucket.settings.as_ref()?.blocks_public_access.as_ref();
        changed("blockPublicAccess", desired.block_public_access.as_ref(), have, Change::PublicAccess)
    }

    pub(super) fn import_public_access(bucket: &Bucket) -> Option<Value> {
        bucket.settings.as_ref()?.blocks_public_access.map(literal)
    }

    pub(super) fn compare_encryption(desired: &Desired, bucket: &Bucket) -> Vec<Difference<Change>> {
        let Some((wanted, _)) = desired.encryption.as_ref().zip(bucket.settings.as_ref()) else {
            return vec![];
        };
        wanted.differences("encryption", bucket, || Change::Encryption)
    }

    /// By id: one call sets all rules.
    pub(super) fn compare_rules(desired: &Desired, bucket: &Bucket) -> Vec<Difference<Change>> {
        let Some((wanted, have)) = desired.lifecycle_rules.as_ref().zip(bucket.settings.as_ref()) else {
            return vec![];
        };
        let is_secret = wanted.iter().any(LifecycleRule::is_secret);
        let wanted: Vec<Rule> = wanted.iter().map(Rule::from).collect();
        let find = |rules: &[Rule], id: &str| rules.iter().find(|rule| rule.id == id).cloned();
        let text = |rule: Option<Rule>| rule.map_or_else(|| ABSENT.to_owned(), |rule| rule.to_string());
        let mut ids: Vec<&str> = wanted.iter().chain(&have.rules).map(|rule| rule.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut found = vec![];
        for id in ids {
            let (want, have) = (find(&wanted, id), find(&have.rules, id));
            if want == have {
                continue;
            }
            if is_secret {
                return vec![difference("lifecycleRules", SECRET, NOT_SHOWN, Change::Lifecycle)];
            }
            found.push(difference(
                &item_path("lifecycleRules", id),
                text(want),
                text(have),
                Change::Lifecycle,
            ));
        }
        found
    }

    pub(super) fn import_rules(bucket: &Bucket) -> Option<Value> {
        let rules = &bucket.settings.as_ref()?.rules;
        let all: Option<Vec<Value>> = rules.iter().map(Rule::imported).collect();
        all.filter(|all| !all.is_empty()).map(Value::from)
    }

    /// No policy is one without statements.
    pub(super) fn compare_policy(desired: &Desired, bucket: &Bucket) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.policy.as_ref()?, &bucket.settings.as_ref()?.policy);
        if have.is_empty() && wanted.expose().is_empty() {
            return None;
        }
        policy::compared("policy", wanted, have, Change::Policy)
    }

    pub(super) fn import_policy(bucket: &Bucket) -> Option<Value> {
        policy::imported_resource(&bucket.settings.as_ref()?.policy)
    }
}

impl Encryption {
    pub(super) fn between_fields(
        &self,
        field: &str,
        partial: &PartialEncryption,
        validator: &mut SpecValidator<'_, '_>,
    ) {
        let algorithm = partial.algorithm.as_ref().and_then(Option::as_ref);
        if self.kms_key_id.is_some() && algorithm.is_some_and(|one| *one.expose() == Algorithm::Aes256) {
            validator.problem(&format!("{field}.kmsKeyID"), "cannot be combined with the algorithm AES256");
        }
    }
}

impl LifecycleRule {
    pub(super) fn between_fields(
        &self,
        field: &str,
        partial: &PartialLifecycleRule,
        validator: &mut SpecValidator<'_, '_>,
    ) {
        let has_any = self.expiration_days.is_some()
            || self.noncurrent_version_expiration_days.is_some()
            || self.abort_incomplete_multipart_upload_days.is_some()
            || self.transitions.as_ref().is_some_and(|all| !all.is_empty());
        if !has_any {
            let why = "does nothing: set expirationDays, noncurrentVersionExpirationDays, abortIncompleteMultipartUploadDays or \
                       transitions";
            validator.problem(field, why);
        }
        let classes: Vec<&String> =
            partial.transitions.iter().flatten().flatten().map(|one| one.storage_class.expose()).collect();
        for index in repeated(&classes) {
            let path = format!("{field}.transitions[{index}].storageClass");
            validator.problem(&path, "is the storage class of another transition of the rule");
        }
    }
}

impl From<&DesiredLifecycleRule> for Rule {
    fn from(rule: &DesiredLifecycleRule) -> Self {
        let DesiredLifecycleRule {
            id,
            prefix,
            enabled,
            expiration_days,
            noncurrent_version_expiration_days,
            abort_incomplete_multipart_upload_days,
            transitions,
        } = rule;
        let transitions = transitions.iter().flatten();
        Self {
            id: id.expose().clone(),
            prefix: exposed(prefix.as_ref()).unwrap_or_default(),
            is_off: exposed(enabled.as_ref()) == Some(false),
            expiration: exposed(expiration_days.as_ref()),
            noncurrent: exposed(noncurrent_version_expiration_days.as_ref()),
            abort: exposed(abort_incomplete_multipart_upload_days.as_ref()),
            transitions: transitions
                .map(|one| (one.storage_class.expose().clone(), *one.days.expose()))
                .collect(),
            has_others: false,
        }
    }
}

/// The indices of values that stand before in the list.
fn repeated<T: PartialEq>(values: &[T]) -> impl Iterator<Item = usize> {
    (0..values.len()).filter(|index| values[..*index].contains(&values[*index]))
}
