//! Associates Elastic IP addresses with instances, and disassociates them.

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::model::address::Use;
use crate::model::instance::State;
use crate::model::{Address, Instance, Vpc};
use crate::refusal::Refusal;
use crate::releases::{free, release_of};

use super::gateway::has_gateway;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "AssociateAddress" => associate,
        "DisassociateAddress" => disassociate,
        _ => return None,
    };
    Some(handler)
}

/// Moves an address that is associated with another object, unless the call forbids it.
fn associate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("AllocationId")?;
    let address = cloud.one::<Address>(id)?.clone();
    let instance = instance(cloud, form)?;
    let (owner, vpc) = (instance.id.clone(), instance.place.vpc.clone());
    let (interface, private) = (instance.interface(), instance.place.address.clone());
    if cloud.existing::<Vpc>(&vpc).is_some() && !has_gateway(cloud, &vpc) {
        let message = format!("Network {vpc} is not attached to any internet gateway");
        return Err(Refusal::new("Gateway.NotAttached", message));
    }
    let association = match &address.used {
        Some(used) if used.instance.as_ref() == Some(&owner) => used.association.clone(),
        Some(used) if form.flag("AllowReassociation")? == Some(false) || used.instance.is_none() => {
            let message =
                format!("resource {id} is already associated with associate-id {}", used.association);
            return Err(Refusal::new("Resource.AlreadyAssociated", message));
        }
        _ => {
            release_of(cloud, &owner);
            free(cloud, id);
            cloud.part_ids.next("eipassoc-")
        }
    };
    let used =
        Use { association: association.clone(), instance: Some(owner.clone()), interface, private, vpc };
    cloud.one_mut::<Address>(id)?.used = Some(used);
    if let Some(instance) = cloud.existing_mut::<Instance>(&owner) {
        instance.elastic = Some(address.ip);
    }
    let mut body = Xml::default();
    body.text("return", true);
    body.text("associationId", association);
    Ok(Answer { body, ids: vec![id.to_owned(), owner] })
}

/// The instance in a call, directly or by its interface.
fn instance<'a>(cloud: &'a Cloud, form: &Form) -> Result<&'a Instance, Refusal> {
    let instance = match form.get("NetworkInterfaceId") {
        None => cloud.one::<Instance>(form.required("InstanceId")?)?,
        Some(interface) => {
            let missing = || {
                let message = format!("The networkInterface ID '{interface}' does not exist");
                Refusal::new("InvalidNetworkInterfaceID.NotFound", message)
            };
            let mut live = cloud.live_instances();
            live.find(|instance| instance.interface() == interface).ok_or_else(missing)?
        }
    };
    if !matches!(instance.state(cloud.now), State::Running | State::Stopped | State::Stopping) {
        let message = format!("The instance '{}' is not in a valid state for this operation.", instance.id);
        return Err(Refusal::new("InvalidInstanceID", message));
    }
    Ok(instance)
}

fn disassociate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let association = form.required("AssociationId")?;
    let has = |address: &&Address| address.used.as_ref().is_some_and(|used| used.association == association);
    let Some(address) = cloud.store.addresses.values().find(has) else {
        let message = format!("The association ID '{association}' does not exist");
        return Err(Refusal::new("InvalidAssociationID.NotFound", message));
    };
    if address.used.as_ref().is_some_and(|used| used.instance.is_none()) {
        let message = "You do not have permission to access the specified resource.";
        return Err(Refusal::new("AuthFailure", message));
    }
    let id = address.id.clone();
    free(cloud, &id);
    Ok(done(vec![id]))
}
