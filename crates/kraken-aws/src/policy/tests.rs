use serde_json::{Value, json};

use super::{Document, imported, imported_resource, imported_trust};

fn document(written: Value) -> Document {
    Document::new(written).unwrap()
}

fn of(statement: Value) -> Value {
    json!({"Version": "2012-10-17", "Statement": [statement]})
}

fn read() -> Value {
    json!({"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"})
}

fn is_same(a: Value, b: Value) -> bool {
    document(a).differing(Some(&document(b))).is_none()
}

#[test]
fn spellings_without_a_meaning_are_equal() {
    let role =
        |principal: Value| of(json!({"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}));
    let with = |condition: Value| {
        of(json!({"Effect": "Deny", "NotAction": "iam:*", "Resource": "*", "Condition": condition}))
    };
    for (a, b) in [
        (of(read()), json!({"Version": "2012-10-17", "Statement": read()})),
        (
            of(read()),
            of(json!({"effect": "Allow", "ACTION": ["s3:listbucket", "s3:GetObject"], "Resource": ["*"]})),
        ),
        (
            of(read()),
            of(
                json!({"Sid": "", "Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"}),
            ),
        ),
        (role(json!({"AWS": "123456789012"})), role(json!({"AWS": ["arn:aws-cn:iam::123456789012:root"]}))),
        (role(json!("*")), role(json!({"AWS": "*"}))),
        (
            with(json!({"StringEquals": {"aws:SourceAccount": "1"}, "Bool": {"aws:SecureTransport": false}})),
            with(
                json!({"Bool": {"aws:securetransport": "false"}, "stringEquals": {"AWS:SourceAccount": ["1"]}}),
            ),
        ),
        (
            json!({"Version": "2012-10-17", "Statement": [read(), {"Effect": "Deny", "Action": "*", "Resource": "*"}]}),
            json!({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}, read()]}),
        ),
        (json!({"Statement": read()}), json!({"Version": "2008-10-17", "Statement": [read()]})),
    ] {
        assert!(is_same(a.clone(), b.clone()), "{a} {b}");
    }
}

#[test]
fn everything_else_differs() {
    let allow =
        |action: &str, resource: &str| of(json!({"Effect": "Allow", "Action": action, "Resource": resource}));
    let role =
        |principal: Value| of(json!({"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}));
    for (a, b) in [
        (allow("s3:*", "*"), allow("s3:Get*", "*")),
        (allow("s3:*", "arn:aws:s3:::a"), allow("s3:*", "arn:aws:s3:::A")),
        (allow("s3:*", "*"), of(json!({"Effect": "Deny", "Action": "s3:*", "Resource": "*"}))),
        (allow("s3:*", "*"), of(json!({"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}))),
        (allow("s3:*", "*"), of(json!({"Sid": "A", "Effect": "Allow", "Action": "s3:*", "Resource": "*"}))),
        (of(read()), json!({"Version": "2008-10-17", "Statement": [read()]})),
        (of(read()), json!({"Version": "2012-10-17", "Id": "a", "Statement": [read()]})),
        (role(json!({"AWS": "1"})), role(json!({"Service": "1"}))),
        (role(json!({"AWS": "123456789012"})), role(json!({"AWS": "arn:aws:iam::123456789012:role/root"}))),
    ] {
        assert!(!is_same(a.clone(), b.clone()), "{a} {b}");
    }
}

#[test]
fn only_statements_that_differ_are_shown() {
    let deny = json!({"Effect": "Deny", "Action": "iam:*", "Resource": "*"});
    let both = document(json!({"Version": "2012-10-17", "Statement": [read(), deny]}));
    let one = document(of(read()));
    assert_eq!(both.differing(Some(&one)), Some((json!([deny]).to_string(), "(absent)".to_owned())));
    assert_eq!(one.differing(Some(&both)), Some(("(absent)".to_owned(), json!([deny]).to_string())));
}

#[test]
fn an_invalid_document_is_explained() {
    for (text, words) in [
        ("{", "is not valid JSON: EOF"),
        ("[]", "the document is not an object"),
        ("{}", "has no element Statement"),
        (
            r#"{"Statement": [], "Statements": []}"#,
            "the unknown element Statements: expected Version, Id, Statement",
        ),
        (
            r#"{"Statement": {"Effect": "allow", "Action": "*"}}"#,
            "Statement[0]: Effect must be Allow or Deny",
        ),
        (r#"{"Statement": {"Effect": "Allow"}}"#, "Statement[0]: has no element Action"),
        (
            r#"{"Statement": {"Effect": "Allow", "Action": [1, {}]}}"#,
            "Action must be a text or a list of texts",
        ),
        (r#"{"Statement": {"Effect": "Allow", "action": "*", "Action": "*"}}"#, "the element Action twice"),
        (
            r#"{"Statement": {"Effect": "Allow", "Action": "*", "Condition": "x"}}"#,
            "Condition is not an object",
        ),
        (
            r#"{"Statement": {"Effect": "Allow", "Action": "*", "Principal": {"Web": "x"}}}"#,
            "unknown element Web",
        ),
    ] {
        let why = Document::parse(text).unwrap_err();
        assert!(why.contains(words), "{text}: {why}");
    }
}

#[test]
fn a_document_is_imported_as_statements_if_they_can_express_it() {
    let plain = of(json!({
        "Sid": "Ci", "Effect": "Allow", "Principal": {"Federated": "arn:1"}, "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {"oidc.example.com:aud": "sts"}},
    }));
    assert_eq!(
        imported_trust(&plain.to_string()),
        Some(json!({"statements": [{
            "sid": {"value": "Ci"}, "effect": {"value": "Allow"}, "principals": {"federated": {"value": ["arn:1"]}},
            "actions": {"value": ["sts:AssumeRoleWithWebIdentity"]},
            "conditions": [{
                "operator": {"value": "StringEquals"}, "key": {"value": "oidc.example.com:aud"}, "values": {"value": ["sts"]},
            }],
        }]}))
    );
    // Which is no permission, and names no resource.
    assert_eq!(imported_resource(&plain.to_string()), imported_trust(&plain.to_string()));
    assert_eq!(imported(&plain.to_string()), Some(json!({"json": {"value": plain.to_string()}})));
    let canonical_user = of(json!({"Effect": "Allow", "Principal": {"CanonicalUser": "1"}, "Action": "*"}));
    for other in [json!({"Version": "2008-10-17", "Statement": read()}), canonical_user] {
        let text = other.to_string();
        assert_eq!(imported_trust(&text), Some(json!({"json": {"value": text}})));
    }
    assert_eq!(imported(""), None);
}
