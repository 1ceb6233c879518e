//! Network interfaces.

/// A network interface.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) id: String,
    pub(crate) subnet: String,
    pub(crate) vpc: String,
    pub(crate) groups: Vec<String>,
    /// `None` for an AWS-managed interface: of a NAT gateway or a load balancer.
    pub(crate) instance: Option<String>,
    pub(crate) public_ip: Option<String>,
    /// Names the object that an AWS-managed interface belongs to.
    pub(crate) description: String,
}
