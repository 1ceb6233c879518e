use kraken_aws::testing;
use serde_json::{Value, json};

use super::{ElasticIps, observed::Address};

fn compared(spec: Value, address: &Address) -> Vec<String> {
    testing::compared::<ElasticIps>(spec, address)
}

fn of_instance() -> Address {
    Address {
        instance_id: Some("i-1".into()),
        network_interface_id: Some("eni-1".into()),
        ..Address::default()
    }
}

#[test]
fn a_missing_or_wrong_association_is_corrected() {
    let wanted = || json!({"instanceID": {"value": "i-1"}});
    assert!(compared(wanted(), &of_instance()).is_empty());
    assert_eq!(compared(wanted(), &Address::default()), ["instanceID: (absent) becomes i-1: Associate"]);
    assert_eq!(
        compared(json!({"networkInterfaceID": {"value": "eni-2"}}), &of_instance()),
        ["networkInterfaceID: eni-1 becomes eni-2: Associate"]
    );
}

#[test]
fn an_association_with_a_nat_gateway_is_not_changed() {
    assert!(compared(json!({}), &of_instance()).is_empty());
}

#[test]
fn at_most_one_association_is_accepted() {
    let both = json!({"instanceID": {"value": "web"}, "networkInterfaceID": {"value": "eni-1"}});
    assert_eq!(
        testing::problems::<ElasticIps>(both),
        [
            "spec.instanceID: must look like i-0abc1234def567890",
            "spec.networkInterfaceID: cannot be combined with instanceID",
        ]
    );
}
