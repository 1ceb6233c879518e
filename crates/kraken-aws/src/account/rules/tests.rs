use kraken_kind::{
    Resolver,
    options::{Opt, PublicMap, Values},
};
use serde_json::{Value, json};

use super::*;

fn rules(spec: Value) -> AccountRules {
    AccountRules::of("shop", &serde_json::from_value(spec).unwrap()).unwrap()
}

fn values() -> Values {
    let ids = [(String::new(), json!("vpc-own")), ("tag".to_owned(), json!("vpc-own"))];
    Values {
        resources: [("vpc".to_owned(), [("main".to_owned(), ids.into())].into())].into(),
        ..Values::default()
    }
}

/// The problems of a spec with this value in this field.
#[allow(clippy::needless_pass_by_value)] // JSON reads better where it is passed
fn refused(allow: Value, field: &str, written: Value) -> Vec<String> {
    let (rules, values) = (rules(json!({"allow": allow})), values());
    let mut resolver = Resolver::governed(&values, rules.governed());
    let option: Opt<String> = serde_json::from_value(written).unwrap();
    resolver.take(field, &option);
    let taken = resolver.finish().taken;
    rules.refused(&taken, None).iter().map(ToString::to_string).collect()
}

#[test]
fn an_id_that_a_user_writes_must_be_allowed() {
    let allow = json!({"vpcs": ["vpc-a*"], "instanceProfiles": []});
    let literal = |text: &str| json!({"value": text});
    assert!(refused(allow.clone(), "vpcID", literal("vpc-abc")).is_empty());
    assert_eq!(
        refused(allow.clone(), "vpcID", literal("vpc-b")),
        ["spec.vpcID: vpc-b is not allowed by spec.allow.vpcs of Account shop: [vpc-a*]"]
    );
    let peer = refused(allow.clone(), "peerVPCID", literal("vpc-b"));
    assert_eq!(peer, ["spec.peerVPCID: vpc-b is not allowed by spec.allow.vpcs of Account shop: [vpc-a*]"]);
    assert_eq!(refused(allow.clone(), "iamInstanceProfile", literal("admin")).len(), 1);
    assert!(refused(allow, "subnetID", literal("subnet-1")).is_empty(), "not restricted");
}

#[test]
fn without_values_only_literals_are_compared() {
    let (rules, values) = (rules(json!({"allow": {"vpcs": ["vpc-a"]}})), Values::default());
    let refused = |written: Value| {
        let mut resolver = Resolver::governed(&values, rules.governed());
        resolver.take("vpcID", &serde_json::from_value::<Opt<String>>(written).unwrap());
        rules.refused(&resolver.finish().taken, None).len()
    };
    assert_eq!(refused(json!({"value": "vpc-b"})), 1);
    assert_eq!(refused(json!({"value": "vpc-a"})), 0);
    assert_eq!(refused(json!({"valueFrom": {"configMap": {"name": "a", "key": "b"}}})), 0);
    assert_eq!(refused(json!({"valueFrom": {"ref": "VPC/main"}})), 0);
}

#[test]
fn the_vpc_of_the_namespace_is_allowed_by_its_id_only() {
    let by = |path: &str| json!({"valueFrom": {"ref": format!("VPC/main{path}")}});
    assert!(refused(json!({"vpcs": []}), "vpcID", by("")).is_empty());
    assert_eq!(refused(json!({"vpcs": []}), "vpcID", by("/tag")).len(), 1);
    assert_eq!(refused(json!({"instanceProfiles": []}), "iamInstanceProfile", by("")).len(), 1);
}

