//! The CIDR blocks of a VPC: the primary and the secondary ones.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::model::cidr::Cidr;
use crate::model::vpc::Block;
use crate::model::{RouteTable, Vpc};
use crate::refusal::Refusal;

/// AWS's default quota.
const MOST: usize = 5;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "AssociateVpcCidrBlock" => associate,
        "DisassociateVpcCidrBlock" => disassociate,
        _ => return None,
    };
    Some(handler)
}

fn associate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("VpcId")?;
    let vpc = cloud.one::<Vpc>(id)?;
    let amazons = form.flag("AmazonProvidedIpv6CidrBlock")?.unwrap_or(false);
    let block = if amazons {
        Block::v6(&mut cloud.part_ids)
    } else {
        let range = Cidr::of(form.required("CidrBlock")?, "cidrBlock")?;
        if !range.fits_a_network() {
            return Err(Refusal::new("InvalidVpc.Range", format!("The CIDR '{range}' is invalid.")));
        }
        if let Some(other) = vpc.ranges().find(|other| other.overlaps(range)) {
            let message = format!("The CIDR '{range}' conflicts with the CIDR '{other}' of {id}");
            return Err(Refusal::new("CidrConflict", message));
        }
        if vpc.ranges().count() >= MOST {
            let message = format!("This network '{id}' has met its maximum number of allowed CIDRs: {MOST}");
            return Err(Refusal::new("CidrLimitExceeded", message));
        }
        Block::v4(&mut cloud.part_ids, range)
    };
    let answer = answer(&block, id, "associating");
    let ranges = {
        let vpc = cloud.one_mut::<Vpc>(id)?;
        vpc.blocks.push(block);
        vpc.ranges().collect::<Vec<_>>()
    };
    relocate(cloud, id, &ranges);
    Ok(answer)
}

fn disassociate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let association = form.required("AssociationId")?;
    let holds = |vpc: &&Vpc| vpc.blocks.iter().any(|block| block.association == association);
    let Some(vpc) = cloud.store.vpcs.values().find(holds) else {
        let message = format!("The vpc CIDR block association ID '{association}' does not exist");
        return Err(Refusal::new("InvalidVpcCidrBlockAssociationID.NotFound", message));
    };
    let id = vpc.id.clone();
    let index = vpc.blocks.iter().position(|block| block.association == association).unwrap_or(0);
    if index == 0 {
        let message = format!(
            "The vpc CIDR block with association ID {association} may not be disassociated. \
             It is the primary IPv4 CIDR block of the VPC"
        );
        return Err(Refusal::new("OperationNotPermitted", message));
    }
    if let Some(range) = vpc.blocks[index].range
        && cloud.store.subnets.values().any(|subnet| subnet.vpc == id && range.contains(subnet.range))
    {
        let message = format!(
            "The vpc CIDR block with association ID {association} has dependencies and cannot be deleted."
        );
        return Err(Refusal::dependency(message));
    }
    let vpc = cloud.one_mut::<Vpc>(&id)?;
    let block = vpc.blocks.remove(index);
    let ranges: Vec<Cidr> = vpc.ranges().collect();
    relocate(cloud, &id, &ranges);
    Ok(answer(&block, &id, "disassociating"))
}

fn answer(block: &Block, vpc: &str, state: &str) -> Answer {
    let name = if block.is_v6() { "ipv6CidrBlockAssociation" } else { "cidrBlockAssociation" };
    Answer::about(vpc, |xml| {
        xml.text("vpcId", vpc);
        xml.tag(name, |xml| block.write(xml, state));
    })
}

/// Every route table of a VPC has a local route for each of its ranges.
fn relocate(cloud: &mut Cloud, vpc: &str, ranges: &[Cidr]) {
    let is_here = |(_, table): &(&u64, &RouteTable)| table.vpc == vpc;
    let here: Vec<u64> = cloud.store.route_tables.iter().filter(is_here).map(|(number, _)| *number).collect();
    for number in here {
        cloud.touch::<RouteTable>(number, true);
        if let Some(table) = cloud.store.route_tables.get_mut(&number) {
            table.set_local(ranges);
        }
    }
}
