use kraken_aws::{
    AwsLookup as _,
    testing::{answered, wanted},
};
use serde_json::json;

use super::HostedZoneLookups;
use crate::{
    dns::types::{HostedZone, HostedZoneConfig},
    hosted_zone::Zone,
};

fn zone(id: &str, is_private: bool) -> Zone {
    let config = HostedZoneConfig::builder().private_zone(is_private).comment(format!("of {id}")).build();
    let sdk = HostedZone::builder().id(format!("/hostedzone/{id}")).name("example.com.");
    Zone::from(sdk.caller_reference("c").config(config).build().unwrap())
}

#[test]
fn exactly_one_zone_is_the_answer() {
    let spec = json!({"name": {"value": "Example.com."}, "tags": {}});
    assert_eq!(answered::<HostedZoneLookups>(spec.clone(), vec![zone("Z1", false)]).unwrap(), ["Z1"]);
    let several =
        answered::<HostedZoneLookups>(spec, vec![zone("Z1", false), zone("Z2", false)]).unwrap_err();
    assert!(several.contains("found 2, Z1 (of Z1), Z2 (of Z2): exactly one is expected"), "{several}");
}

#[test]
fn a_private_zone_is_another_one() {
    let (public, private) = (zone("Z1", false), zone("Z2", true));
    let value = |zone| (HostedZoneLookups::value(zone, "name"), HostedZoneLookups::value(zone, "is-private"));
    assert_eq!(value(&public), (Some("example.com"), Some("false")));
    assert_eq!(value(&private), (Some("example.com"), Some("true")));
    let search = |spec| HostedZoneLookups::search(&wanted::<HostedZoneLookups>(spec).unwrap());
    let name = json!({"value": "example.com"});
    assert_ne!(
        search(json!({"name": name, "tags": {}})),
        search(json!({"name": name, "isPrivate": {"value": true}, "tags": {}}))
    );
}