#[test]
fn a_field_whose_value_aws_would_choose_is_required_by_the_rules_about_it() {
    let refused = |allow: Value, field: &str| {
        let (rules, values) = (rules(json!({"allow": allow})), values());
        let mut resolver = Resolver::governed(&values, rules.governed());
        resolver.unset(field);
        let problems = rules.refused(&resolver.finish().taken, None);
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let required = |rule: &str| [format!("spec.subnetID: is required by spec.allow.{rule} of Account shop")];
    assert_eq!(refused(json!({"subnets": []}), "subnetID"), required("subnets"));
    assert_eq!(refused(json!({"subnets": ["subnet-a*"]}), "subnetID"), required("subnets"));
    // A subnet that AWS chooses is in the default VPC.
    assert_eq!(refused(json!({"vpcs": ["vpc-a"]}), "subnetID"), required("vpcs"));
    assert_eq!(refused(json!({"vpcs": ["vpc-a"], "subnets": ["*"]}), "subnetID"), required("vpcs"));
    for allow in [json!({"vpcs": ["*"], "subnets": ["*"]}), json!({"instanceProfiles": []}), json!({})] {
        assert!(refused(allow, "subnetID").is_empty());
    }
    assert_eq!(refused(json!({"vpcs": []}), "vpcID").len(), 1);
}

#[test]
fn an_object_that_decides_a_restricted_field_is_one_of_the_namespace() {
    let refused = |allow: Value, field: &str, option: Value| {
        let (rules, mut values) = (rules(json!({"allow": allow})), values());
        for kind in ["dbsubnetgroup", "launchtemplate", "keypair"] {
            let ids = [(String::new(), json!("main-id"))];
            values.resources.insert(kind.into(), [("a".to_owned(), ids.into())].into());
        }
        let mut resolver = Resolver::governed(&values, rules.governed());
        let option: Opt<String> = serde_json::from_value(option).unwrap();
        resolver.take(field, &option).unwrap();
        let problems = rules.refused(&resolver.finish().taken, None);
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let cases = [
        ("dbSubnetGroupName", "DBSubnetGroup", "subnets"),
        ("launchTemplateID", "LaunchTemplate", "instanceProfiles"),
    ];
    for (field, kind, rule) in cases {
        let named = json!({"value": "of-the-platform"});
        let why = refused(json!({rule: ["a-*"]}), field, named.clone());
        let wanted = format!(
            "spec.{field}: must refer to a {kind} of this namespace, such as {{valueFrom: {{ref: {kind}/NAME}}}}: spec.allow.{rule} of Account shop cannot be applied to another one"
        );
        assert_eq!(why, [wanted]);
        let reference = |kind: &str| json!({"valueFrom": {"ref": format!("{kind}/a")}});
        assert!(refused(json!({rule: []}), field, reference(kind)).is_empty());
        assert_eq!(refused(json!({rule: []}), field, reference("KeyPair")).len(), 1);
        for allow in [json!({rule: ["*"]}), json!({}), json!({"adopt": {}})] {
            assert!(refused(allow, field, named.clone()).is_empty());
        }
    }
    assert_eq!(refused(json!({"vpcs": []}), "dbSubnetGroupName", json!({"value": "default"})).len(), 1);
    // Without one, AWS uses a group of the default VPC.
    let (rules, values) = (rules(json!({"allow": {"vpcs": ["vpc-a"]}})), values());
    let mut resolver = Resolver::governed(&values, rules.governed());
    resolver.unset("dbSubnetGroupName");
    let problems = rules.refused(&resolver.finish().taken, None);
    assert_eq!(
        problems[0].to_string(),
        "spec.dbSubnetGroupName: is required by spec.allow.vpcs of Account shop"
    );
}

#[test]
fn adoption_is_limited_by_id_and_by_tags() {
    let refused = |allow: Value, adopt: Value| {
        let adopt: Adopt = serde_json::from_value(adopt).unwrap();
        rules(json!({"allow": allow})).refused(&[], Some(&adopt)).len()
    };
    let by_tags = json!({"tags": {"Team": "shop", "Name": "main"}});
    assert_eq!(refused(json!({}), json!({"id": "vpc-1"})), 0);
    assert_eq!(refused(json!({"adopt": {}}), json!({"id": "vpc-1"})), 1);
    assert_eq!(refused(json!({"adopt": {}}), by_tags.clone()), 1);
    assert_eq!(refused(json!({"adopt": {"ids": ["vpc-*"]}}), json!({"id": "vpc-1"})), 0);
    assert_eq!(refused(json!({"adopt": {"ids": ["vpc-*"]}}), by_tags.clone()), 1);
    assert_eq!(refused(json!({"adopt": {"tags": {"Team": "sh*"}}}), by_tags), 0);
    assert_eq!(refused(json!({"adopt": {"tags": {"Team": "shop"}}}), json!({"tags": {"Name": "x"}})), 1);
    assert_eq!(refused(json!({"adopt": {"tags": {"Team": "shop"}}}), json!({"id": "vpc-1"})), 1);
}

#[test]
fn credentials_of_another_account_are_rejected() {
    let here = Location { account: "222222222222".into(), region: "eu-west-1".into() };
    assert_eq!(rules(json!({})).location_violation(&here), None);
    assert_eq!(rules(json!({"allowedAccountIDs": ["222222222222"]})).location_violation(&here), None);
    let why = rules(json!({"allowedAccountIDs": ["111111111111"]})).location_violation(&here).unwrap();
    assert!(why.contains("222222222222") && why.contains("[111111111111]"), "{why}");
}

#[test]
fn default_tags_go_with_the_tags_of_a_spec_and_change_the_digest() {
    let (one, values) = (rules(json!({"defaultTags": {"Team": "shop", "Env": "prod"}})), Values::default());
    let own: PublicMap<String> = serde_json::from_value(json!({"Env": "test"})).unwrap();
    let mut resolver = Resolver::governed(&values, one.governed());
    let taken = tags::take(&own, &mut resolver).unwrap();
    assert_eq!(json!(taken), json!({"Env": "test", "Team": "shop"}));
    assert_eq!(rules(json!({})).digest(), "");
    assert_ne!(one.digest(), rules(json!({"defaultTags": {"Team": "shop"}})).digest());
    assert_eq!(
        one.digest(),
        rules(json!({"defaultTags": {"Team": "shop", "Env": "prod"}, "allow": {}})).digest()
    );
}

#[test]
fn default_tags_that_aws_would_reject_make_an_account_unusable() {
    let spec = json!({"defaultTags": {"aws:x": "y"}});
    let why = AccountRules::of("shop", &serde_json::from_value(spec).unwrap()).unwrap_err();
    assert!(why.starts_with("spec.defaultTags[\"aws:x\"]") && why.contains("reserved"), "{why}");
}
