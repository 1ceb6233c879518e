use kraken_aws::{
    AwsSpec as _,
    ec2::types,
    resource::{AwsResource as _, Phase, RemoteObject as _},
    testing::{self, with},
};
use serde_json::{Value, json};

use super::{
    VpcEndpoints,
    api::VPCEndpointSpec,
    observed::{DnsOptions, Group, VpcEndpoint},
};

const FULL_ACCESS: &str = r#"{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}"#;

fn written(changes: Value) -> Value {
    with(
        json!({"vpcID": {"value": "vpc-1"}, "serviceName": {"value": "com.amazonaws.us-east-1.s3"}}),
        changes,
    )
}

fn interface(changes: Value) -> Value {
    written(with(json!({"type": {"value": "Interface"}}), changes))
}

fn policy(action: &str) -> Value {
    json!({"statements": [{
        "effect": {"value": "Allow"}, "principals": {"aws": {"value": ["*"]}}, "actions": {"value": [action]},
        "resources": {"value": ["*"]},
    }]})
}

fn endpoint(kind: &str) -> VpcEndpoint {
    VpcEndpoint {
        vpc_endpoint_id: "vpce-1".into(),
        vpc_endpoint_type: Some(kind.into()),
        vpc_id: Some("vpc-1".into()),
        service_name: Some("com.amazonaws.us-east-1.s3".into()),
        state: "available".into(),
        route_table_ids: vec!["rtb-1".into()],
        subnet_ids: vec!["subnet-1".into()],
        groups: vec![Group { group_id: "sg-1".into() }],
        private_dns_enabled: Some(false),
        ip_address_type: Some("ipv4".into()),
        policy_document: FULL_ACCESS.into(),
        ..VpcEndpoint::default()
    }
}

#[test]
fn unset_fields_are_not_managed() {
    assert!(testing::compared::<VpcEndpoints>(written(json!({})), &endpoint("Gateway")).is_empty());
}

#[test]
fn the_vpc_the_service_and_the_type_are_immutable() {
    let other = json!({
        "vpcID": {"value": "vpc-2"}, "serviceName": {"value": "com.amazonaws.us-east-1.dynamodb"},
        "type": {"value": "Interface"},
    });
    assert_eq!(
        testing::compared::<VpcEndpoints>(written(other), &endpoint("Gateway")),
        [
            "vpcID: vpc-1 becomes vpc-2: fixed",
            "serviceName: com.amazonaws.us-east-1.s3 becomes com.amazonaws.us-east-1.dynamodb: fixed",
            "type: Gateway becomes Interface: fixed",
        ]
    );
}

#[test]
fn everything_else_changes_in_place_by_one_call() {
    let gateway = written(json!({"routeTableIDs": {"value": ["rtb-1", "rtb-2"]}, "policy": policy("s3:*")}));
    let found = testing::compared::<VpcEndpoints>(gateway, &endpoint("Gateway"));
    assert_eq!(found[0], "routeTableIDs: rtb-1 becomes rtb-1, rtb-2: Modify");
    assert!(found[1].starts_with("policy: ") && found[1].ends_with(": Modify"), "{found:?}");
    let more = interface(json!({
        "subnetIDs": {"value": ["subnet-2"]},
        "securityGroupIDs": {"value": ["sg-2"]},
        "privateDNSEnabled": {"value": true},
        "ipAddressType": {"value": "dualstack"},
        "dnsOptions": {"dnsRecordIPType": {"value": "dualstack"}},
    }));
    assert_eq!(
        testing::compared::<VpcEndpoints>(more, &endpoint("Interface")),
        [
            "subnetIDs: subnet-1 becomes subnet-2: Modify",
            "securityGroupIDs: sg-1 becomes sg-2: Modify",
            "privateDNSEnabled: false becomes true: Modify",
            "ipAddressType: ipv4 becomes dualstack: Modify",
            "dnsOptions.dnsRecordIPType: (absent) becomes dualstack: Modify",
        ]
    );
}

#[test]
fn the_policy_is_compared_by_its_meaning() {
    let mut have = endpoint("Gateway");
    have.policy_document = r#"{"Version":"2012-10-17","Statement":{"Resource":["*"],"Action":["S3:*"],"Principal":{"AWS":["*"]},"Effect":"Allow"}}"#.into();
    let same = written(json!({"policy": policy("s3:*")}));
    assert_eq!(testing::compared::<VpcEndpoints>(same, &have), [""; 0]);
}

