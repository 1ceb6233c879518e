//! Elastic IP addresses, and what uses them.

/// The user of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) association: String,
    /// `None` for an AWS-managed interface: a NAT gateway.
    pub(crate) instance: Option<String>,
    pub(crate) interface: String,
    pub(crate) private: String,
    pub(crate) vpc: String,
}

/// An Elastic IP address.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) id: String,
    pub(crate) ip: String,
    pub(crate) used: Option<Use>,
}
