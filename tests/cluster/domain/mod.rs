//! Certificates, hosted zones and record sets in moto, through their controllers as their real binaries.

mod moto;
mod records;

use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions, moto::Moto};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::{
    balancing::{
        id,
        moto::{ELB, network, text},
        request_reconcile, until,
    },
    services::resource,
};

/// An environment whose controllers have a shorter visibility window, and whose certificates are issued after some seconds.
async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let env = SHARED
        .get(|| {
            let only = ["hub", "aws-acm", "aws-dns", "aws-elb"].map(str::to_owned).to_vec();
            let mut suite = SuiteOptions { only: Some(only), ..SuiteOptions::default() };
            for spoke in ["aws-acm", "aws-dns", "aws-elb"] {
                suite = suite.with_env(spoke, "KRAKEN_VISIBILITY_WINDOW", "2s");
            }
            let moto = Moto::issuing_certificates_after(Duration::from_secs(12));
            Environment::start_with(EnvironmentOptions { suite, ..EnvironmentOptions::default() }, moto)
        })
        .await?;
    TestEnv::on(env).await
}

fn of(reference: &str) -> Value {
    json!({"valueFrom": {"ref": reference}})
}

/// A domain that no other test uses.
fn domain(test_env: &TestEnv) -> String {
    format!("{}.example.com", test_env.ns.name)
}

fn certificate(domain: &str, others: &[&str]) -> Value {
    json!({
        "domainName": {"value": domain}, "subjectAlternativeNames": {"value": others}, "tags": {"Team": "web"},
        "lifecycle": {"replace": "CreateFirst"},
    })
}

/// The record that validates the domain of the certificate `web` with this index.
fn validation(index: usize) -> Value {
    let record = |field: &str| {
        of(&format!("Certificate/web/certificate.DomainValidationOptions.{index}.ResourceRecord.{field}"))
    };
    json!({
        "zoneID": of("HostedZone/web"), "name": record("Name"), "type": record("Type"),
        "values": {"value": [record("Value")]}, "ttlSeconds": {"value": 60},
    })
}

async fn described(test_env: &TestEnv, arn: &str) -> Result<Value> {
    let found = test_env.env.moto.acm("DescribeCertificate", &json!({"CertificateArn": arn})).await?;
    Ok(found["Certificate"].clone())
}

async fn exists(test_env: &TestEnv, arn: &str) -> bool {
    described(test_env, arn).await.is_ok()
}

