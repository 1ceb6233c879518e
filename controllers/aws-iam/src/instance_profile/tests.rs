use kraken_aws::{
    AwsSpec as _,
    testing::{self, with},
};
use serde_json::{Value, json};

use super::{
    InstanceProfiles,
    api::InstanceProfileSpec,
    observed::{InstanceProfile, RoleIn},
};

const WEB: &str = "arn:aws:iam::123456789012:role/teams/web";

fn written(changes: Value) -> Value {
    with(json!({"role": {"value": "web"}}), changes)
}

fn profile(roles: &[&str]) -> InstanceProfile {
    let role =
        |arn: &&str| RoleIn { arn: (*arn).to_owned(), role_name: crate::named::name_of(arn).to_owned() };
    InstanceProfile {
        instance_profile_name: "web".into(),
        path: "/".into(),
        roles: roles.iter().map(role).collect(),
        ..InstanceProfile::default()
    }
}

#[test]
fn a_role_is_the_same_by_name_and_by_arn() {
    for role in ["web", WEB] {
        let spec = written(json!({"role": {"value": role}}));
        assert_eq!(testing::compared::<InstanceProfiles>(spec, &profile(&[WEB])), [""; 0]);
    }
}

#[test]
fn only_the_role_changes_in_place() {
    let changes = json!({"name": {"value": "shop"}, "path": {"value": "/a/"}, "role": {"value": "shop"}});
    assert_eq!(
        testing::compared::<InstanceProfiles>(written(changes), &profile(&[WEB])),
        [
            "name: web becomes shop: fixed".to_owned(),
            "path: / becomes /a/: fixed".to_owned(),
            format!("role: {WEB} becomes shop: Role"),
        ]
    );
    assert_eq!(
        testing::compared::<InstanceProfiles>(written(json!({})), &profile(&[])),
        ["role: (absent) becomes web: Role"]
    );
}

#[test]
fn a_role_is_a_name_or_an_arn() {
    assert_eq!(
        testing::problems::<InstanceProfiles>(json!({"role": {"value": "a/b"}})),
        ["spec.role: must be the name or ARN of a role"]
    );
}

#[test]
fn an_import_is_the_inverse() {
    let found = InstanceProfileSpec::imported(&profile(&[WEB]));
    assert_eq!(found.group(), Some(json!({"name": {"value": "web"}, "role": {"value": WEB}})));
}
