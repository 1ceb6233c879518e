//! The owners of record sets and hosted zones: drift, names in use, adoption, replacement and deletion.

use anyhow::Result;
use kraken_simulator::{FailureMode, FailurePoint};
use serde_json::{Value, json};

use super::*;

fn record(zone: &Value, name: &str, value: &str) -> Value {
    json!({
        "zoneID": zone, "name": {"value": name}, "type": {"value": "A"}, "values": {"value": [value]},
        "lifecycle": {"replace": "CreateFirst"},
    })
}

/// The names of the records of a type in a zone.
async fn names(test_env: &TestEnv, zone: &str, kind: &str) -> Result<Vec<String>> {
    let found = moto::records(test_env, zone).await?;
    Ok(found.into_iter().filter(|(_, of, _)| of == kind).map(|(name, ..)| name).collect())
}

#[tokio::test]
async fn drift_of_a_record_is_reverted_and_edits_change_or_replace_it() -> Result<()> {
    let test_env = test_env().await?;
    let domain = domain(&test_env);
    let (www, shop) = (format!("www.{domain}"), format!("shop.{domain}"));
    let zone = json!({"name": {"value": domain}, "comment": {"value": "the shop"}});
    let spec =
        |name: &str, value: &str| resource("RecordSet", "www", &record(&of("HostedZone/web"), name, value));
    test_env.apply(&[resource("HostedZone", "web", &zone), spec(&www, "192.0.2.1")].join("\n---\n")).await?;
    let zone = id(&test_env.ready("HostedZone", "web").await?)?.to_owned();
    let first = test_env.ready("RecordSet", "www").await?;
    assert_eq!(id(&first)?, format!("{zone}/{www}/A"));
    let marker = moto::value(&test_env, &zone, &format!("_kraken-a.{www}"), "TXT").await?;
    let uid = first["metadata"]["uid"].as_str().context("no UID")?;
    assert!(marker.contains(uid), "{marker}");

    let value = || moto::value(&test_env, &zone, &www, "A");
    moto::change(&test_env, &zone, "UPSERT", &www, "198.51.100.9", 300).await?;
    request_reconcile(&test_env, "RecordSet", "www", "1").await?;
    until(|| async { Ok(value().await? == "192.0.2.1") }).await?;
    // The record alone is deleted: its owner's remains.
    moto::change(&test_env, &zone, "DELETE", &www, "192.0.2.1", 300).await?;
    request_reconcile(&test_env, "RecordSet", "www", "2").await?;
    until(|| async { Ok(value().await.is_ok_and(|value| value == "192.0.2.1")) }).await?;

    test_env.apply(&spec(&www, "192.0.2.2")).await?;
    until(|| async { Ok(value().await? == "192.0.2.2") }).await?;
    assert_eq!(id(&test_env.ready("RecordSet", "www").await?)?, id(&first)?);
    test_env.apply(&spec(&shop, "192.0.2.2")).await?;
    until(|| async { Ok(names(&test_env, &zone, "A").await? == [shop.clone()]) }).await?;
    assert_eq!(id(&test_env.ready("RecordSet", "www").await?)?, format!("{zone}/{shop}/A"));
    assert_eq!(names(&test_env, &zone, "TXT").await?, [format!("_kraken-a.{shop}")]);

    let edit = json!({"spec": {"comment": {"value": "closed"}}});
    test_env.patch("HostedZone", "web", edit).await?;
    let path = format!("hostedzone/{zone}");
    let read = || moto::call(&test_env, &path, None);
    until(|| async { Ok(text(&read().await?, "Comment")? == "closed") }).await?;
    for (kind, name) in [("HostedZone", "web"), ("RecordSet", "www")] {
        test_env.delete(kind, name).await?;
    }
    for (kind, name) in [("RecordSet", "www"), ("HostedZone", "web")] {
        test_env.gone(kind, name).await?;
    }
    assert!(read().await.is_err());
    Ok(())
}

