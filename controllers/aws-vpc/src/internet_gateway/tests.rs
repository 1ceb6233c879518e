use kraken_aws::testing;
use serde_json::json;

use super::{
    InternetGateways,
    observed::{Attachment, InternetGateway},
};

impl InternetGateway {
    fn with_attachment(mut self, vpc_id: &str, state: &str) -> Self {
        self.attachments = vec![Attachment { vpc_id: vpc_id.to_owned(), state: state.to_owned() }];
        self
    }
}

fn compared(gateway: &InternetGateway) -> Vec<String> {
    testing::compared::<InternetGateways>(json!({"vpcID": {"value": "vpc-1"}}), gateway)
}

#[test]
fn a_missing_or_wrong_attachment_is_corrected() {
    assert_eq!(compared(&InternetGateway::default()), ["vpcID: (absent) becomes vpc-1: Attach"]);
    assert_eq!(
        compared(&InternetGateway::default().with_attachment("vpc-2", "available")),
        ["vpcID: vpc-2 becomes vpc-1: Attach"]
    );
}

#[test]
fn an_existing_or_pending_attachment_is_not_repeated() {
    for state in ["available", "attached", "attaching"] {
        assert!(compared(&InternetGateway::default().with_attachment("vpc-1", state)).is_empty(), "{state}");
    }
    assert!(!compared(&InternetGateway::default().with_attachment("vpc-1", "detached")).is_empty());
}

#[test]
fn without_a_vpc_the_attachment_is_not_managed() {
    let attached = InternetGateway::default().with_attachment("vpc-2", "available");
    assert!(testing::compared::<InternetGateways>(json!({}), &attached).is_empty());
}

#[test]
fn a_vpc_is_specified_by_its_id() {
    let found = testing::problems::<InternetGateways>(json!({"vpcID": {"value": "main"}}));
    assert_eq!(found, ["spec.vpcID: must look like vpc-0abc1234def567890"]);
}
