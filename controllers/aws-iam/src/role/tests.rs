use kraken_aws::{
    AwsSpec as _,
    testing::{self, rendered, with},
};
use serde_json::{Value, json};

use super::{Roles, api::RoleSpec, import::not_importable, observed::Role};

fn trust() -> Value {
    json!({"statements": [{
        "effect": {"value": "Allow"}, "principals": {"services": {"value": ["ec2.amazonaws.com"]}},
        "actions": {"value": ["sts:AssumeRole"]},
    }]})
}

fn allow(action: &str) -> Value {
    json!({"statements": [{
        "effect": {"value": "Allow"}, "actions": {"value": [action]}, "resources": {"value": ["*"]},
    }]})
}

fn written(changes: Value) -> Value {
    with(json!({"trustPolicy": trust()}), changes)
}

/// A role as IAM returns it, with an inline policy.
fn role() -> Role {
    let statement =
        |more: &str| format!(r#"{{"Version":"2012-10-17","Statement":{{"Effect":"Allow",{more}}}}}"#);
    Role {
        arn: "arn:aws:iam::123456789012:role/web".into(),
        role_name: "web".into(),
        path: "/".into(),
        max_session_duration: Some(3_600),
        trust_policy: statement(r#""Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole""#),
        inline_policies: [("s3".to_owned(), statement(r#""Action":"s3:*","Resource":"*""#))].into(),
        attached_policies: vec!["arn:aws:iam::aws:policy/A".into()],
        ..Role::default()
    }
}

fn compared(changes: Value) -> Vec<String> {
    testing::compared::<Roles>(written(changes), &role())
}

fn problems(changes: Value) -> Vec<String> {
    testing::problems::<Roles>(written(changes))
}

#[test]
fn unset_fields_are_not_managed_and_equivalent_ones_do_not_differ() {
    assert_eq!(compared(json!({})), [""; 0]);
    let same = json!({
        "name": {"value": "web"}, "path": {"value": "/"}, "description": {"value": ""},
        "managedPolicyARNs": {"value": ["arn:aws:iam::aws:policy/A"]},
        "inlinePolicies": [{"name": {"value": "s3"}, "document": allow("s3:*")}],
        "permissionsBoundary": {"value": ""}, "maxSessionDurationSeconds": {"value": 3600},
    });
    assert_eq!(compared(same), [""; 0]);
}

#[test]
fn a_name_and_a_path_are_immutable() {
    assert_eq!(
        compared(json!({"name": {"value": "shop"}, "path": {"value": "/teams/"}})),
        ["name: web becomes shop: fixed", "path: / becomes /teams/: fixed"]
    );
}

#[test]
fn everything_else_changes_in_place() {
    let mut ci = trust();
    ci["statements"][0]["principals"] = json!({"aws": {"value": ["123456789012"]}});
    let changes = json!({
        "trustPolicy": ci,
        "description": {"value": "the web servers"}, "maxSessionDurationSeconds": {"value": 7200},
        "managedPolicyARNs": {"value": ["arn:aws:iam::aws:policy/B"]},
        "permissionsBoundary": {"value": "arn:aws:iam::aws:policy/C"},
    });
    let allowed = r#""Action":["sts:AssumeRole"],"Effect":"Allow""#;
    let trust = format!(
        r#"trustPolicy: [{{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{{"Service":"ec2.amazonaws.com"}}}}] becomes [{{{allowed},"Principal":{{"AWS":["123456789012"]}}}}]: TrustPolicy"#
    );
    assert_eq!(
        compared(changes),
        [
            "description:  becomes the web servers: Settings",
            &trust,
            "managedPolicyARNs[\"arn:aws:iam::aws:policy/B\"]: (absent) becomes arn:aws:iam::aws:policy/B: Attach(\"arn:aws:iam::aws:policy/B\")",
            "managedPolicyARNs[\"arn:aws:iam::aws:policy/A\"]: arn:aws:iam::aws:policy/A becomes (absent): Detach(\"arn:aws:iam::aws:policy/A\")",
            "permissionsBoundary: (absent) becomes arn:aws:iam::aws:policy/C: Boundary",
            "maxSessionDurationSeconds: 3600 becomes 7200: Settings",
        ]
    );
}

#[test]
fn inline_policies_are_set_before_others_are_deleted() {
    let found = compared(json!({"inlinePolicies": [{"name": {"value": "sqs"}, "document": allow("sqs:*")}]}));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("inlinePolicies[\"sqs\"]: (absent) becomes {")
            && found[0].ends_with("PutInline(\"sqs\")"),
        "{found:?}"
    );
    assert_eq!(found[1], "inlinePolicies[\"s3\"]: (not shown) becomes (absent): DeleteInline(\"s3\")");
    let found =
        compared(json!({"inlinePolicies": [{"name": {"value": "s3"}, "document": allow("s3:Get*")}]}));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("PutInline(\"s3\")"), "{found:?}");
    assert_eq!(compared(json!({"inlinePolicies": []})).len(), 1);
}

#[test]
fn problems_are_reported_with_their_place() {
    let statement = |changes: Value| json!({"statements": [with(trust()["statements"][0].clone(), changes)]});
    let inline = |changes: Value| {
        let statement = with(allow("s3:*")["statements"][0].clone(), changes);
        json!({"inlinePolicies": [{"name": {"value": "a"}, "document": {"statements": [statement]}}]})
    };
    let text = |elements: &str| {
        let text = format!(r#"{{"Version": "2012-10-17", "Statement": {{"Effect": "Allow", {elements}}}}}"#);
        json!({"json": {"value": text}})
    };
    let both = json!({"statements": [], "json": {"value": "{}"}});
    for (changes, problem) in [
        (
            json!({"trustPolicy": statement(json!({"actions": {"value": []}}))}),
            "spec.trustPolicy.statements[0].actions: must have at least one item",
        ),
        (
            inline(json!({"notActions": {"value": ["iam:*"]}})),
            "spec.inlinePolicies[0].document.statements[0]: must have exactly one of actions, notActions",
        ),
        (
            inline(json!({"resources": null})),
            "spec.inlinePolicies[0].document.statements[0]: must have exactly one of resources, notResources",
        ),
        (
            json!({"trustPolicy": text(r#""Action": "*", "Resource": "*""#)}),
            "spec.trustPolicy.json: Statement[0] has no Principal: a trust policy names who may assume the role",
        ),
        (
            json!({"trustPolicy": text(r#""Principal": "*", "Action": "*", "Resource": "*""#)}),
            "spec.trustPolicy.json: Statement[0] has a Resource, which a trust policy does not support",
        ),
        (
            json!({"inlinePolicies": [{"name": {"value": "a"}, "document": text(r#""Principal": "*", "Action": "*""#)}]}),
            "spec.inlinePolicies[0].document.json: Statement[0] has a Principal, which only a trust policy supports",
        ),
        (
            json!({"inlinePolicies": [{"name": {"value": "a"}, "document": text(r#""Action": "*""#)}]}),
            "spec.inlinePolicies[0].document.json: Statement[0] has neither Resource nor NotResource",
        ),
        (json!({"trustPolicy": both}), "spec.trustPolicy: must have exactly one of statements, json"),
        (
            json!({"trustPolicy": {"json": {"value": "{}"}}}),
            "spec.trustPolicy.json: has no element Statement",
        ),
        (
            json!({"inlinePolicies": [
                {"name": {"value": "a"}, "document": allow("s3:*")}, {"name": {"value": "a"}, "document": allow("s3:*")},
            ]}),
            "spec.inlinePolicies[1].name: is the name of another inline policy of the role",
        ),
    ] {
        assert_eq!(problems(changes), [problem]);
    }
}

#[test]
fn two_conditions_with_the_same_key_are_rejected() {
    let condition = |key: &str| json!({"operator": {"value": "StringEquals"}, "key": {"value": key}, "values": {"value": ["a"]}});
    let mut trust = trust();
    trust["statements"][0]["conditions"] =
        json!([condition("aws:SourceAccount"), condition("AWS:sourceaccount")]);
    assert_eq!(
        problems(json!({"trustPolicy": trust})),
        [
            "spec.trustPolicy.statements[0].conditions[1]: has the same operator and key as conditions[0]: merge their values"
        ]
    );
}

#[test]
fn a_value_in_a_document_comes_by_reference() {
    let mut trust = trust();
    let role = json!({"valueFrom": {"krakenResource": {"kind": "role", "name": "ci"}}});
    trust["statements"][0]["principals"] = json!({"aws": {"value": [role]}});
    assert_eq!(
        problems(json!({"trustPolicy": trust})),
        ["spec.trustPolicy.statements[0].principals.aws.value[0]: waiting for the id of role ci"]
    );
}

#[test]
fn a_secret_in_a_document_is_absent_from_differences() {
    let mut inline = allow("s3:*");
    let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
    inline["statements"][0]["conditions"] =
        json!([{"operator": {"value": "StringEquals"}, "key": {"value": "aws:userid"}, "values": secret}]);
    let spec = written(json!({"inlinePolicies": [{"name": {"value": "s3"}, "document": inline}]}));
    // The Secret's text is no list.
    assert_eq!(testing::problems::<Roles>(spec.clone()).len(), 1);
    let mut spec = spec;
    spec["inlinePolicies"][0]["document"]["statements"][0]["conditions"][0]["values"] =
        json!({"value": [secret]});
    let desired = testing::desired::<Roles>(spec);
    let found = RoleSpec::differences(&desired, &role());
    let text = format!("{desired:?} {found:?}");
    assert!(!text.contains(testing::HIDDEN), "{text}");
    assert_eq!(rendered(found), ["inlinePolicies[\"s3\"]: (not shown) becomes ***: PutInline(\"s3\")"]);
}

#[test]
fn an_import_is_the_inverse_and_roles_of_aws_are_left_out() {
    let found = RoleSpec::imported(&role());
    let expected = json!({
        "name": {"value": "web"}, "trustPolicy": trust(),
        "managedPolicyARNs": {"value": ["arn:aws:iam::aws:policy/A"]},
        "inlinePolicies": [{"name": {"value": "s3"}, "document": allow("s3:*")}],
    });
    assert_eq!(found.group(), Some(expected));
    assert_eq!(not_importable(&role()), None);
    let of_aws = Role { path: "/aws-service-role/ecs.amazonaws.com/".into(), ..role() };
    assert!(not_importable(&of_aws).is_some());
}
