//! Calls of moto's Route 53.

use anyhow::{Context as _, Result, bail};
use kraken_simulator::{REGION, http};
use kraken_tests::TestEnv;

use crate::balancing::moto::{text, texts};

const NAMESPACE: &str = "https://route53.amazonaws.com/doc/2013-04-01/";

/// A call of Route 53: POST of a body, or GET without one.
pub(super) async fn call(test_env: &TestEnv, path: &str, body: Option<&str>) -> Result<String> {
    let credential = format!(
        "AWS4-HMAC-SHA256 Credential=testing/20200101/{REGION}/route53/aws4_request, SignedHeaders=host, Signature=0"
    );
    let url = format!("{}/2013-04-01/{path}", test_env.env.moto.endpoint());
    let headers = [("authorization", credential.as_str()), ("content-type", "application/xml")];
    let answer = http::call(&url, &headers, body).await?;
    if answer.status >= 300 {
        bail!("{path} failed with {}: {}", answer.status, answer.body);
    }
    Ok(answer.body)
}

/// Creates a zone of somebody else.
pub(super) async fn create_zone(test_env: &TestEnv, name: &str) -> Result<String> {
    let body = format!(
        "<CreateHostedZoneRequest xmlns=\"{NAMESPACE}\"><Name>{name}</Name><CallerReference>by-hand-{name}</CallerReference>\
         </CreateHostedZoneRequest>"
    );
    let made = call(test_env, "hostedzone", Some(&body)).await?;
    let id = text(&made, "Id")?;
    Ok(id.rsplit('/').next().unwrap_or_default().to_owned())
}

/// Changes a record of the type A by hand.
pub(super) async fn change(
    test_env: &TestEnv,
    zone: &str,
    action: &str,
    name: &str,
    value: &str,
    ttl: u32,
) -> Result<()> {
    let body = format!(
        "<ChangeResourceRecordSetsRequest xmlns=\"{NAMESPACE}\"><ChangeBatch><Changes><Change><Action>{action}</Action>\
         <ResourceRecordSet><Name>{name}</Name><Type>A</Type><TTL>{ttl}</TTL><ResourceRecords><ResourceRecord>\
         <Value>{value}</Value></ResourceRecord></ResourceRecords></ResourceRecordSet></Change></Changes></ChangeBatch>\
         </ChangeResourceRecordSetsRequest>"
    );
    call(test_env, &format!("hostedzone/{zone}/rrset/"), Some(&body)).await.map(drop)
}

/// The record sets of a zone but those that each zone has: each with its name, its type, and its values or the target of its alias.
pub(super) async fn records(test_env: &TestEnv, zone: &str) -> Result<Vec<(String, String, Vec<String>)>> {
    let all = call(test_env, &format!("hostedzone/{zone}/rrset"), None).await?;
    let one = |record: &String| {
        let kind = text(record, "Type")?;
        let values = [texts(record, "Value"), texts(record, "DNSName")].concat();
        anyhow::Ok((text(record, "Name")?.trim_end_matches('.').to_owned(), kind, values))
    };
    let mut found = texts(&all, "ResourceRecordSet").iter().map(one).collect::<Result<Vec<_>>>()?;
    found.retain(|(_, kind, _)| kind != "NS" && kind != "SOA");
    found.sort();
    Ok(found)
}

/// The value of one record.
pub(super) async fn value(test_env: &TestEnv, zone: &str, name: &str, kind: &str) -> Result<String> {
    let found = records(test_env, zone).await?;
    let record = found.iter().find(|(found, of, _)| found == name && of == kind);
    let (.., values) = record.with_context(|| format!("no {kind} {name} in {found:?}"))?;
    Ok(values.join(" "))
}
