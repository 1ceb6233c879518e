//! What an object that ends releases: its addresses, its volumes and its network interfaces.

use super::cloud::Cloud;
use super::model::load_balancer::Zoned;
use super::model::{Address, Instance, LoadBalancer, Subnet, Volume};

/// An instance is terminated: it loses its addresses and its volumes.
pub(super) fn terminated(cloud: &mut Cloud, number: u64) {
    let Some(instance) = cloud.store.instances.get(&number) else { return };
    let (id, subnet) = (instance.id.clone(), instance.settings.subnet.clone());
    let volumes = instance.volumes.clone();
    if let Some(subnet) = cloud.existing_mut::<Subnet>(&subnet) {
        subnet.release(&id);
    }
    release_of(cloud, &id);
    leave_volumes(cloud, &volumes);
}

/// Some of the volumes of a terminated instance are deleted, the others become available.
fn leave_volumes(cloud: &mut Cloud, volumes: &[String]) {
    for id in volumes {
        let Some(number) = cloud.registry.object(id).map(|object| object.number) else { continue };
        let goes = cloud.store.volumes.get(&number).and_then(|volume| volume.attachment.as_ref());
        if goes.is_some_and(|attachment| attachment.goes_with_it) {
            cloud.remove_object::<Volume>(number);
        } else if let Some(volume) = cloud.store.volumes.get_mut(&number) {
            volume.attachment = None;
        }
    }
}

/// A NAT gateway is deleted: its addresses are free.
pub(super) fn nat_deleted(cloud: &mut Cloud, number: u64) {
    let Some(nat) = cloud.store.nats.get(&number).cloned() else { return };
    if let Some(subnet) = cloud.existing_mut::<Subnet>(&nat.subnet) {
        subnet.release(&nat.id);
    }
    if nat.failure.is_none()
        && let Some(allocation) = &nat.allocation
    {
        free(cloud, allocation);
    }
}

/// A detaching volume becomes available, unless it was attached again in the meantime.
pub(super) fn detached(cloud: &mut Cloud, number: u64) {
    let now = cloud.now;
    let Some(volume) = cloud.store.volumes.get_mut(&number) else { return };
    let Some(attachment) = volume.attachment.take_if(|one| one.transition.state(now) == "detached") else {
        return;
    };
    let id = volume.id.clone();
    if let Some(instance) = cloud.existing_mut::<Instance>(&attachment.instance) {
        instance.volumes.retain(|other| *other != id);
    }
}

/// The interfaces of a deleted load balancer are deleted.
pub(super) fn released(cloud: &mut Cloud, number: u64) {
    let Some(one) = cloud.store.load_balancers.remove(&number) else { return };
    release_addresses(cloud, &one, &[]);
}

/// Releases the addresses of a load balancer in its former subnets.
pub(super) fn release_addresses(cloud: &mut Cloud, one: &LoadBalancer, kept: &[Zoned]) {
    for zone in one.zones.iter().filter(|zone| !kept.iter().any(|kept| kept.subnet == zone.subnet)) {
        if let Some(subnet) = cloud.existing_mut::<Subnet>(&zone.subnet) {
            subnet.release(&one.arn);
        }
    }
}

/// Disassociates an address.
pub(super) fn free(cloud: &mut Cloud, id: &str) {
    let used = cloud.existing_mut::<Address>(id).and_then(|address| address.used.take());
    if let Some(owner) = used.and_then(|used| used.instance)
        && let Some(instance) = cloud.existing_mut::<Instance>(&owner)
    {
        instance.elastic = None;
    }
}

/// Disassociates all addresses from an instance.
pub(super) fn release_of(cloud: &mut Cloud, instance: &str) {
    let has = |address: &&Address| {
        address.used.as_ref().is_some_and(|used| used.instance.as_deref() == Some(instance))
    };
    let its: Vec<String> =
        cloud.all::<Address>().values().filter(has).map(|address| address.id.clone()).collect();
    for id in its {
        free(cloud, &id);
    }
}
