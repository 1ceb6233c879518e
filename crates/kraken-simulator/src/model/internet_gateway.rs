//! Internet gateways.

/// An internet gateway.
#[derive(Debug, Clone)]
pub(crate) struct InternetGateway {
    pub(crate) id: String,
    pub(crate) vpc: Option<String>,
}
