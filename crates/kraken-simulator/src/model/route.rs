//! The routes of a table.

const LOCAL: &str = "local";

/// The target of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Gateway,
    NatGateway,
    Instance,
    Interface,
    TransitGateway,
    Peering,
    EgressOnly,
    Endpoint,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// An IPv4 or IPv6 range, or a prefix list's id.
    pub(crate) destination: String,
    /// With its id.
    pub(crate) target: (Target, String),
}

impl Route {
    pub(crate) fn local(destination: String) -> Self {
        Self { destination, target: (Target::Gateway, LOCAL.to_owned()) }
    }

    pub(crate) fn is_local(&self) -> bool {
        self.target.1 == LOCAL
    }

    pub(crate) fn origin(&self) -> &'static str {
        if self.is_local() { "CreateRouteTable" } else { "CreateRoute" }
    }
}
