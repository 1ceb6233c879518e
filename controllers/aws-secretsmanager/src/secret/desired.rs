//! The fields of a secret: validated, compared and imported, and what its deletion does. Pure.

use std::borrow::Cow;

use kraken_aws::{
    import::literal,
    policy::{self, Document},
    prelude::*,
    resolved::Joined,
};
use serde_json::Value;

use super::{
    api::{Change, Desired, PartialDesired, SecretSpec},
    observed::Secret,
};

/// AWS's own key, which it does not return.
const OWN_KEY: &str = "alias/aws/secretsmanager";
/// The days that AWS chooses.
const RECOVERY_WINDOW_DAYS: i32 = 30;

impl SecretSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let value = partial.secret_string.as_ref().and_then(Option::as_ref);
        if value.is_some_and(|value| !value.is_secret()) {
            let why = "must come from a Secret: use valueFrom with secret or templateString";
            validator.problem("secretString", why);
        }
        if value.is_some_and(|value| value.expose().is_empty()) {
            validator.problem("secretString", "must have at least 1 byte");
        }
        if !matches!(self.recovery_window_days(), 0 | 7..=30) {
            validator.problem("recoveryWindowDays", "must be 7 to 30, or 0 for a deletion at once");
        }
    }

    pub(super) fn recovery_window_days(&self) -> i32 {
        self.recovery_window_days.unwrap_or(RECOVERY_WINDOW_DAYS)
    }

    /// What is deleted with the secret.
    pub(super) fn contains(&self) -> Cow<'static, str> {
        match self.recovery_window_days() {
            0 => "its value, at once and for ever,".into(),
            days => format!("its value, which can be restored for {days} days,").into(),
        }
    }

    pub(super) fn policy(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Option<Joined<Document>>> {
        let Some(policy) = &self.policy else { return Some(None) };
        policy::resolved_resource("policy", policy, validator).map(Some)
    }

    pub(super) fn compare_policy(desired: &Desired, secret: &Secret) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.policy.as_ref()?, secret.policy.as_ref()?);
        if have.is_empty() && wanted.expose().is_empty() {
            return None;
        }
        policy::compared("policy", wanted, have, Change::Policy)
    }

    pub(super) fn import_policy(secret: &Secret) -> Option<Value> {
        policy::imported_resource(secret.policy.as_ref().filter(|policy| !policy.is_empty())?)
    }

    /// AWS returns the key as it was given, or its ARN, or that of its alias.
    pub(super) fn compare_key(desired: &Desired, secret: &Secret) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.kms_key_id.as_ref(), secret.kms_key_id.as_ref());
        let text = wanted?.expose();
        let is_same =
            have.map_or_else(|| text.ends_with(OWN_KEY), |have| is_end(have, text) || is_end(text, have));
        if is_same { None } else { changed("kmsKeyID", wanted, have, Change::Key) }
    }

    pub(super) fn import_key(secret: &Secret) -> Option<Value> {
        secret.kms_key_id.as_ref().map(literal)
    }
}

/// Whether they are equal, or `end` is the last part of an ARN: a key id, or an alias.
fn is_end(arn: &str, end: &str) -> bool {
    arn.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with([':', '/']))
}
