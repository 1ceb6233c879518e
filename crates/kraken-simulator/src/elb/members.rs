//! Changes the subnets, the security groups and the address type of a load balancer.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::model::{LoadBalancer, Subnet};
use crate::refusal::Refusal;
use crate::releases::release_addresses;

use super::placement::{allocate_addresses, groups, subnets};

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "SetSubnets" => set_subnets,
        "SetSecurityGroups" => set_groups,
        "SetIpAddressType" => set_address_type,
        _ => return None,
    };
    Some(handler)
}

fn set_subnets(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("LoadBalancerArn")?;
    let before = cloud.one::<LoadBalancer>(arn)?.clone();
    let (vpc, zones) = subnets(cloud, form, &before.settings)?;
    if vpc != before.vpc {
        return Err(Refusal::misconfigured(format!(
            "The subnets are not in the load balancer's VPC '{}'",
            before.vpc
        )));
    }
    let is_new = |subnet: &&str| !before.zones.iter().any(|zone| zone.subnet == *subnet);
    allocate_addresses(cloud, arn, zones.iter().map(|zone| zone.subnet.as_str()).filter(is_new))?;
    release_addresses(cloud, &before, &zones);
    cloud.one_mut::<LoadBalancer>(arn)?.zones.clone_from(&zones);
    Ok(Answer::about(arn, |xml| {
        xml.members("AvailabilityZones", &zones, |xml, zone| zone.write_xml(xml));
        xml.text("IpAddressType", &before.settings.address_type);
    }))
}

fn set_groups(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let arn = form.required("LoadBalancerArn")?;
    let one = cloud.one::<LoadBalancer>(arn)?;
    if !one.settings.application && one.groups.is_empty() {
        let message =
            "You cannot set security groups for a Network Load Balancer that was created without any";
        return Err(Refusal::misconfigured(message));
    }
    form.required("SecurityGroups.member.1")?;
    let groups = groups(cloud, form, &one.settings, &one.vpc)?;
    cloud.one_mut::<LoadBalancer>(arn)?.groups.clone_from(&groups);
    Ok(Answer::about(arn, |xml| {
        xml.members("SecurityGroupIds", &groups, |xml, group| xml.plain(group));
    }))
}

fn set_address_type(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (arn, wanted) = (form.required("LoadBalancerArn")?, form.required("IpAddressType")?);
    let one = cloud.one::<LoadBalancer>(arn)?;
    if !["ipv4", "dualstack"].contains(&wanted) {
        return Err(Refusal::invalid(format!("'{wanted}' is not a valid IP address type")));
    }
    let has_v6 = |id: &str| cloud.existing::<Subnet>(id).is_some_and(Subnet::has_v6);
    if wanted == "dualstack" && !one.zones.iter().all(|zone| has_v6(&zone.subnet)) {
        let message = "You must specify subnets with an associated IPv6 CIDR block";
        return Err(Refusal::new("InvalidSubnet", message));
    }
    wanted.clone_into(&mut cloud.one_mut::<LoadBalancer>(arn)?.settings.address_type);
    Ok(Answer::about(arn, |xml| xml.text("IpAddressType", wanted)))
}
