use kraken_aws::testing;
use serde_json::json;

use super::{@Kinds@, observed::@Type@};

fn @module@() -> @Type@ {
    @Type@ { size: Some(20), availability_zone: Some("us-east-1a".into()), ..@Type@::default() }
}

#[test]
fn unset_fields_are_not_managed() {
    let spec = json!({"sizeGiB": {"value": 20}});
    assert_eq!(testing::compared::<@Kinds@>(spec, &@module@()), [""; 0]);
}

#[test]
fn only_the_size_changes_in_place() {
    let spec = json!({"sizeGiB": {"value": 30}, "availabilityZone": {"value": "us-east-1b"}});
    assert_eq!(
        testing::compared::<@Kinds@>(spec, &@module@()),
        ["availabilityZone: us-east-1a becomes us-east-1b: fixed", "sizeGiB: 20 becomes 30: Resize"]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let spec = json!({"sizeGiB": {"value": 0}, "availabilityZone": {"value": "us east"}});
    assert_eq!(
        testing::problems::<@Kinds@>(spec),
        [
            "spec.availabilityZone: must be the name of a zone such as us-east-1a",
            "spec.sizeGiB: must be 1 to 1000",
        ]
    );
}
