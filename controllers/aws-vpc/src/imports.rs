//! The import of each kind is the inverse of its creation: what a spec creates in the simulator is imported as the same spec.

use kraken_aws::{
    Aws, AwsResource,
    import::round_trip::{all, import, imported},
    testing,
};
use kraken_kind::import::{Found, Scope};
use kraken_simulator::{Simulator, SimulatorOptions};
use serde_json::{Value, json};

use crate::{
    elastic_ip::ElasticIps, internet_gateway::InternetGateways, key_pair::KeyPairs, nat_gateway::NatGateways,
    route_table::RouteTables, security_group::SecurityGroups, subnet::Subnets, volume::Volumes, vpc::Vpcs,
};

struct Site {
    cloud: Simulator,
    aws: Aws,
    vpc: String,
    subnet: String,
}

async fn site() -> Site {
    let cloud = Simulator::start(SimulatorOptions::default()).unwrap();
    let aws = testing::aws(cloud.endpoint()).await;
    let vpc = make(&cloud, "CreateVpc", &[("CidrBlock", "10.0.0.0/16")]);
    let fields = [("VpcId", vpc.as_str()), ("CidrBlock", "10.0.1.0/24"), ("AvailabilityZone", "us-east-1a")];
    let subnet = make(&cloud, "CreateSubnet", &fields);
    Site { cloud, aws, vpc, subnet }
}

fn make(cloud: &Simulator, action: &str, fields: &[(&str, &str)]) -> String {
    cloud.out_of_band(action, fields).unwrap().remove(0)
}

impl Site {
    /// An instance that another client launched.
    fn instance(&self, more: &[(&str, &str)]) -> String {
        let usual = [
            ("ImageId", "ami-12c6146b"),
            ("InstanceType", "t3.micro"),
            ("MinCount", "1"),
            ("MaxCount", "1"),
            ("SubnetId", self.subnet.as_str()),
        ];
        make(&self.cloud, "RunInstances", &[&usual[..], more].concat())
    }

    async fn imported<S: AwsResource>(&self, written: &Value) -> Found {
        imported::<S>(&self.aws, written).await
    }

    /// What the spec creates is imported as this spec.
    async fn returns<S: AwsResource>(&self, written: Value) {
        let found = self.imported::<S>(&written).await;
        assert_eq!(found.spec, Ok(written), "{:?}", found.notes);
        assert_eq!(found.notes, [""; 0]);
    }
}

#[tokio::test]
async fn a_vpc() {
    let site = site().await;
    site.returns::<Vpcs>(json!({"cidrBlock": {"value": "10.1.0.0/16"}})).await;
    site.returns::<Vpcs>(json!({
        "cidrBlock": {"value": "10.2.0.0/16"},
        "secondaryCIDRBlocks": {"value": ["10.3.0.0/16"]},
        "enableDNSHostnames": {"value": true},
        "instanceTenancy": {"value": "dedicated"},
        "tags": {"Name": "main"},
    }))
    .await;
}

#[tokio::test]
async fn a_subnet() {
    let site = site().await;
    site.returns::<Subnets>(json!({
        "vpcID": {"value": site.vpc},
        "cidrBlock": {"value": "10.0.2.0/24"},
        "availabilityZone": {"value": "us-east-1b"},
        "mapPublicIPOnLaunch": {"value": true},
    }))
    .await;
}

#[tokio::test]
async fn an_internet_gateway_and_a_route_table() {
    let site = site().await;
    let gateway = json!({"vpcID": {"value": site.vpc}});
    let found = site.imported::<InternetGateways>(&gateway).await;
    assert_eq!(found.spec, Ok(gateway));
    site.returns::<RouteTables>(json!({
        "vpcID": {"value": site.vpc},
        "routes": [{
            "destinationCIDRBlock": {"value": "0.0.0.0/0"},
            "gatewayID": {"value": found.id},
        }],
        "subnetIDs": {"value": [site.subnet]},
    }))
    .await;
}

#[tokio::test]
async fn the_main_route_table_and_the_default_group_are_not_importable() {
    let site = site().await;
    let within = Scope::Within(site.vpc.clone());
    let tables = all::<RouteTables>(&site.aws, &within).await;
    assert_eq!(tables[0].spec, Err("the main route table, with the local route only".to_owned()));
    let groups = all::<SecurityGroups>(&site.aws, &within).await;
    assert_eq!(groups[0].spec, Err("the default security group of its VPC".to_owned()));
}

