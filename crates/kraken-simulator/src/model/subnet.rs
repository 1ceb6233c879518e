//! Subnets: their addresses are taken by objects.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::refusal::Refusal;

use super::cidr::Cidr;
use super::zone::Zone;

/// A subnet.
#[derive(Debug, Clone)]
pub(crate) struct Subnet {
    pub(crate) id: String,
    pub(crate) vpc: String,
    pub(crate) range: Cidr,
    pub(crate) v6: Option<String>,
    pub(crate) zone: Zone,
    pub(crate) maps_public: bool,
    pub(crate) assigns_v6: bool,
    /// The owners of its addresses, by id: instances, NAT gateways, load balancers.
    pub(crate) taken: BTreeMap<Ipv4Addr, String>,
}

impl Subnet {
    /// The name of its zone.
    pub(crate) fn zone(&self) -> &str {
        &self.zone.name
    }

    pub(crate) fn has_v6(&self) -> bool {
        self.v6.is_some()
    }

    /// The number of free addresses.
    pub(crate) fn free_addresses(&self) -> usize {
        self.range.host_count().saturating_sub(self.taken.len())
    }

    /// Allocates the lowest free address.
    pub(crate) fn take(&mut self, owner: &str) -> Result<Ipv4Addr, Refusal> {
        let free = self.range.hosts().find(|address| !self.taken.contains_key(address));
        let address = free.ok_or_else(|| self.full())?;
        self.taken.insert(address, owner.to_owned());
        Ok(address)
    }

    /// Allocates this address.
    pub(crate) fn take_address(&mut self, address: Ipv4Addr, owner: &str) {
        self.taken.insert(address, owner.to_owned());
    }

    /// Whether this address is free.
    pub(crate) fn offers(&self, address: Ipv4Addr) -> Result<(), Refusal> {
        if !self.range.has(address) {
            let message = format!("Address {address} does not fall within the subnet's address range");
            return Err(Refusal::new("InvalidParameterValue", message));
        }
        if self.taken.contains_key(&address) {
            return Err(Refusal::new("InvalidIPAddress.InUse", format!("Address {address} is in use.")));
        }
        Ok(())
    }

    /// Releases all addresses of an object.
    pub(crate) fn release(&mut self, owner: &str) {
        self.taken.retain(|_, has| has != owner);
    }

    pub(crate) fn full(&self) -> Refusal {
        let message = format!(
            "There are not enough free addresses in subnet '{}' to satisfy the requested number of instances.",
            self.id
        );
        Refusal::new("InsufficientFreeAddressesInSubnet", message)
    }
}
