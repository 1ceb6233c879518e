use kraken_aws::{
    AwsSpec as _,
    resource::{Phase, RemoteObject as _},
    testing::{self, with},
};
use kraken_kind::{Failure, FailureClass};
use serde_json::{Value, json};

use super::{
    Certificates,
    api::CertificateSpec,
    calls::in_use,
    observed::{Certificate, Record, Validation},
};
use crate::acm::types;

fn written(changes: Value) -> Value {
    with(json!({"domainName": {"value": "www.example.com"}}), changes)
}

fn certificate() -> Certificate {
    Certificate {
        certificate_arn: "arn:aws:acm:us-east-1:123456789012:certificate/1".into(),
        domain_name: Some("www.example.com".into()),
        subject_alternative_names: vec!["example.com".into(), "www.example.com".into()],
        key_algorithm: Some("RSA_2048".into()),
        status: Some("ISSUED".into()),
        ..Certificate::default()
    }
}

fn validation(domain: &str) -> Validation {
    let record = Record {
        name: format!("_1.{domain}."),
        r#type: "CNAME".into(),
        value: "_2.acm-validations.aws.".into(),
    };
    Validation { domain_name: domain.into(), resource_record: Some(record) }
}

fn compared(changes: Value) -> Vec<String> {
    testing::compared::<Certificates>(written(changes), &certificate())
}

#[test]
fn names_are_a_set_that_contains_the_main_domain() {
    assert_eq!(compared(json!({})), [""; 0]);
    assert_eq!(compared(json!({"subjectAlternativeNames": {"value": ["example.com"]}})), [""; 0]);
    let both = json!({"subjectAlternativeNames": {"value": ["www.example.com", "example.com"]}});
    assert_eq!(compared(both), [""; 0]);
}

#[test]
fn no_field_changes_in_place() {
    assert_eq!(
        compared(json!({
            "domainName": {"value": "shop.example.com"}, "subjectAlternativeNames": {"value": []},
            "keyAlgorithm": {"value": "EC_prime256v1"},
        })),
        [
            "domainName: www.example.com becomes shop.example.com: fixed",
            "subjectAlternativeNames: example.com becomes none: fixed",
            "keyAlgorithm: RSA_2048 becomes EC_prime256v1: fixed",
        ]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let long = format!("{}.example.com", "a".repeat(60));
    let spec =
        json!({"domainName": {"value": long}, "subjectAlternativeNames": {"value": ["https://example.com"]}});
    assert_eq!(
        testing::problems::<Certificates>(spec),
        [
            "spec.domainName: must be a domain name in lowercase of up to 64 characters, such as www.example.com or *.example.com",
            "spec.subjectAlternativeNames.value[0]: must be a domain name in lowercase of up to 253 characters, such as \
             www.example.com or *.example.com",
        ]
    );
}

#[test]
fn validation_records_are_published_when_all_are_known_and_before_the_certificate_is_issued() {
    let mut pending = Certificate { status: Some("PENDING_VALIDATION".into()), ..certificate() };
    assert_eq!(pending.pending_state(), None);
    let unknown = Validation { resource_record: None, ..validation("example.com") };
    pending.domain_validation_options = vec![validation("www.example.com"), unknown];
    assert_eq!(pending.pending_state(), None);
    pending.domain_validation_options[1] = validation("example.com");
    assert_eq!(
        pending.pending_state().unwrap()["DomainValidationOptions"][0],
        json!({
            "DomainName": "www.example.com",
            "ResourceRecord": {"Name": "_1.www.example.com.", "Type": "CNAME", "Value": "_2.acm-validations.aws."},
        })
    );
    let awaited = "waiting for its validation by the record _1.www.example.com. CNAME _2.acm-validations.aws. and 1 more";
    assert_eq!(pending.phase(), Phase::Pending(awaited.to_owned()));
}

#[test]
fn phase_follows_the_status() {
    let phase = |status: &str, reason: Option<&str>| {
        let failure_reason = reason.map(str::to_owned);
        Certificate { status: Some(status.into()), failure_reason, ..certificate() }.phase()
    };
    assert_eq!(phase("ISSUED", None), Phase::Available);
    assert_eq!(phase("FAILED", Some("CAA_ERROR")), Phase::Failed("FAILED: CAA_ERROR".into()));
    assert_eq!(phase("VALIDATION_TIMED_OUT", None), Phase::Failed("VALIDATION_TIMED_OUT".into()));
    assert!(matches!(Certificate::default().phase(), Phase::Pending(_)));
}

#[test]
fn the_main_domain_is_the_first_and_the_algorithm_has_the_name_of_the_request() {
    let option = |name: &str| types::DomainValidation::builder().domain_name(name).build().unwrap();
    let sdk = types::CertificateDetail::builder()
        .domain_name("www.example.com")
        .key_algorithm("RSA-2048".into())
        .set_domain_validation_options(Some(
            ["b.example.com", "www.example.com", "*.example.com"].map(option).into(),
        ))
        .build();
    let found = Certificate::from(sdk);
    let names: Vec<_> = found.domain_validation_options.iter().map(|one| one.domain_name.as_str()).collect();
    assert_eq!(names, ["www.example.com", "*.example.com", "b.example.com"]);
    assert_eq!(found.key_algorithm.as_deref(), Some("RSA_2048"));
}

#[test]
fn a_rejected_deletion_names_the_users() {
    let refused = |code: &str| Failure {
        class: FailureClass::Terminal,
        action: "failed".into(),
        code: code.into(),
        message: "Certificate is in use".into(),
    };
    let used = Certificate { in_use_by: vec!["arn:lb".into()], ..certificate() };
    let failure = in_use(refused("ResourceInUseException"), &used);
    assert_eq!(
        (failure.class, failure.message.as_str()),
        (FailureClass::NotYet, "Certificate is in use: in use by arn:lb")
    );
    assert_eq!(in_use(refused("AccessDeniedException"), &used), refused("AccessDeniedException"));
}

#[test]
fn an_import_is_the_inverse() {
    let found = CertificateSpec::imported(&certificate());
    assert_eq!(found.group(), Some(written(json!({"subjectAlternativeNames": {"value": ["example.com"]}}))));
}
