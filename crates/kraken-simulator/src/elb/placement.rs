//! The subnets of a load balancer, one in each zone, and its security groups.

use crate::cloud::Cloud;
use crate::form::Form;
use crate::model::load_balancer::{Settings, Zoned};
use crate::model::{SecurityGroup, Subnet};
use crate::network::{default_group, has_gateway};
use crate::refusal::Refusal;

/// Allocates an address in each of these subnets, or in none.
pub(super) fn allocate_addresses<'a>(
    cloud: &mut Cloud,
    arn: &str,
    subnets: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Refusal> {
    let is_full = |id: &&str| cloud.existing::<Subnet>(id).is_none_or(|subnet| subnet.free_addresses() == 0);
    if let Some(full) = subnets.clone().find(is_full) {
        return Err(Refusal::new("InvalidSubnet", format!("Not enough IP space available in {full}")));
    }
    for id in subnets {
        if let Some(subnet) = cloud.existing_mut::<Subnet>(id) {
            subnet.take(arn)?;
        }
    }
    Ok(())
}

/// The VPC and the subnets in the parameters of a call.
pub(super) fn subnets(
    cloud: &Cloud,
    form: &Form,
    settings: &Settings,
) -> Result<(String, Vec<Zoned>), Refusal> {
    let mut named: Vec<(String, Option<String>)> =
        form.list("Subnets.member").into_iter().map(|id| (id.to_owned(), None)).collect();
    for mapping in form.structures("SubnetMappings.member") {
        named.push((mapping.required("SubnetId")?.to_owned(), mapping.text("AllocationId")));
    }
    if named.is_empty() {
        return Err(Refusal::invalid("You must specify either subnets or subnet mappings"));
    }
    let mut vpc: Option<&str> = None;
    let mut zones: Vec<Zoned> = vec![];
    for (id, allocation) in named {
        let missing = || Refusal::new("SubnetNotFound", format!("The subnet ID '{id}' does not exist"));
        let subnet = cloud.existing::<Subnet>(&id).ok_or_else(missing)?;
        if *vpc.get_or_insert(&subnet.vpc) != subnet.vpc {
            return Err(Refusal::misconfigured("All subnets must belong to the same VPC"));
        }
        if zones.iter().any(|other| other.zone == subnet.zone()) {
            return Err(Refusal::misconfigured(
                "A load balancer cannot be attached to multiple subnets in the same Availability Zone",
            ));
        }
        zones.push(Zoned { zone: subnet.zone().to_owned(), subnet: id, allocation });
    }
    if settings.application && zones.len() < 2 {
        return Err(Refusal::invalid(
            "At least two subnets in two different Availability Zones must be specified",
        ));
    }
    let vpc = vpc.unwrap_or_default().to_owned();
    if settings.scheme == "internet-facing" && !has_gateway(cloud, &vpc) {
        return Err(Refusal::new("InvalidSubnet", format!("VPC {vpc} has no internet gateway")));
    }
    Ok((vpc, zones))
}

/// The security groups in the parameters of a call; an application load balancer without any has its VPC's default
/// group.
pub(super) fn groups(
    cloud: &Cloud,
    form: &Form,
    settings: &Settings,
    vpc: &str,
) -> Result<Vec<String>, Refusal> {
    let named: Vec<String> = form.list("SecurityGroups.member").into_iter().map(str::to_owned).collect();
    for id in &named {
        if cloud.existing::<SecurityGroup>(id).is_none_or(|group| group.vpc != vpc) {
            let message = format!("One or more security groups are invalid: '{id}' is not in '{vpc}'");
            return Err(Refusal::new("InvalidSecurityGroup", message));
        }
    }
    if named.is_empty() && settings.application {
        return Ok(default_group(cloud, vpc).into_iter().collect());
    }
    Ok(named)
}
