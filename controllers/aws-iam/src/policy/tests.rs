use kraken_aws::{
    AwsSpec as _,
    testing::{self, with},
};
use serde_json::{Value, json};

use super::{Policies, api::PolicySpec, observed::Policy};
use crate::iam::types::{ManagedPolicyDetail, PolicyVersion};

fn written(changes: Value) -> Value {
    let statement = json!({
        "effect": {"value": "Allow"}, "actions": {"value": ["s3:GetObject"]}, "resources": {"value": ["*"]},
    });
    with(json!({"document": {"statements": [statement]}}), changes)
}

fn policy() -> Policy {
    let statement = r#"{"Effect":"Allow","Action":"s3:GetObject","Resource":"*"}"#;
    Policy {
        policy_name: "web".into(),
        path: "/".into(),
        document: format!(r#"{{"Version":"2012-10-17","Statement":[{statement}]}}"#),
        ..Policy::default()
    }
}

fn compared(changes: Value) -> Vec<String> {
    testing::compared::<Policies>(written(changes), &policy())
}

#[test]
fn only_the_document_changes_in_place() {
    assert_eq!(compared(json!({})), [""; 0]);
    let text =
        r#"{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#;
    let changes = json!({
        "name": {"value": "shop"}, "path": {"value": "/a/"}, "description": {"value": "d"},
        "document": {"json": {"value": text}},
    });
    assert_eq!(
        compared(changes),
        [
            "name: web becomes shop: fixed",
            "path: / becomes /a/: fixed",
            "description:  becomes d: fixed",
            r#"document: [{"Action":"s3:GetObject","Effect":"Allow","Resource":"*"}] becomes [{"Action":"*","Effect":"Allow","Resource":"*"}]: Version"#,
        ]
    );
}

#[test]
fn a_document_that_is_not_valid_differs() {
    let broken = Policy { document: String::new(), ..policy() };
    let found = testing::compared::<Policies>(written(json!({})), &broken);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("document: no valid document becomes {"), "{found:?}");
}

#[test]
fn all_problems_are_reported_at_once() {
    let statement = json!({
        "effect": {"value": "Allow"}, "actions": {"value": ["GetObject"]}, "resources": {"value": ["web"]},
    });
    assert_eq!(
        testing::problems::<Policies>(
            json!({"name": {"value": "a b"}, "path": {"value": "a"}, "document": {"statements": [statement]}})
        ),
        [
            "spec.name: must have 1 to 128 letters, digits and +=,.@_-",
            "spec.path: must begin and end with /, such as /teams/web/, with up to 512 characters and no spaces",
            "spec.document.statements[0].actions.value[0]: must be SERVICE:ACTION, such as s3:GetObject, or *",
            "spec.document.statements[0].resources.value[0]: must be an ARN, in which * and ? are wildcards, or *",
        ]
    );
}

#[test]
fn the_document_of_a_list_is_that_of_the_default_version() {
    let version = |id: &str, document: &str, is_default| {
        PolicyVersion::builder().version_id(id).document(document).is_default_version(is_default).build()
    };
    let detail = ManagedPolicyDetail::builder()
        .arn("arn:1")
        .policy_version_list(version("v2", "%7B%22a%22%3A1%7D", false))
        .policy_version_list(version("v1", "%7B%22b%22%3A1%7D", true))
        .build();
    assert_eq!(Policy::from(detail).document, r#"{"b":1}"#);
}

#[test]
fn an_import_is_the_inverse() {
    let found = PolicySpec::imported(&policy());
    assert_eq!(found.group(), Some(written(json!({"name": {"value": "web"}}))));
}