#[tokio::test]
async fn record_sets_of_a_name_share_its_queries_by_weight() -> Result<()> {
    let test_env = test_env().await?;
    let domain = domain(&test_env);
    let other = moto::create_zone(&test_env, &format!("other.{domain}")).await?;
    let zone = moto::create_zone(&test_env, &domain).await?;
    let www = format!("www.{domain}");
    let lookup = resource("HostedZoneLookup", "web", &json!({"name": {"value": domain}}));
    let spec = |set: &str, value: &str, weight: i64| {
        let mut spec = record(&of("HostedZoneLookup/web"), &www, value);
        (spec["setIdentifier"], spec["weight"]) = (json!({"value": set}), json!({"value": weight}));
        resource("RecordSet", set, &spec)
    };
    let documents = [lookup, spec("blue", "192.0.2.1", 90), spec("green", "192.0.2.2", 10)];
    test_env.apply(&documents.join("\n---\n")).await?;
    for set in ["blue", "green"] {
        let ready = test_env.ready("RecordSet", set).await?;
        assert_eq!(id(&ready)?, format!("{zone}/{www}/A/{set}"));
    }
    let found = test_env.ready("HostedZoneLookup", "web").await?;
    assert_eq!(found["status"]["answer"]["ids"], json!([zone]));
    let markers = [format!("_kraken-a-blue.{www}"), format!("_kraken-a-green.{www}")];
    assert_eq!(names(&test_env, &zone, "TXT").await?, markers);

    // All queries move to the green one, and the other one's is deleted.
    test_env.apply(&[spec("blue", "192.0.2.1", 0), spec("green", "192.0.2.2", 100)].join("\n---\n")).await?;
    let state = |set: &str| format!("recordset.aws.{set}");
    test_env
        .until("StateDeclaration", &state("green"), |green| green.to_string().contains("\"Weight\":100"))
        .await?;
    test_env
        .until("StateDeclaration", &state("blue"), |blue| blue.to_string().contains("\"Weight\":0"))
        .await?;
    test_env.delete("RecordSet", "blue").await?;
    test_env.gone("RecordSet", "blue").await?;
    assert_eq!(names(&test_env, &zone, "A").await?, std::slice::from_ref(&www));
    assert_eq!(names(&test_env, &zone, "TXT").await?, markers[1..]);
    assert_eq!(moto::value(&test_env, &zone, &www, "A").await?, "192.0.2.2");
    test_env.delete("RecordSet", "green").await?;
    test_env.gone("RecordSet", "green").await?;
    assert_eq!(names(&test_env, &zone, "TXT").await?, [""; 0]);
    assert_ne!(zone, other);
    Ok(())
}

#[tokio::test]
async fn a_name_in_use_is_not_taken_over_and_can_be_adopted() -> Result<()> {
    let test_env = test_env().await?;
    let domain = domain(&test_env);
    let zone = moto::create_zone(&test_env, &domain).await?;
    let (www, mail) = (format!("www.{domain}"), format!("mail.{domain}"));
    let zone_id = json!({"value": zone});
    moto::change(&test_env, &zone, "CREATE", &mail, "192.0.2.7", 60).await?;
    moto::change(&test_env, &zone, "CREATE", &www, "192.0.2.9", 60).await?;
    let spec = record(&zone_id, &www, "192.0.2.1");
    test_env.apply(&resource("RecordSet", "www", &spec)).await?;
    let why = test_env.not_ready("RecordSet", "www", "CloudRefused").await?;
    let holder =
        format!("the name {www} of type A is in use by {zone}/{www}/A, which is not managed by Kraken");
    assert!(why.contains(&holder), "{why}");
    test_env.delete("RecordSet", "www").await?;
    test_env.gone("RecordSet", "www").await?;
    assert_eq!(moto::value(&test_env, &zone, &www, "A").await?, "192.0.2.9");
    assert_eq!(names(&test_env, &zone, "TXT").await?, [""; 0]);

    // Adopted, then changed, and refused to a second resource.
    let mut adopting = record(&zone_id, &www, "192.0.2.9");
    adopting["lifecycle"] = json!({"adopt": {"id": format!("{zone}/{www}/A")}});
    test_env.apply(&resource("RecordSet", "adopted", &adopting)).await?;
    test_env.ready("RecordSet", "adopted").await?;
    assert_eq!(names(&test_env, &zone, "TXT").await?, [format!("_kraken-a.{www}")]);
    test_env.apply(&resource("RecordSet", "second", &spec)).await?;
    let why = test_env.not_ready("RecordSet", "second", "ValueInUse").await?;
    let owner = format!("which belongs to RecordSet/{}/adopted", test_env.ns.name);
    assert!(why.contains(&owner), "{why}");
    for name in ["second", "adopted"] {
        test_env.delete("RecordSet", name).await?;
    }
    for name in ["second", "adopted"] {
        test_env.gone("RecordSet", name).await?;
    }
    // It is released, and as it was.
    assert_eq!(moto::value(&test_env, &zone, &www, "A").await?, "192.0.2.9");
    assert_eq!(moto::value(&test_env, &zone, &mail, "A").await?, "192.0.2.7");
    assert_eq!(names(&test_env, &zone, "TXT").await?, [""; 0]);
    Ok(())
}

