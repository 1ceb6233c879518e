//! NAT gateways: pending, available, deleting, deleted; or failed.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::described::Described;
use crate::event::Event;
use crate::form::Form;
use crate::given_tags::given;
use crate::kind::Kind;
use crate::listing::{describe, ids, write};
use crate::markup::Xml;
use crate::model::address::Use;
use crate::model::{Address, NatGateway, Subnet};
use crate::refusal::Refusal;
use crate::state_transition::StateTransition;
use crate::store::CloudObject as _;

use super::gateway::has_gateway;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateNatGateway" => create,
        "DescribeNatGateways" => describe::<NatGateway>,
        "DeleteNatGateway" => delete,
        _ => return None,
    };
    Some(handler)
}

impl Described for NatGateway {
    const IDS: &'static str = "NatGatewayId";
    const SET: &'static str = "natGatewaySet";
    const FILTERS: &'static [&'static str] = &["nat-gateway-id", "state", "subnet-id", "vpc-id"];

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        vec![match filter {
            "nat-gateway-id" => self.id.clone(),
            "state" => self.state(cloud.now).to_owned(),
            "subnet-id" => self.subnet.clone(),
            _ => self.vpc.clone(),
        }]
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("natGatewayId", &self.id);
        xml.text("subnetId", &self.subnet);
        xml.text("vpcId", &self.vpc);
        xml.text("state", self.state(cloud.now));
        xml.text("connectivityType", if self.public { "public" } else { "private" });
        xml.text("createTime", &self.created);
        xml.optional("deleteTime", self.deleted.as_ref());
        if let Some((code, message)) = &self.failure {
            xml.text("failureCode", code);
            xml.text("failureMessage", message);
        }
        xml.list("natGatewayAddressSet", [()], |xml, ()| {
            xml.optional("allocationId", self.allocation.as_ref());
            xml.optional("associationId", self.association.as_ref());
            xml.optional("publicIp", self.public_ip.as_ref());
            xml.optional("privateIp", self.private_ip.as_ref());
            if self.private_ip.is_some() {
                xml.text("networkInterfaceId", self.id.replace("nat-", "eni-"));
            }
            xml.text("isPrimary", true);
            xml.text("status", if self.failure.is_some() { "failed" } else { "succeeded" });
        });
    }
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    if let Some(used) = cloud.used(Kind::NatGateway, form)? {
        return Ok(answer(cloud, form, used.made.first().copied().unwrap_or_default()));
    }
    let subnet = cloud.one::<Subnet>(form.required("SubnetId")?)?;
    let (subnet, vpc) = (subnet.id.clone(), subnet.vpc.clone());
    let public = match form.get("ConnectivityType") {
        None | Some("public") => true,
        Some("private") => false,
        Some(other) => return Err(Refusal::value(other, "connectivityType")),
    };
    let address = match form.get("AllocationId") {
        Some(_) if !public => {
            let message = "AllocationId cannot be specified for a private NAT gateway";
            return Err(Refusal::new("InvalidParameterCombination", message));
        }
        None if public => {
            form.required("AllocationId")?;
            None
        }
        id => id.map(|id| cloud.one::<Address>(id).cloned()).transpose()?,
    };
    let tags = given(form, Kind::NatGateway)?;
    let failure = failure(cloud, &vpc, public, address.as_ref());
    let (now, takes, created) = (cloud.now, cloud.options.nat_pending, cloud.timestamp());
    let made = |id: String| NatGateway {
        id,
        subnet: subnet.clone(),
        vpc: vpc.clone(),
        public,
        allocation: address.as_ref().map(|address| address.id.clone()),
        public_ip: address.as_ref().map(|address| address.ip.clone()).filter(|_| failure.is_none()),
        private_ip: None,
        association: None,
        transition: StateTransition::new(
            "pending",
            if failure.is_some() { "failed" } else { "available" },
            now,
            takes,
        ),
        created: created.clone(),
        deleted: None,
        failure: failure.clone(),
    };
    let number = cloud.make(tags, made);
    if failure.is_none() {
        connect(cloud, number)?;
    } else {
        forget_later(cloud, number);
    }
    cloud.use_token(Kind::NatGateway, form, vec![number]);
    Ok(answer(cloud, form, number))
}

/// Errors that AWS detects only during the creation.
fn failure(
    cloud: &Cloud,
    vpc: &str,
    public: bool,
    address: Option<&Address>,
) -> Option<(&'static str, String)> {
    if public && !has_gateway(cloud, vpc) {
        let message = format!("Network {vpc} has no Internet gateway attached");
        return Some(("Gateway.NotAttached", message));
    }
    let address = address.filter(|address| address.used.is_some())?;
    Some(("Resource.AlreadyAssociated", format!("Elastic IP address [{}] is already associated", address.id)))
}

/// Allocates the addresses of a new one.
fn connect(cloud: &mut Cloud, number: u64) -> Result<(), Refusal> {
    let Some(nat) = cloud.store.nats.get(&number).cloned() else { return Ok(()) };
    let taken = {
        let subnet = cloud.existing_mut::<Subnet>(&nat.subnet);
        subnet.ok_or_else(|| Kind::Subnet.missing(&[&nat.subnet]))?.take(&nat.id)
    }
    .map(|address| address.to_string());
    let private = match taken {
        Ok(private) => private,
        Err(full) => {
            cloud.remove_object::<NatGateway>(number);
            return Err(full);
        }
    };
    let association = cloud.part_ids.next("eipassoc-");
    if let Some(address) = nat.allocation.as_ref().and_then(|id| cloud.existing_mut::<Address>(id)) {
        let interface = nat.id.replace("nat-", "eni-");
        let (private, vpc) = (private.clone(), nat.vpc.clone());
        address.used =
            Some(Use { association: association.clone(), instance: None, interface, private, vpc });
    }
    if let Some(nat) = cloud.store.nats.get_mut(&number) {
        nat.private_ip = Some(private);
        nat.association = Some(association).filter(|_| nat.public);
    }
    Ok(())
}

fn answer(cloud: &Cloud, form: &Form, number: u64) -> Answer {
    let mut body = Xml::default();
    body.optional("clientToken", form.text("ClientToken").as_ref());
    if let Some(nat) = cloud.all::<NatGateway>().get(&number) {
        body.tag("natGateway", |xml| write(xml, cloud, number, nat));
    }
    Answer { body, ids: ids::<NatGateway>(cloud, [number]) }
}

/// A deleted or deleting gateway is not an error.
fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("NatGatewayId")?;
    let number = cloud.number::<NatGateway>(id)?;
    let nat = cloud.one::<NatGateway>(id)?;
    if !["deleting", "deleted"].contains(&nat.state(cloud.now)) {
        let has_failed = nat.failure.is_some();
        let takes = cloud.options.nat_deleting;
        let (now, at) = (cloud.now, cloud.now + takes);
        let deleted = cloud.timestamp();
        let nat = cloud.one_mut::<NatGateway>(id)?;
        nat.transition = StateTransition::new("deleting", "deleted", now, takes);
        nat.deleted = Some(deleted);
        cloud.schedule(at, Event::NatDeleted(number));
        if !has_failed {
            forget_later(cloud, number);
        }
    }
    Ok(Answer::about(id, |xml| xml.text("natGatewayId", id)))
}

/// It is described for some time after its deletion.
fn forget_later(cloud: &mut Cloud, number: u64) {
    let at = cloud.store.nats.get(&number).map_or(cloud.now, |nat| nat.transition.at);
    let at = at + cloud.options.terminated_visible;
    cloud.schedule(at, Event::Vanished(NatGateway::object(number)));
}