#[test]
fn fields_of_another_type_of_endpoint_are_problems() {
    let all = json!({
        "routeTableIDs": {"value": ["rtb-1"]}, "subnetIDs": {"value": ["subnet-1"]},
        "securityGroupIDs": {"value": ["sg-1"]}, "privateDNSEnabled": {"value": true}, "policy": policy("s3:*"),
    });
    let problems = |kind: Value| {
        let found = testing::problems::<VpcEndpoints>(written(with(all.clone(), json!({"type": kind}))));
        found
            .iter()
            .map(|text| text.replace("spec.", "").replace("is only supported for endpoints of type ", ""))
            .collect::<Vec<_>>()
    };
    let of_gateway = [
        "subnetIDs: Interface and GatewayLoadBalancer",
        "securityGroupIDs: Interface",
        "privateDNSEnabled: Interface",
    ];
    assert_eq!(problems(Value::Null), of_gateway);
    assert_eq!(problems(json!({"value": "Gateway"})), of_gateway);
    assert_eq!(problems(json!({"value": "Interface"})), ["routeTableIDs: Gateway"]);
    assert_eq!(
        problems(json!({"value": "GatewayLoadBalancer"})),
        [
            "routeTableIDs: Gateway",
            "securityGroupIDs: Interface",
            "policy: Gateway and Interface",
            "privateDNSEnabled: Interface"
        ]
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    assert_eq!(
        testing::problems::<VpcEndpoints>(json!({
            "vpcID": {"value": "main"},
            "serviceName": {"value": "Amazon S3"},
            "type": {"value": "Tunnel"},
            "policy": {"statements": []},
            "dnsOptions": {"dnsRecordIPType": {"value": "ipv5"}},
        })),
        [
            "spec.vpcID: must look like vpc-0abc1234def567890",
            "spec.serviceName: must be the name of an endpoint service such as com.amazonaws.us-east-1.s3",
            "spec.type: must be one of Gateway, Interface, GatewayLoadBalancer",
            "spec.dnsOptions.dnsRecordIPType: must be one of ipv4, dualstack, ipv6, service-defined",
            "spec.policy: must have at least 1 statement: without any, nobody could use the endpoint",
        ]
    );
}

#[test]
fn an_endpoint_is_imported_without_what_aws_chooses() {
    let gateway = VPCEndpointSpec::imported(&endpoint("Gateway"));
    let subnets = json!({"value": ["subnet-1"]});
    let expected = json!({
        "vpcID": {"value": "vpc-1"}, "serviceName": {"value": "com.amazonaws.us-east-1.s3"},
        "routeTableIDs": {"value": ["rtb-1"]}, "subnetIDs": subnets, "securityGroupIDs": {"value": ["sg-1"]},
    });
    assert_eq!(gateway.group(), Some(expected.clone()));
    let mut other = endpoint("Interface");
    other.policy_document = FULL_ACCESS.replace(r#""Action":"*""#, r#""Action":"s3:GetObject""#);
    other.dns_options =
        Some(DnsOptions { dns_record_ip_type: Some("dualstack".into()), ..DnsOptions::default() });
    let written = VPCEndpointSpec::imported(&other).group().unwrap();
    assert_eq!(written["type"], json!({"value": "Interface"}));
    assert_eq!(written["privateDNSEnabled"], json!({"value": false}));
    assert_eq!(written["dnsOptions"], json!({"dnsRecordIPType": {"value": "dualstack"}}));
    assert!(written["policy"].to_string().contains("s3:GetObject"), "{written}");
}

#[test]
fn endpoints_of_services_and_of_other_types_are_not_importable() {
    assert_eq!(VpcEndpoints::not_importable(&endpoint("Interface")), None);
    let other = VpcEndpoints::not_importable(&endpoint("Resource"));
    assert_eq!(other.as_deref(), Some("an endpoint of type Resource, which no resource can manage"));
    let of_a_service = VpcEndpoint { is_of_a_service: true, ..endpoint("Interface") };
    assert!(VpcEndpoints::not_importable(&of_a_service).is_some());
}

#[test]
fn the_phase_follows_the_state_in_any_case_of_letters() {
    let phase = |state: &str| VpcEndpoint { state: state.into(), ..endpoint("Interface") }.phase();
    assert_eq!((phase("available"), phase("Available")), (Phase::Available, Phase::Available));
    assert_eq!(phase("pending"), Phase::Pending("pending".into()));
    for state in ["pendingAcceptance", "PendingAcceptance"] {
        assert!(
            matches!(phase(state), Phase::Pending(what) if what.contains("the owner of the service")),
            "{state}"
        );
    }
    assert!(matches!(phase("rejected"), Phase::Failed(why) if why.contains("rejected")));
    assert_eq!((phase("deleting"), phase("deleted")), (Phase::Deleting, Phase::Deleted));
    let failed = types::VpcEndpoint::builder()
        .state("failed".into())
        .last_error(types::LastError::builder().message("no capacity").build())
        .build();
    assert_eq!(VpcEndpoint::from(failed).phase(), Phase::Failed("no capacity".into()));
}