#[tokio::test]
async fn a_zone_with_records_of_others_is_kept_and_names_them() -> Result<()> {
    let test_env = test_env().await?;
    let domain = domain(&test_env);
    test_env.apply(&resource("HostedZone", "web", &json!({"name": {"value": domain}}))).await?;
    let zone = id(&test_env.ready("HostedZone", "web").await?)?.to_owned();
    let mail = format!("mail.{domain}");
    moto::change(&test_env, &zone, "CREATE", &mail, "192.0.2.7", 60).await?;
    test_env.delete("HostedZone", "web").await?;
    let says = format!("delete its records first: {mail} A");
    test_env.until("HostedZone", "web", |zone| zone["status"].to_string().contains(&says)).await?;
    assert_eq!(moto::value(&test_env, &zone, &mail, "A").await?, "192.0.2.7");
    moto::change(&test_env, &zone, "DELETE", &mail, "192.0.2.7", 60).await?;
    request_reconcile(&test_env, "HostedZone", "web", "1").await?;
    test_env.gone("HostedZone", "web").await?;
    assert!(moto::call(&test_env, &format!("hostedzone/{zone}"), None).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_zone_that_lost_its_tags_is_owned_by_its_reference() -> Result<()> {
    let test_env = test_env().await?;
    let domain = domain(&test_env);
    let spec = json!({"name": {"value": domain}, "tags": {"Team": "web"}});
    test_env.apply(&resource("HostedZone", "web", &spec)).await?;
    let zone = id(&test_env.ready("HostedZone", "web").await?)?.to_owned();
    let path = format!("tags/hostedzone/{zone}");
    let tags = || moto::call(&test_env, &path, None);
    let keys = crate::balancing::moto::texts(&tags().await?, "Key");
    let keys: String = keys.iter().map(|key| format!("<Key>{key}</Key>")).collect();
    let body = format!(
        "<ChangeTagsForResourceRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"><RemoveTagKeys>{keys}</RemoveTagKeys>\
         </ChangeTagsForResourceRequest>"
    );
    moto::call(&test_env, &path, Some(&body)).await?;
    request_reconcile(&test_env, "HostedZone", "web", "1").await?;
    until(|| async { Ok(tags().await?.contains("Team")) }).await?;
    assert_eq!(id(&test_env.ready("HostedZone", "web").await?)?, zone);
    test_env.delete("HostedZone", "web").await?;
    test_env.gone("HostedZone", "web").await?;
    assert!(moto::call(&test_env, &format!("hostedzone/{zone}"), None).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    let test_env = test_env().await?;
    let domain = domain(&test_env);
    let (by_hand, www) = (format!("by-hand.{domain}"), format!("www.by-hand.{domain}"));
    let zone = moto::create_zone(&test_env, &by_hand).await?;
    let change = format!("POST /2013-04-01/hostedzone/{zone}/rrset");
    for action in [change.as_str(), "POST /2013-04-01/hostedzone", "RequestCertificate"] {
        test_env.env.proxy.fail_next(action, FailurePoint::After, FailureMode::Drop);
    }
    let all = [
        ("RecordSet", record(&json!({"value": zone}), &www, "192.0.2.1")),
        ("HostedZone", json!({"name": {"value": domain}, "tags": {"Team": "web"}})),
        ("Certificate", certificate(&domain, &[])),
    ];
    for (kind, spec) in &all {
        test_env.apply(&resource(kind, "web", spec)).await?;
    }
    for (kind, _) in &all {
        test_env.ready(kind, "web").await?;
    }
    assert_eq!(test_env.env.proxy.count(&change), 1, "one call created the record and its owner's");
    assert_eq!(names(&test_env, &zone, "A").await?, std::slice::from_ref(&www));
    assert_eq!(names(&test_env, &zone, "TXT").await?, [format!("_kraken-a.{www}")]);
    let zones = moto::call(&test_env, "hostedzone", None).await?;
    assert_eq!(zones.matches(&format!("<Name>{domain}.</Name>")).count(), 1);
    let id = id(&test_env.get("HostedZone", "web").await?)?.to_owned();
    let tags = moto::call(&test_env, &format!("tags/hostedzone/{id}"), None).await?;
    assert!(tags.contains("Team"), "{tags}");
    let certificates = test_env.env.moto.acm("ListCertificates", &json!({})).await?.to_string();
    assert_eq!(certificates.matches(&format!("\"DomainName\":\"{domain}\"")).count(), 1, "{certificates}");
    for (kind, _) in &all {
        test_env.delete(kind, "web").await?;
    }
    for (kind, _) in &all {
        test_env.gone(kind, "web").await?;
    }
    assert_eq!(moto::records(&test_env, &zone).await?, []);
    Ok(())
}
