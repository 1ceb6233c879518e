//! The resources of the tests, and what they are in moto.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::balancing::moto::{IAM, call, text, texts};

/// The main id of a resource.
pub(super) fn id_of(kind: &str, name: &str) -> Value {
    json!({"valueFrom": {"ref": format!("{kind}/{name}")}})
}

pub(super) fn trust(service: &str) -> Value {
    json!({"statements": [{
        "effect": {"value": "Allow"}, "principals": {"services": {"value": [service]}},
        "actions": {"value": ["sts:AssumeRole"]},
    }]})
}

pub(super) fn allow(action: &str) -> Value {
    json!({"statements": [{
        "effect": {"value": "Allow"}, "actions": {"value": [action]}, "resources": {"value": ["*"]},
    }]})
}

/// A role with the managed policy `web` and an inline policy.
pub(super) fn role() -> Value {
    json!({
        "description": {"value": "the web servers"},
        "trustPolicy": trust("ec2.amazonaws.com"),
        "managedPolicyARNs": {"value": [id_of("Policy", "web")]},
        "inlinePolicies": [{"name": {"value": "sqs"}, "document": allow("sqs:SendMessage")}],
        "tags": {"Team": "web"},
    })
}

pub(super) fn policy(action: &str) -> Value {
    json!({"document": allow(action)})
}

/// A name that no other test uses.
pub(super) fn unique(test_env: &TestEnv, name: &str) -> String {
    format!("{name}-{}", test_env.ns.name)
}

/// The JSON of a document in the response of a call.
fn document(answer: &str, element: &str) -> Result<Value> {
    let encoded = text(answer, element)?;
    let (mut bytes, mut rest) = (vec![], encoded.as_bytes());
    while let [first, tail @ ..] = rest {
        let digits =
            tail.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    let plain = String::from_utf8(bytes)?.replace("&quot;", "\"");
    serde_json::from_str(&plain).with_context(|| format!("no document: {answer}"))
}

/// A role in moto, of which a test asserts these parts.
#[derive(Debug, PartialEq)]
pub(super) struct InMoto {
    pub(super) trusted: Value,
    pub(super) attached: Vec<String>,
    pub(super) inline: Vec<String>,
    pub(super) team: Option<String>,
}

pub(super) async fn in_moto(test_env: &TestEnv, role: &str) -> Result<InMoto> {
    let name = [("RoleName", role)];
    let read = call(test_env, IAM, "GetRole", &name).await?;
    let document = document(&read, "AssumeRolePolicyDocument")?;
    let statements = &document["Statement"];
    let trusted = statements.get(0).unwrap_or(statements)["Principal"].clone();
    let attached = texts(&call(test_env, IAM, "ListAttachedRolePolicies", &name).await?, "PolicyArn");
    let inline = texts(&call(test_env, IAM, "ListRolePolicies", &name).await?, "member");
    let keys = texts(&read, "Key").into_iter().zip(texts(&read, "Value"));
    let team = keys.into_iter().find(|(key, _)| key == "Team").map(|(_, value)| value);
    Ok(InMoto { trusted, attached, inline, team })
}

/// The action of the default version of a policy in moto, and the number of its versions.
pub(super) async fn version_in_moto(test_env: &TestEnv, arn: &str) -> Result<(Value, usize)> {
    let policy = [("PolicyArn", arn)];
    let id = text(&call(test_env, IAM, "GetPolicy", &policy).await?, "DefaultVersionId")?;
    let version = [("PolicyArn", arn), ("VersionId", id.as_str())];
    let read = call(test_env, IAM, "GetPolicyVersion", &version).await?;
    let all = texts(&call(test_env, IAM, "ListPolicyVersions", &policy).await?, "VersionId");
    Ok((document(&read, "Document")?["Statement"][0]["Action"][0].clone(), all.len()))
}

/// Those of these ARNs that exist in moto.
pub(super) async fn left(test_env: &TestEnv, arns: &[&str]) -> Result<Vec<String>> {
    // A profile is listed with its role.
    let mut all = BTreeSet::new();
    for action in ["ListRoles", "ListInstanceProfiles", "ListPolicies"] {
        all.extend(texts(&call(test_env, IAM, action, &[("Scope", "Local")]).await?, "Arn"));
    }
    Ok(all.into_iter().filter(|arn| arns.contains(&arn.as_str())).collect())
}
