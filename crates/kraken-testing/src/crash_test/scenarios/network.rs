//! VPCs: a kind without tokens. The object of a launch without a response is found by its tags.

use kraken_simulator::{Kind, Service};
use serde_json::{Value, json};

use super::super::cloud::{ADOPTABLE, BLOCK};
use super::super::desired::{Desired, Query, object};
use super::super::scenario::{NETWORK, OutOfBand, Scenario, Step, apply};

/// A VPC of this block with its DNS setting, as it must then be described.
fn vpc(cidr: &'static str, hostnames: &'static str, team: &str, more: Value) -> Desired {
    let mut spec = json!({
        "cidrBlock": {"value": cidr}, "enableDNSHostnames": {"value": hostnames == "true"}, "tags": {"Team": team},
    });
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    let second = if spec["secondaryCIDRBlocks"].is_null() { None } else { Some("10.9.0.0/16") };
    let mut blocks: Vec<&str> = second.into_iter().chain([cidr]).collect();
    blocks.sort_unstable();
    Desired::of([object("VPC", "a", &spec)])
        .described(Query {
            of: "VPC/a",
            service: Service::Ec2,
            action: "DescribeVpcs",
            id: "VpcId.1",
            more: &[],
            texts: vec![("cidrBlock", blocks)],
        })
        .described(Query {
            of: "VPC/a",
            service: Service::Ec2,
            action: "DescribeVpcAttribute",
            id: "VpcId",
            more: &[("Attribute", "enableDnsHostnames")],
            texts: vec![("value", vec![hostnames])],
        })
}

pub(in super::super) fn all() -> Vec<Scenario> {
    let second = json!({"secondaryCIDRBlocks": {"value": ["10.9.0.0/16"]}});
    let simple = || vpc("10.20.0.0/16", "true", "web", json!({}));
    let replaced = |how| vpc("10.21.0.0/16", "true", "web", json!({"lifecycle": {"replace": how}}));
    let adopting = json!({"lifecycle": {"adopt": {"tags": {ADOPTABLE: "yes"}}, "deletion": "Delete"}});
    let nothing = || Step::Apply(Desired::nothing());
    vec![
        Scenario::new("vpc-create", NETWORK, apply(vpc("10.20.0.0/16", "true", "web", second.clone()))),
        Scenario::new("vpc-edit", NETWORK, apply(vpc("10.20.0.0/16", "false", "shop", second)))
            .after(simple())
            .bound(Kind::Vpc, 1, 1),
        Scenario::new("vpc-delete", NETWORK, vec![nothing(), Step::Settle]).after(simple()),
        Scenario::new("vpc-create-first", NETWORK, apply(replaced("CreateFirst"))).after(simple()).bound(
            Kind::Vpc,
            1,
            2,
        ),
        Scenario::new("vpc-delete-first", NETWORK, apply(replaced("DeleteFirst"))).after(simple()),
        Scenario {
            out_of_band: OutOfBand::Adoptable,
            ..Scenario::new("vpc-adopt", NETWORK, apply(vpc(BLOCK, "false", "web", adopting)))
        },
        Scenario::new(
            "vpc-abandon",
            NETWORK,
            vec![Step::Apply(simple()), Step::Await("cloud CreateVpc"), nothing(), Step::Settle],
        ),
    ]
}