#[tokio::test]
async fn a_security_group() {
    let site = site().await;
    site.returns::<SecurityGroups>(json!({
        "vpcID": {"value": site.vpc},
        "groupName": {"value": "web"},
        "description": {"value": "the web"},
        "ingress": [
            {
                "protocol": {"value": "icmp"},
                "fromPort": {"value": 8},
                "cidrBlocks": {"value": ["10.0.0.0/8"]},
            },
            {
                "protocol": {"value": "tcp"},
                "fromPort": {"value": 443},
                "cidrBlocks": {"value": ["10.0.0.0/8", "192.168.0.0/16"]},
                "securityGroupIDs": {"value": ["self"]},
            },
            {
                "protocol": {"value": "tcp"},
                "fromPort": {"value": 8000},
                "toPort": {"value": 8100},
                "description": {"value": "range"},
                "ipv6CIDRBlocks": {"value": ["::/0"]},
            },
        ],
        "egress": [],
    }))
    .await;
}

#[tokio::test]
async fn a_nat_gateway_with_its_address() {
    let site = site().await;
    site.returns::<NatGateways>(json!({
        "subnetID": {"value": site.subnet},
        "connectivityType": {"value": "private"},
    }))
    .await;
    site.imported::<InternetGateways>(&json!({"vpcID": {"value": site.vpc}})).await;
    let address = site.imported::<ElasticIps>(&json!({})).await;
    site.returns::<NatGateways>(json!({
        "subnetID": {"value": site.subnet},
        "allocationID": {"value": address.id},
    }))
    .await;
    // Found by the gateway, and without the interface, which is the gateway's.
    let found = import::<ElasticIps>(&site.aws, &Scope::Within(site.vpc.clone()), &address.id).await;
    assert_eq!(found.spec, Ok(json!({})));
}

#[tokio::test]
async fn an_address_a_key_pair_and_a_volume_of_an_instance() {
    let site = site().await;
    let key = json!({
        "publicKey": {"value": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGwgNFZAjcxT1ksmUvjFgiwea9S1oJV/QX+ZJKHQRrEV"},
        "keyName": {"value": "ops"},
    });
    site.returns::<KeyPairs>(key).await;
    let instance = site.instance(&[("KeyName", "ops")]);
    let within = Scope::Within(site.vpc.clone());
    import::<KeyPairs>(&site.aws, &within, "ops").await;
    let volume = json!({
        "availabilityZone": {"value": "us-east-1a"},
        "sizeGiB": {"value": 20},
        "type": {"value": "gp3"},
        "iops": {"value": 4000},
        "encrypted": {"value": true},
        "instanceID": {"value": instance},
        "device": {"value": "/dev/sdf"},
    });
    let found = site.imported::<Volumes>(&volume).await;
    let mut spec = found.spec.unwrap();
    // AWS chooses a key.
    spec.as_object_mut().unwrap().remove("kmsKeyID");
    assert_eq!(spec, volume);
    import::<Volumes>(&site.aws, &within, &found.id).await;
}

#[tokio::test]
async fn an_object_of_a_resource_has_an_owner_and_no_spec() {
    let site = site().await;
    let owned = [
        ("kraken-iac.eoinfennessy.com/cluster", "c"),
        ("kraken-iac.eoinfennessy.com/uid", "u"),
        ("kraken-iac.eoinfennessy.com/owner", "VPC/shop/main"),
    ];
    let vpc = make(&site.cloud, "CreateVpc", &[("CidrBlock", "10.1.0.0/16")]);
    for (key, value) in owned {
        site.cloud.tag_out_of_band(&vpc, key, Some(value)).unwrap();
    }
    let found = import::<Vpcs>(&site.aws, &Scope::Account, &vpc).await;
    assert_eq!(found.owner.unwrap().owner, "VPC/shop/main");
    assert!(found.spec.is_err());
}

#[tokio::test]
async fn objects_are_found_by_their_tags() {
    let site = site().await;
    let tagged = site
        .imported::<Vpcs>(&json!({"cidrBlock": {"value": "10.1.0.0/16"}, "tags": {"Team": "shop"}}))
        .await;
    let wanted = Scope::Tags([("Team".to_owned(), "shop".to_owned())].into());
    let found = all::<Vpcs>(&site.aws, &wanted).await;
    assert_eq!(found.iter().map(|found| &found.id).collect::<Vec<_>>(), [&tagged.id]);
}