#[tokio::test]
async fn a_domain_with_https_is_created_from_one_file_and_deleted_in_any_order() -> Result<()> {
    let test_env = test_env().await?;
    let (network, domain) = (network(&test_env).await?, domain(&test_env));
    let alias = json!({
        "zoneID": of("HostedZone/web"), "name": {"value": domain}, "type": {"value": "A"},
        "alias": {
            "dnsName": of("LoadBalancer/web/loadBalancer.DNSName"),
            "hostedZoneID": of("LoadBalancer/web/loadBalancer.CanonicalHostedZoneId"),
        },
    });
    let listener = json!({
        "loadBalancerARN": of("LoadBalancer/web"), "port": {"value": 443}, "protocol": {"value": "HTTPS"},
        "certificateARN": of("Certificate/web"),
        "defaultAction": {"fixedResponse": {"statusCode": {"value": 200}}},
    });
    let balancer = json!({
        "subnetIDs": {"value": network.subnets}, "securityGroupIDs": {"value": [network.group]},
        "scheme": {"value": "internal"},
    });
    let all = [
        ("RecordSet", "alias", alias),
        ("Listener", "web", listener),
        ("RecordSet", "validation", validation(0)),
        ("Certificate", "web", certificate(&domain, &[])),
        ("HostedZone", "web", json!({"name": {"value": domain}, "tags": {"Team": "web"}})),
        ("LoadBalancer", "web", balancer),
    ];
    let documents: Vec<String> = all.iter().map(|(kind, name, spec)| resource(kind, name, spec)).collect();
    test_env.apply(&documents.join("\n---\n")).await?;

    // The record that validates the certificate is there before it is issued, and nothing uses it before.
    test_env.ready("RecordSet", "validation").await?;
    let all_certificates = test_env.env.moto.acm("ListCertificates", &json!({})).await?;
    let summaries = all_certificates["CertificateSummaryList"].as_array().context("no list")?;
    let pending =
        summaries.iter().find(|one| one["DomainName"] == json!(domain)).context("no certificate")?;
    assert_eq!(pending["Status"], "PENDING_VALIDATION");
    let state = test_env.get("StateDeclaration", "certificate.aws.web").await?;
    assert_eq!(
        (&state["spec"]["id"], &state["spec"]["data"]["certificate"]["CertificateArn"]),
        (&Value::Null, &Value::Null)
    );
    let waiting = test_env.get("Listener", "web").await?;
    assert_eq!(waiting["status"]["externalIds"].as_array().map_or(0, Vec::len), 0, "{waiting}");

    let arn = id(&test_env.ready("Certificate", "web").await?)?.to_owned();
    let listener = id(&test_env.ready("Listener", "web").await?)?.to_owned();
    test_env.ready("RecordSet", "alias").await?;
    let zone = id(&test_env.ready("HostedZone", "web").await?)?.to_owned();
    let seen = crate::balancing::moto::call(
        &test_env,
        ELB,
        "DescribeListeners",
        &[("ListenerArns.member.1", &listener)],
    )
    .await?;
    assert_eq!(text(&seen, "CertificateArn")?, arn);
    let state = test_env.get("StateDeclaration", "loadbalancer.aws.web").await?;
    let host = &state["spec"]["data"]["loadBalancer"]["DNSName"];
    let found = moto::value(&test_env, &zone, &domain, "A").await?;
    assert_eq!(Some(found.trim_end_matches('.')), host.as_str());
    let options = &described(&test_env, &arn).await?["DomainValidationOptions"][0]["ResourceRecord"];
    let name = options["Name"].as_str().context("no record")?.trim_end_matches('.').to_owned();
    assert_eq!(json!(moto::value(&test_env, &zone, &name, "CNAME").await?), options["Value"]);
    let state = test_env.get("StateDeclaration", "hostedzone.aws.web").await?;
    let servers = &state["spec"]["data"]["hostedZone"]["NameServers"];
    assert_eq!(servers.as_array().map(Vec::len), Some(4), "{state}");

    for (kind, name, _) in all.iter().rev() {
        test_env.delete(kind, name).await?;
    }
    for (kind, name, _) in &all {
        test_env.gone(kind, name).await?;
    }
    assert!(!exists(&test_env, &arn).await);
    assert!(moto::call(&test_env, &format!("hostedzone/{zone}"), None).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_certificate_of_more_names_replaces_the_first_after_it_is_issued() -> Result<()> {
    let test_env = test_env().await?;
    let domain = domain(&test_env);
    let other = format!("shop.{domain}");
    let zone = resource("HostedZone", "web", &json!({"name": {"value": domain}}));
    let documents = [
        zone,
        resource("Certificate", "web", &certificate(&domain, &[])),
        resource("RecordSet", "first", &validation(0)),
    ];
    test_env.apply(&documents.join("\n---\n")).await?;
    let first = id(&test_env.ready("Certificate", "web").await?)?.to_owned();
    let documents = [
        resource("Certificate", "web", &certificate(&domain, &[&other])),
        resource("RecordSet", "second", &validation(1)),
    ];
    test_env.apply(&documents.join("\n---\n")).await?;
    // While the new certificate waits for the record, the old one is published with it.
    test_env.ready("RecordSet", "second").await?;
    assert!(exists(&test_env, &first).await);
    let state = test_env.get("StateDeclaration", "certificate.aws.web").await?;
    assert_eq!(state["spec"]["id"], json!(first), "{state}");
    until(|| async { Ok(!exists(&test_env, &first).await) }).await?;
    let second = id(&test_env.ready("Certificate", "web").await?)?.to_owned();
    assert_ne!(first, second);
    let state = test_env.get("StateDeclaration", "certificate.aws.web").await?;
    assert_eq!(state["spec"]["id"], json!(second), "{state}");
    Ok(())
}

#[tokio::test]
async fn tags_of_a_certificate_are_kept_and_an_existing_one_is_adopted() -> Result<()> {
    let test_env = test_env().await?;
    let domain = domain(&test_env);
    test_env.apply(&resource("Certificate", "web", &certificate(&domain, &[]))).await?;
    let arn = id(&test_env.ready("Certificate", "web").await?)?.to_owned();
    let tags = || async {
        let found = test_env.env.moto.acm("ListTagsForCertificate", &json!({"CertificateArn": arn})).await?;
        anyhow::Ok(found["Tags"].to_string())
    };
    let removed = json!({"CertificateArn": arn, "Tags": [{"Key": "Team"}]});
    test_env.env.moto.acm("RemoveTagsFromCertificate", &removed).await?;
    request_reconcile(&test_env, "Certificate", "web", "1").await?;
    until(|| async { Ok(tags().await?.contains("Team")) }).await?;

    let body =
        json!({"DomainName": domain, "ValidationMethod": "DNS", "Tags": [{"Key": "Test", "Value": "other"}]});
    let made = test_env.env.moto.acm("RequestCertificate", &body).await?;
    let other = made["CertificateArn"].as_str().context("no certificate")?.to_owned();
    let spec = json!({"domainName": {"value": domain}, "lifecycle": {"adopt": {"id": other}}});
    test_env.apply(&resource("Certificate", "adopted", &spec)).await?;
    assert_eq!(id(&test_env.ready("Certificate", "adopted").await?)?, other);
    for name in ["web", "adopted"] {
        test_env.delete("Certificate", name).await?;
    }
    for name in ["web", "adopted"] {
        test_env.gone("Certificate", name).await?;
    }
    // An adopted object is kept.
    assert_eq!((exists(&test_env, &arn).await, exists(&test_env, &other).await), (false, true));
    Ok(())
}
