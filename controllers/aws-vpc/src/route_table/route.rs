//! A route: one destination and its target. Pure.

use std::fmt;

/// One destination and its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(super) destination: Destination,
    pub(super) target: Target,
    pub(super) id: String,
}

/// With its CIDR block in canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    V4(String),
    V6(String),
    PrefixList(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Gateway,
    NatGateway,
    Instance,
    NetworkInterface,
    VpcPeeringConnection,
    TransitGateway,
    EgressOnlyInternetGateway,
}

impl Target {
    pub(super) const ALL: [Self; 7] = [
        Self::Gateway,
        Self::NatGateway,
        Self::Instance,
        Self::NetworkInterface,
        Self::VpcPeeringConnection,
        Self::TransitGateway,
        Self::EgressOnlyInternetGateway,
    ];
}

impl Destination {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::V4(text) | Self::V6(text) | Self::PrefixList(text) => text,
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}
