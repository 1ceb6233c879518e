//! NAT gateways: their states over time, and their network interfaces.

use tokio::time::Instant;

use crate::state_transition::StateTransition;

use super::interface::Interface;

/// A NAT gateway.
#[derive(Debug, Clone)]
pub(crate) struct NatGateway {
    pub(crate) id: String,
    pub(crate) subnet: String,
    pub(crate) vpc: String,
    pub(crate) public: bool,
    /// The address's allocation id.
    pub(crate) allocation: Option<String>,
    /// Its public and private addresses, if it ever had any.
    pub(crate) public_ip: Option<String>,
    pub(crate) private_ip: Option<String>,
    pub(crate) association: Option<String>,
    pub(crate) transition: StateTransition<&'static str>,
    pub(crate) created: String,
    pub(crate) deleted: Option<String>,
    /// Why it failed: a code and a message.
    pub(crate) failure: Option<(&'static str, String)>,
}

impl NatGateway {
    pub(crate) fn state(&self, now: Instant) -> &'static str {
        self.transition.state(now)
    }

    /// Whether it is available or pending.
    pub(crate) fn is_live(&self, now: Instant) -> bool {
        ["pending", "available"].contains(&self.state(now))
    }

    /// Its network interface, which it has until it is deleted.
    pub(crate) fn interface(&self, now: Instant) -> Option<Interface> {
        let exists = self.private_ip.is_some() && self.state(now) != "deleted";
        exists.then(|| Interface {
            id: self.id.replace("nat-", "eni-"),
            subnet: self.subnet.clone(),
            vpc: self.vpc.clone(),
            groups: vec![],
            instance: None,
            public_ip: self.public_ip.clone(),
            description: format!("Interface for NAT Gateway {}", self.id),
        })
    }
}
