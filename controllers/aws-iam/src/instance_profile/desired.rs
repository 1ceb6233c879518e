//! The role of an instance profile: compared and imported. Pure.

use kraken_aws::{
    fields::{ABSENT, NOT_SHOWN, listed, shown},
    import::literal,
    prelude::*,
};
use serde_json::Value;

use super::{
    api::{Change, Desired, InstanceProfileSpec},
    observed::InstanceProfile,
};

impl InstanceProfileSpec {
    /// A role is identified by its name or its ARN.
    pub(super) fn compare_role(desired: &Desired, profile: &InstanceProfile) -> Option<Difference<Change>> {
        let wanted = desired.role.expose();
        let is_wanted = profile.roles.iter().any(|role| role.arn == *wanted || role.role_name == *wanted);
        if is_wanted && profile.roles.len() == 1 {
            return None;
        }
        let have: Vec<&str> = profile.roles.iter().map(|role| role.arn.as_str()).collect();
        let have = match have.as_slice() {
            [] => ABSENT.to_owned(),
            _ if desired.role.is_secret() => NOT_SHOWN.to_owned(),
            have => listed(have),
        };
        Some(difference("role", shown(&desired.role), have, Change::Role))
    }

    pub(super) fn import_role(profile: &InstanceProfile) -> Option<Value> {
        profile.roles.first().map(|role| literal(&role.arn))
    }
}
