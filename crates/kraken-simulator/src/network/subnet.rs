//! Subnets: addresses in use block their deletion.

use std::collections::BTreeMap;

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::described::Described;
use crate::form::Form;
use crate::given_tags::given;
use crate::kind::Kind;
use crate::listing::{describe, made};
use crate::markup::Xml;
use crate::model::cidr::{Cidr, of_v6};
use crate::model::{RouteTable, Subnet, Vpc, zone};
use crate::refusal::Refusal;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateSubnet" => create,
        "DescribeSubnets" => describe::<Subnet>,
        "DeleteSubnet" => delete,
        "ModifySubnetAttribute" => modify,
        _ => return None,
    };
    Some(handler)
}

impl Described for Subnet {
    const IDS: &'static str = "SubnetId";
    const SET: &'static str = "subnetSet";
    const FILTERS: &'static [&'static str] = &[
        "subnet-id",
        "vpc-id",
        "availability-zone",
        "availabilityZone",
        "availability-zone-id",
        "availabilityZoneId",
        "cidr-block",
        "cidrBlock",
        "cidr",
        "default-for-az",
        "defaultForAz",
        "map-public-ip-on-launch",
        "owner-id",
        "state",
    ];

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        vec![match filter {
            "subnet-id" => self.id.clone(),
            "vpc-id" => self.vpc.clone(),
            "availability-zone" | "availabilityZone" => self.zone.name.clone(),
            "availability-zone-id" | "availabilityZoneId" => self.zone.id.clone(),
            "cidr-block" | "cidrBlock" | "cidr" => self.range.to_string(),
            "map-public-ip-on-launch" => self.maps_public.to_string(),
            "owner-id" => cloud.options.account.clone(),
            "state" => "available".to_owned(),
            _ => "false".to_owned(),
        }]
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("subnetId", &self.id);
        xml.text("subnetArn", format!("arn:aws:ec2:{}:subnet/{}", cloud.options.place(), self.id));
        xml.text("state", "available");
        xml.text("ownerId", &cloud.options.account);
        xml.text("vpcId", &self.vpc);
        xml.text("cidrBlock", self.range);
        xml.list("ipv6CidrBlockAssociationSet", &self.v6, |xml, range| {
            xml.text("ipv6CidrBlock", range);
            xml.text("associationId", self.id.replace("subnet-", "subnet-cidr-assoc-"));
            xml.tag("ipv6CidrBlockState", |xml| xml.text("state", "associated"));
        });
        xml.text("availableIpAddressCount", self.free_addresses());
        xml.text("availabilityZone", &self.zone.name);
        xml.text("availabilityZoneId", &self.zone.id);
        xml.text("defaultForAz", false);
        xml.text("mapPublicIpOnLaunch", self.maps_public);
        xml.text("assignIpv6AddressOnCreation", self.assigns_v6);
        xml.text("enableDns64", false);
        xml.text("ipv6Native", false);
    }
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let vpc = cloud.one::<Vpc>(form.required("VpcId")?)?;
    let range = Cidr::of(form.required("CidrBlock")?, "cidrBlock")?;
    if !range.fits_a_network() || !vpc.ranges().any(|block| block.contains(range)) {
        return Err(Refusal::new("InvalidSubnet.Range", format!("The CIDR '{range}' is invalid.")));
    }
    let vpc = vpc.id.clone();
    if cloud.store.subnets.values().any(|other| other.vpc == vpc && other.range.overlaps(range)) {
        let message = format!("The CIDR '{range}' conflicts with another subnet");
        return Err(Refusal::new("InvalidSubnet.Conflict", message));
    }
    let zone = match (form.get("AvailabilityZone"), form.get("AvailabilityZoneId")) {
        (Some(name), _) => zone::named(&cloud.options.region, name, "availabilityZone")?,
        (None, Some(id)) => zone::with_id(&cloud.options.region, id)?,
        (None, None) => {
            zone::named(&cloud.options.region, &zone::first(&cloud.options.region), "availabilityZone")?
        }
    };
    let v6 = form.get("Ipv6CidrBlock").map(|text| of_v6(text, "ipv6CidrBlock")).transpose()?;
    let tags = given(form, Kind::Subnet)?;
    let taken = BTreeMap::new();
    let new = |id| Subnet { id, vpc, range, v6, zone, maps_public: false, assigns_v6: false, taken };
    let number = cloud.make(tags, new);
    Ok(made::<Subnet>(cloud, number, "subnet"))
}

/// Its route table association is deleted with it; addresses in use block the deletion.
fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("SubnetId")?;
    let number = cloud.number::<Subnet>(id)?;
    if !cloud.one::<Subnet>(id)?.taken.is_empty() {
        let message = format!("The subnet '{id}' has dependencies and cannot be deleted.");
        return Err(Refusal::dependency(message));
    }
    let tables: Vec<u64> = cloud.store.route_tables.keys().copied().collect();
    for number in tables {
        cloud.touch::<RouteTable>(number, true);
        if let Some(table) = cloud.store.route_tables.get_mut(&number) {
            table.forget_subnet(id);
        }
    }
    cloud.remove_object::<Subnet>(number);
    Ok(done(vec![id.to_owned()]))
}

fn modify(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("SubnetId")?;
    let subnet = cloud.one_mut::<Subnet>(id)?;
    if let Some(wanted) = form.flag("MapPublicIpOnLaunch.Value")? {
        subnet.maps_public = wanted;
    } else if let Some(wanted) = form.flag("AssignIpv6AddressOnCreation.Value")? {
        if wanted && subnet.v6.is_none() {
            let message =
                format!("Invalid value 'true' for assignIpv6AddressOnCreation. {id} has no IPv6 CIDR");
            return Err(Refusal::new("InvalidParameterValue", message));
        }
        subnet.assigns_v6 = wanted;
    } else {
        return Err(Refusal::new("InvalidParameterCombination", "No attributes specified."));
    }
    Ok(done(vec![id.to_owned()]))
}
