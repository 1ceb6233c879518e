use kraken_aws::{
    AwsSpec as _,
    resource::{Phase, RemoteObject},
    testing::{self, assert_begin, rendered, with},
};
use serde_json::{Value, json};

use super::{
    Balancers,
    api::{Desired, LoadBalancerSpec},
    observed::{Balancer, DELETION_PROTECTION, State, Zone},
};

fn written(changes: Value) -> Value {
    with(json!({"subnetIDs": {"value": ["subnet-1", "subnet-2"]}}), changes)
}

fn wanted(changes: Value) -> Desired {
    testing::desired::<Balancers>(written(changes))
}

fn problems(changes: Value) -> Vec<String> {
    testing::problems::<Balancers>(written(changes))
}

fn balancer() -> Balancer {
    let zone = |id: &str| Zone { subnet_id: Some(id.to_owned()), zone_name: None };
    Balancer {
        load_balancer_arn: "arn:1".into(),
        load_balancer_name: "kraken-1".into(),
        r#type: Some("application".into()),
        scheme: Some("internet-facing".into()),
        ip_address_type: Some("ipv4".into()),
        security_groups: vec!["sg-1".into()],
        availability_zones: vec![zone("subnet-2"), zone("subnet-1")],
        ..Balancer::default()
    }
}

#[test]
fn unset_fields_and_the_order_of_subnets_are_ignored() {
    assert_eq!(rendered(LoadBalancerSpec::differences(&wanted(json!({})), &balancer())), [""; 0]);
}

#[test]
fn mutable_fields_are_changed_and_immutable_ones_reported() {
    let other = wanted(json!({
        "name": {"value": "web"}, "type": {"value": "network"}, "scheme": {"value": "internal"},
        "subnetIDs": {"value": ["subnet-2", "subnet-3"]}, "securityGroupIDs": {"value": ["sg-2"]},
        "ipAddressType": {"value": "dualstack"},
    }));
    assert_eq!(
        rendered(LoadBalancerSpec::differences(&other, &balancer())),
        [
            "name: kraken-1 becomes web: fixed",
            "type: application becomes network: fixed",
            "scheme: internet-facing becomes internal: fixed",
            "subnetIDs: subnet-2, subnet-1 becomes subnet-2, subnet-3: Subnets",
            "securityGroupIDs: sg-1 becomes sg-2: SecurityGroups",
            "ipAddressType: ipv4 becomes dualstack: IpAddressType",
        ]
    );
}

#[test]
fn attributes_are_compared_only_when_they_were_read() {
    let protected =
        wanted(json!({"deletionProtection": {"value": true}, "idleTimeoutSeconds": {"value": 120}}));
    assert_eq!(rendered(LoadBalancerSpec::differences(&protected, &balancer())), [""; 0]);
    let attributes = [(DELETION_PROTECTION.to_owned(), "false".to_owned())].into();
    let read = Balancer { attributes: Some(attributes), ..balancer() };
    assert_eq!(
        rendered(LoadBalancerSpec::differences(&protected, &read)),
        [
            "deletionProtection: false becomes true: DeletionProtection",
            "idleTimeoutSeconds: (absent) becomes 120: IdleTimeout"
        ]
    );
}

#[test]
fn it_is_ready_when_aws_reports_active() {
    let phase = |code: &str| {
        let state = State { code: Some(code.to_owned()), reason: Some("no capacity".to_owned()) };
        Balancer { state: Some(state), ..balancer() }.phase()
    };
    assert_eq!(phase("provisioning"), Phase::Pending("provisioning".into()));
    assert_eq!((phase("active"), phase("active_impaired")), (Phase::Available, Phase::Available));
    assert_eq!(phase("failed"), Phase::Failed("no capacity".into()));
}

#[test]
fn all_problems_are_reported_at_once() {
    let found = problems(json!({
        "name": {"value": "internal-web"},
        "subnetIDs": {"value": ["subnet-1", {"valueFrom": {"krakenResource": {"kind": "subnet", "name": "b"}}}]},
        "securityGroupIDs": {"value": []},
        "idleTimeoutSeconds": {"value": 0},
    }));
    let wanted = [
        "spec.name: must not start with internal-",
        "spec.subnetIDs.value[1]: waiting for the id of subnet b",
        "spec.securityGroupIDs: must have at least 1",
        "spec.idleTimeoutSeconds: must be 1 to 4000",
    ];
    assert_begin(&found, &wanted);
}

#[test]
fn each_type_has_its_own_rules() {
    let one = json!({"subnetIDs": {"value": ["subnet-1"]}});
    assert_begin(&problems(one), &["spec.subnetIDs: must have at least 2"]);
    let network = json!({"type": {"value": "network"}, "subnetIDs": {"value": ["subnet-1"]}});
    wanted(network);
    let idle = json!({"type": {"value": "network"}, "idleTimeoutSeconds": {"value": 60}});
    assert_begin(&problems(idle), &["spec.idleTimeoutSeconds: is not supported"]);
}
