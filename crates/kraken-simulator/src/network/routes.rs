//! Single routes of a table.

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::model::cidr::{Cidr, of_v6};
use crate::model::instance::State;
use crate::model::route::{Route, Target};
use crate::model::{Instance, InternetGateway, NatGateway, RouteTable, Vpc};
use crate::refusal::Refusal;

/// Each target with its parameter and its element in responses.
const TARGETS: [(Target, &str, &str); 8] = [
    (Target::Gateway, "GatewayId", "gatewayId"),
    (Target::NatGateway, "NatGatewayId", "natGatewayId"),
    (Target::Instance, "InstanceId", "instanceId"),
    (Target::Interface, "NetworkInterfaceId", "networkInterfaceId"),
    (Target::TransitGateway, "TransitGatewayId", "transitGatewayId"),
    (Target::Peering, "VpcPeeringConnectionId", "vpcPeeringConnectionId"),
    (Target::EgressOnly, "EgressOnlyInternetGatewayId", "egressOnlyInternetGatewayId"),
    (Target::Endpoint, "VpcEndpointId", "gatewayId"),
];

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateRoute" => create,
        "ReplaceRoute" => replace,
        "DeleteRoute" => delete,
        _ => return None,
    };
    Some(handler)
}

impl Route {
    /// A route to a deleted target, or one that is no longer in this network, is a black hole.
    pub(super) fn state(&self, cloud: &Cloud, vpc: &str) -> &'static str {
        let (target, id) = &self.target;
        let works = match target {
            Target::Gateway if id.starts_with("igw-") => cloud
                .existing::<InternetGateway>(id)
                .is_some_and(|gateway| gateway.vpc.as_deref() == Some(vpc)),
            Target::NatGateway => {
                cloud.existing::<NatGateway>(id).is_some_and(|gateway| gateway.is_live(cloud.now))
            }
            Target::Instance => cloud
                .existing::<Instance>(id)
                .is_some_and(|instance| instance.state(cloud.now) == State::Running),
            _ => true,
        };
        if works { "active" } else { "blackhole" }
    }

    pub(super) fn write(&self, xml: &mut Xml, cloud: &Cloud, vpc: &str) {
        let destination = if self.destination.starts_with("pl-") {
            "destinationPrefixListId"
        } else if self.destination.contains(':') {
            "destinationIpv6CidrBlock"
        } else {
            "destinationCidrBlock"
        };
        xml.text(destination, &self.destination);
        let (target, id) = &self.target;
        let element = TARGETS.iter().find(|(each, ..)| each == target).map_or("", |(.., element)| element);
        xml.text(element, id);
        if let (Target::Instance, Some(instance)) = (target, cloud.existing::<Instance>(id)) {
            xml.text("instanceOwnerId", &cloud.options.account);
            xml.text("networkInterfaceId", instance.interface());
        }
        xml.text("state", self.state(cloud, vpc));
        xml.text("origin", self.origin());
    }
}

/// The destination in the parameters of a call.
fn destination(form: &Form) -> Result<String, Refusal> {
    if let Some(text) = form.get("DestinationIpv6CidrBlock") {
        return of_v6(text, "destinationIpv6CidrBlock");
    }
    if let Some(list) = form.text("DestinationPrefixListId") {
        return Ok(list);
    }
    let text = form.required("DestinationCidrBlock")?;
    Cidr::of(text, "destinationCidrBlock").map(|range| range.to_string())
}

/// The target in a call; it must be in the table's network, if it exists in the simulator.
fn target(cloud: &Cloud, form: &Form, table: &RouteTable) -> Result<(Target, String), Refusal> {
    let mut named = TARGETS.iter().filter_map(|(target, name, _)| Some((*target, form.text(name)?)));
    let Some((target, id)) = named.next() else {
        let message = "The request must contain a target: gatewayId, natGatewayId, networkInterfaceId, \
                       vpcPeeringConnectionId, egressOnlyInternetGatewayId, transitGatewayId or instanceId";
        return Err(Refusal::new("MissingParameter", message));
    };
    if named.next().is_some() {
        let message = "The request must contain exactly one target";
        return Err(Refusal::new("InvalidParameterCombination", message));
    }
    let elsewhere = |noun: &str| {
        let message = format!("route table {} and {noun} {id} belong to different networks", table.id);
        Err(Refusal::new("InvalidParameterValue", message))
    };
    match target {
        Target::Gateway if id.starts_with("igw-") => match cloud.existing::<InternetGateway>(&id) {
            None => {
                let message = format!("The gateway ID '{id}' does not exist");
                return Err(Refusal::new("InvalidGatewayID.NotFound", message));
            }
            Some(gateway) if gateway.vpc.as_ref() != Some(&table.vpc) => return elsewhere("network gateway"),
            Some(_) => {}
        },
        Target::NatGateway => {
            match cloud.existing::<NatGateway>(&id).filter(|gateway| gateway.is_live(cloud.now)) {
                None => {
                    let message = format!("The natGateway ID '{id}' does not exist");
                    return Err(Refusal::new("InvalidNatGatewayID.NotFound", message));
                }
                Some(gateway) if gateway.vpc != table.vpc => return elsewhere("NAT gateway"),
                Some(_) => {}
            }
        }
        Target::Instance if cloud.one::<Instance>(&id)?.place.vpc != table.vpc => {
            return elsewhere("instance");
        }
        _ => {}
    }
    Ok((target, id))
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("RouteTableId")?;
    let table = cloud.one::<RouteTable>(id)?;
    let destination = destination(form)?;
    if table.routes.iter().any(|route| route.destination == destination) {
        let message = format!("The route identified by {destination} already exists.");
        return Err(Refusal::new("RouteAlreadyExists", message));
    }
    if let Some(range) = Cidr::parse(&destination)
        && let Some(block) =
            cloud.existing::<Vpc>(&table.vpc).and_then(|vpc| vpc.ranges().find(|b| b.contains(range)))
    {
        let message = format!(
            "The destination CIDR block {destination} is equal to or more specific than one of this VPC's CIDR \
             blocks ({block}). This route can target only an interface or an instance."
        );
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    let target = target(cloud, form, table)?;
    let (id, route) = (table.id.clone(), Route { destination, target });
    cloud.one_mut::<RouteTable>(&id)?.routes.push(route);
    Ok(done(vec![id]))
}

fn replace(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("RouteTableId")?;
    let table = cloud.one::<RouteTable>(id)?;
    let destination = destination(form)?;
    let Some(index) = table.routes.iter().position(|route| route.destination == destination) else {
        let message = format!(
            "There is no route defined for '{destination}' in the route table. Use CreateRoute instead."
        );
        return Err(Refusal::new("InvalidParameterValue", message));
    };
    let target = target(cloud, form, table)?;
    if let Some(route) = cloud.one_mut::<RouteTable>(id)?.routes.get_mut(index) {
        route.target = target;
    }
    Ok(done(vec![id.to_owned()]))
}

fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("RouteTableId")?;
    let table = cloud.one_mut::<RouteTable>(id)?;
    let destination = destination(form)?;
    let Some(index) = table.routes.iter().position(|route| route.destination == destination) else {
        let message = format!("no route with destination-cidr-block {destination} in route table {id}");
        return Err(Refusal::new("InvalidRoute.NotFound", message));
    };
    if table.routes[index].is_local() {
        let message = format!("cannot remove local route {destination} in route table {id}");
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    table.routes.remove(index);
    Ok(done(vec![id.to_owned()]))
}
