//! The fields of a key: validated, compared and imported, and what its deletion does. Pure.

use std::borrow::Cow;

use kraken_aws::{
    import::literal,
    policy::{self, Document},
    prelude::*,
    resolved::Joined,
};
use serde_json::Value;

use super::{
    api::{Change, Desired, KeySpec, PartialDesired},
    observed::{Key, SYMMETRIC},
};

/// The days that AWS chooses.
const DELETION_WINDOW_DAYS: i32 = 30;
const ROTATION_PERIOD_DAYS: i32 = 365;
/// The beginning of the id of the policies that AWS gives to new keys.
const DEFAULT_POLICY: &str = "key-default-";

impl KeySpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let is_asymmetric = given(&partial.key_spec).is_some_and(|spec| spec != SYMMETRIC);
        if is_asymmetric && self.key_usage.is_none() && self.lifecycle.adopt.is_none() {
            validator.problem("keyUsage", "is required with this keySpec");
        }
        if is_asymmetric && given(&partial.enable_key_rotation) == Some(&true) {
            validator.problem("enableKeyRotation", "requires the keySpec SYMMETRIC_DEFAULT");
        }
        let is_rotated =
            self.enable_key_rotation.is_some() && given(&partial.enable_key_rotation) != Some(&false);
        if self.rotation_period_days.is_some() && !is_rotated {
            validator.problem("rotationPeriodDays", "requires enableKeyRotation: {value: true}");
        }
        if partial.policy.as_ref().and_then(Option::as_ref).is_some_and(|policy| policy.expose().is_empty()) {
            validator.problem("policy", "must have at least 1 statement: a key always has a policy");
        }
        if !(7..=30).contains(&self.deletion_window_days()) {
            validator.problem("deletionWindowDays", "must be 7 to 30");
        }
    }

    pub(super) fn deletion_window_days(&self) -> i32 {
        self.deletion_window_days.unwrap_or(DELETION_WINDOW_DAYS)
    }

    /// What is lost with the key.
    pub(super) fn contains(&self) -> Cow<'static, str> {
        let days = self.deletion_window_days();
        format!("everything that it encrypts, unless the deletion is cancelled within {days} days,").into()
    }

    pub(super) fn policy(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Option<Joined<Document>>> {
        let Some(policy) = &self.policy else { return Some(None) };
        policy::resolved_resource("policy", policy, validator).map(Some)
    }

    pub(super) fn compare_policy(desired: &Desired, key: &Key) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.policy.as_ref()?, &key.settings.as_ref()?.policy);
        policy::compared("policy", wanted, have, Change::Policy)
    }

    pub(super) fn import_policy(key: &Key) -> Option<Value> {
        let policy = &key.settings.as_ref()?.policy;
        if policy.contains(DEFAULT_POLICY) { None } else { policy::imported_resource(policy) }
    }

    /// AWS cannot change the rotation of a key that is disabled.
    pub(super) fn compare_rotation(desired: &Desired, key: &Key) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.enable_key_rotation.as_ref(), &key.settings.as_ref()?.is_rotated);
        if key.enabled { changed("enableKeyRotation", wanted, Some(have), Change::Rotation) } else { None }
    }

    pub(super) fn import_rotation(key: &Key) -> Option<Value> {
        key.settings.as_ref()?.is_rotated.then(|| literal(true))
    }

    pub(super) fn compare_period(desired: &Desired, key: &Key) -> Option<Difference<Change>> {
        let settings = key.settings.as_ref()?;
        let (wanted, have) = (desired.rotation_period_days.as_ref(), settings.rotation_period_days.as_ref());
        if key.enabled { changed("rotationPeriodDays", wanted, have, Change::Rotation) } else { None }
    }

    pub(super) fn import_period(key: &Key) -> Option<Value> {
        let days = key.settings.as_ref()?.rotation_period_days?;
        (days != ROTATION_PERIOD_DAYS).then(|| literal(days))
    }

    /// AWS chooses the use of a symmetric key only.
    pub(super) fn import_usage(key: &Key) -> Option<Value> {
        (key.key_spec != SYMMETRIC).then(|| literal(&key.key_usage))
    }
}
