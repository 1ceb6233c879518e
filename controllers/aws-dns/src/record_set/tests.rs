use kraken_aws::{
    AwsResource as _, AwsSpec as _,
    testing::{self, with},
};
use serde_json::{Value, json};

use super::{
    RecordSets,
    api::RecordSetSpec,
    id::RecordId,
    observed::{AliasTarget, Record},
};
use crate::dns::types::{self, ResourceRecordSet};

fn id() -> RecordId {
    RecordId::parse("Z1/www.example.com/A").unwrap()
}

fn written(changes: Value) -> Value {
    let spec = json!({
        "zoneID": {"value": "Z1"}, "name": {"value": "www.example.com"}, "type": {"value": "A"},
        "values": {"value": ["192.0.2.1", "192.0.2.2"]},
    });
    with(spec, changes)
}

fn record() -> Record {
    let value = |value: &str| types::ResourceRecord::builder().value(value).build().unwrap();
    let sdk = ResourceRecordSet::builder().name("www.example.com.").r#type(types::RrType::A).ttl(60);
    let sdk = sdk.resource_records(value("192.0.2.2")).resource_records(value("192.0.2.1")).build().unwrap();
    Record::of(&id(), Some(&sdk), None)
}

fn alias() -> Value {
    json!({"dnsName": {"value": "Web-1.us-east-1.elb.amazonaws.com"}, "hostedZoneID": {"value": "Z35SXDOTRQ7X7K"}})
}

fn compared(changes: Value) -> Vec<String> {
    testing::compared::<RecordSets>(written(changes), &record())
}

#[test]
fn values_are_a_set_and_names_have_no_case() {
    assert_eq!(compared(json!({})), [""; 0]);
    assert_eq!(
        compared(json!({"zoneID": {"value": "/hostedzone/Z1"}, "name": {"value": "WWW.example.com."}})),
        [""; 0]
    );
}

#[test]
fn values_and_the_time_to_live_change_in_place() {
    assert_eq!(
        compared(json!({
            "zoneID": {"value": "Z2"}, "name": {"value": "a.example.com"}, "type": {"value": "AAAA"},
            "ttlSeconds": {"value": 300}, "values": {"value": ["192.0.2.1"]},
        })),
        [
            "zoneID: Z1 becomes Z2: fixed",
            "name: www.example.com becomes a.example.com: fixed",
            "type: A becomes AAAA: fixed",
            "ttlSeconds: 60 becomes 300: Record",
            "values: 192.0.2.1, 192.0.2.2 becomes 192.0.2.1: Record",
        ]
    );
}

#[test]
fn an_alias_replaces_values_in_place() {
    let changes = json!({"values": null, "alias": alias()});
    let target = "web-1.us-east-1.elb.amazonaws.com in Z35SXDOTRQ7X7K";
    assert_eq!(compared(changes.clone()), [format!("alias: (absent) becomes {target}: Record")]);
    let sdk = types::AliasTarget::builder()
        .dns_name("web-1.us-east-1.elb.amazonaws.com.")
        .hosted_zone_id("Z35SXDOTRQ7X7K")
        .evaluate_target_health(false)
        .build()
        .unwrap();
    let found = Record { alias_target: Some(AliasTarget::from(sdk)), ..Record::of(&id(), None, None) };
    assert_eq!(testing::compared::<RecordSets>(written(changes), &found), [""; 0]);
    let imported = RecordSetSpec::imported(&found).group().unwrap();
    assert_eq!(imported["alias"]["dnsName"]["value"], "web-1.us-east-1.elb.amazonaws.com");
}

#[test]
fn a_record_of_a_set_changes_its_weight_in_place_and_never_its_identifier() {
    let sdk = ResourceRecordSet::builder().name("www.example.com.").r#type(types::RrType::A).ttl(60);
    let sdk = sdk.set_identifier("blue").weight(90).build().unwrap();
    let found = Record::of(&id().of_set(Some("blue".to_owned())), Some(&sdk), None);
    assert_eq!(
        (found.record_id().to_string().as_str(), found.weight),
        ("Z1/www.example.com/A/blue", Some(90))
    );
    let changes = json!({"values": null, "setIdentifier": {"value": "green"}, "weight": {"value": 10}});
    assert_eq!(
        testing::compared::<RecordSets>(written(changes), &found),
        ["setIdentifier: blue becomes green: fixed", "weight: 90 becomes 10: Record"]
    );
    assert!(RecordSets::not_importable(&found).is_none());
    let by_latency = Record { weight: None, is_routed_otherwise: true, ..found };
    assert!(RecordSets::not_importable(&by_latency).unwrap().contains("weight and failover"));
}

#[test]
fn a_record_that_is_deleted_beside_its_owner_s_is_a_difference() {
    let found = Record::of(&id(), None, None);
    assert_eq!(
        testing::compared::<RecordSets>(written(json!({})), &found),
        ["values: none becomes 192.0.2.1, 192.0.2.2: Record"]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = written(
        json!({"zoneID": {"value": "example.com"}, "name": {"value": "a b"}, "ttlSeconds": {"value": -1}}),
    );
    assert_eq!(
        testing::problems::<RecordSets>(spec),
        [
            "spec.zoneID: must be the id of a hosted zone, such as Z0123456789ABCDEFGHIJ",
            "spec.name: must be a full domain name, such as www.example.com or *.example.com",
            "spec.ttlSeconds: must be 0 to 2147483647",
        ]
    );
}

#[test]
fn an_import_is_the_inverse() {
    let found = RecordSetSpec::imported(&record());
    assert_eq!(found.group(), Some(written(json!({"ttlSeconds": {"value": 60}}))));
}
