use kraken_aws::{
    AwsLookup,
    lookup_kind::Search,
    testing::{answered, wanted, with},
};
use serde_json::{Value, json};

use super::{CertificateLookups, observed::Certificate};

fn spec(changes: Value) -> Value {
    with(json!({"domainName": {"value": "www.example.com"}, "tags": {}}), changes)
}

fn certificate(id: &str, until: &str) -> Certificate {
    Certificate {
        certificate_arn: id.into(),
        domain_name: Some("www.example.com".into()),
        not_after: Some(format!("{until}T00:00:00Z")),
        ..Certificate::default()
    }
}

#[test]
fn the_certificate_that_is_valid_longest_is_the_answer() {
    let all = vec![
        certificate("arn-1", "2027-01-01"),
        certificate("arn-3", "2027-03-01"),
        certificate("arn-2", "2027-02-01"),
    ];
    assert_eq!(answered::<CertificateLookups>(spec(json!({})), all).unwrap(), ["arn-3"]);
}

#[test]
fn the_condition_says_what_was_searched_for() {
    assert_eq!(
        answered::<CertificateLookups>(spec(json!({"tags": {"Env": "prod"}})), vec![]).unwrap_err(),
        "the search for certificates with domainName www.example.com, tags.Env prod found none: edit the spec, or check the \
         account and the region"
    );
}

#[test]
fn a_wildcard_is_searched_for_literally() {
    let desired =
        wanted::<CertificateLookups>(spec(json!({"domainName": {"value": "*.example.com"}}))).unwrap();
    let search = Search::default().with("domain-name", Some("*.example.com"));
    assert_eq!(CertificateLookups::search(&desired), search);
    assert_ne!(search, Search::default().like("domain-name", Some("*.example.com")));
}

#[test]
fn the_domain_is_required_and_must_be_one() {
    for (name, is_valid) in [
        ("www.example.com", true),
        ("*.example.com", true),
        ("xn--bcher-kva.example", true),
        ("WWW.example.com", false),
        ("https://www.example.com", false),
        ("www.*.com", false),
        ("example", false),
        ("-a.example.com", false),
        ("www.example.com\n", false),
    ] {
        let found = wanted::<CertificateLookups>(spec(json!({"domainName": {"value": name}})));
        assert_eq!(found.is_ok(), is_valid, "{name}");
    }
}
