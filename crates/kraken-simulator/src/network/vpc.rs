//! VPCs. Each is created and deleted with its main route table and its default security group.

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::described::Described;
use crate::form::Form;
use crate::given_tags::given;
use crate::kind::Kind;
use crate::listing::{describe, made};
use crate::markup::Xml;
use crate::model::cidr::Cidr;
use crate::model::vpc::Block;
use crate::model::{RouteTable, SecurityGroup, Vpc};
use crate::refusal::Refusal;

use super::gateway::has_gateway;
use super::{route_table, security_group};

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateVpc" => create,
        "DescribeVpcs" => describe::<Vpc>,
        "DeleteVpc" => delete,
        "ModifyVpcAttribute" => modify,
        "DescribeVpcAttribute" => |cloud, form| attribute(cloud, form),
        _ => return None,
    };
    Some(handler)
}

impl Described for Vpc {
    const IDS: &'static str = "VpcId";
    const SET: &'static str = "vpcSet";
    const FILTERS: &'static [&'static str] = &[
        "vpc-id",
        "cidr",
        "cidr-block-association.association-id",
        "cidr-block-association.cidr-block",
        "ipv6-cidr-block-association.ipv6-cidr-block",
        "is-default",
        "isDefault",
        "owner-id",
        "state",
    ];

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        let (new, old): (Vec<&Block>, Vec<&Block>) = self.blocks.iter().partition(|block| block.is_v6());
        let texts = |blocks: &[&Block]| blocks.iter().map(|block| block.text.clone()).collect();
        match filter {
            "vpc-id" => vec![self.id.clone()],
            "cidr" => texts(&old[..1.min(old.len())]),
            "cidr-block-association.association-id" => {
                old.iter().map(|block| block.association.clone()).collect()
            }
            "cidr-block-association.cidr-block" => texts(&old),
            "ipv6-cidr-block-association.ipv6-cidr-block" => texts(&new),
            "owner-id" => vec![cloud.options.account.clone()],
            "state" => vec!["available".to_owned()],
            _ => vec!["false".to_owned()],
        }
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("vpcId", &self.id);
        xml.text("ownerId", &cloud.options.account);
        xml.text("state", if self.made_by == cloud.call { "pending" } else { "available" });
        xml.optional("cidrBlock", self.blocks.first().map(|block| &block.text));
        xml.text("dhcpOptionsId", "dopt-0123456789abcdef0");
        xml.text("instanceTenancy", &self.tenancy);
        xml.text("isDefault", false);
        let (new, old): (Vec<&Block>, Vec<&Block>) = self.blocks.iter().partition(|block| block.is_v6());
        xml.list("cidrBlockAssociationSet", old, |xml, block| block.write(xml, "associated"));
        if !new.is_empty() {
            xml.list("ipv6CidrBlockAssociationSet", new, |xml, block| block.write(xml, "associated"));
        }
    }
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let range = Cidr::of(form.required("CidrBlock")?, "cidrBlock")?;
    if !range.fits_a_network() {
        return Err(Refusal::new("InvalidVpc.Range", format!("The CIDR '{range}' is invalid.")));
    }
    let tenancy = form.text("InstanceTenancy").unwrap_or_else(|| "default".to_owned());
    if !["default", "dedicated"].contains(&tenancy.as_str()) {
        let message = format!("The tenancy value {tenancy} is not supported.");
        return Err(Refusal::new("UnsupportedTenancy", message));
    }
    let tags = given(form, Kind::Vpc)?;
    let mut blocks = vec![Block::v4(&mut cloud.part_ids, range)];
    if form.flag("AmazonProvidedIpv6CidrBlock")?.unwrap_or(false) {
        blocks.push(Block::v6(&mut cloud.part_ids));
    }
    let made_by = cloud.call;
    let new = |id| Vpc { id, blocks, tenancy, dns_support: true, dns_hostnames: false, made_by };
    let number = cloud.make(tags, new);
    if let Some(vpc) = cloud.store.vpcs.get(&number).cloned() {
        route_table::make_main(cloud, &vpc);
        security_group::make_default(cloud, &vpc.id);
    }
    Ok(made::<Vpc>(cloud, number, "vpc"))
}

fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("VpcId")?;
    let number = cloud.number::<Vpc>(id)?;
    let store = &cloud.store;
    let is_needed = store.subnets.values().any(|subnet| subnet.vpc == id)
        || has_gateway(cloud, id)
        || store.route_tables.values().any(|table| table.vpc == id && !table.is_main())
        || store.security_groups.values().any(|group| group.vpc == id && !group.is_default());
    if is_needed {
        let message = format!("The vpc '{id}' has dependencies and cannot be deleted.");
        return Err(Refusal::dependency(message));
    }
    let of_vpc = |vpc: &str| vpc == id;
    let tables: Vec<u64> =
        store.route_tables.iter().filter(|(_, table)| of_vpc(&table.vpc)).map(|(n, _)| *n).collect();
    let groups: Vec<u64> =
        store.security_groups.iter().filter(|(_, group)| of_vpc(&group.vpc)).map(|(n, _)| *n).collect();
    for number in tables {
        cloud.remove_object::<RouteTable>(number);
    }
    for number in groups {
        cloud.remove_object::<SecurityGroup>(number);
    }
    cloud.remove_object::<Vpc>(number);
    Ok(done(vec![id.to_owned()]))
}

fn modify(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("VpcId")?;
    let vpc = cloud.one_mut::<Vpc>(id)?;
    let wanted = [form.flag("EnableDnsSupport.Value")?, form.flag("EnableDnsHostnames.Value")?];
    match wanted {
        [Some(_), Some(_)] => {
            let message = "Only one attribute can be modified at a time";
            return Err(Refusal::new("InvalidParameterCombination", message));
        }
        [Some(support), None] => vpc.dns_support = support,
        [None, Some(true)] if !vpc.dns_support => {
            let message = "DNS hostnames cannot be enabled while DNS support is disabled";
            return Err(Refusal::new("InvalidParameterCombination", message));
        }
        [None, Some(hostnames)] => vpc.dns_hostnames = hostnames,
        [None, None] => {
            return Err(Refusal::new("InvalidParameterCombination", "No attributes specified."));
        }
    }
    Ok(done(vec![id.to_owned()]))
}

fn attribute(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (id, name) = (form.required("VpcId")?, form.required("Attribute")?);
    let vpc = cloud.one::<Vpc>(id)?;
    let value = match name {
        "enableDnsSupport" => vpc.dns_support,
        "enableDnsHostnames" => vpc.dns_hostnames,
        other => {
            let message = format!("Value ({other}) for parameter attribute is invalid. Unknown attribute.");
            return Err(Refusal::new("InvalidParameterValue", message));
        }
    };
    Ok(Answer::about(id, |xml| {
        xml.text("vpcId", id);
        xml.tag(name, |xml| xml.text("value", value));
    }))
}
