//! The observed VPC endpoint, which is the published state.

use kraken_aws::{aws_observed, ec2::types, items::in_order, resource::Phase};

#[aws_observed(from = types::VpcEndpoint, id = vpc_endpoint_id, phase = Self::phase)]
pub(crate) struct VpcEndpoint {
    /// Before the fields that are moved out of the response.
    #[serde(skip)]
    #[from(failure(&sdk))]
    pub(super) failure: Option<String>,
    pub(super) vpc_endpoint_id: String,
    pub(super) vpc_endpoint_type: Option<String>,
    pub(super) vpc_id: Option<String>,
    pub(super) service_name: Option<String>,
    pub(super) state: String,
    pub(super) route_table_ids: Vec<String>,
    pub(super) subnet_ids: Vec<String>,
    pub(super) groups: Vec<Group>,
    pub(super) network_interface_ids: Vec<String>,
    /// The name for all zones first, as AWS returns it.
    #[from(in_order(sdk.dns_entries))]
    pub(super) dns_entries: Vec<DnsEntry>,
    pub(super) private_dns_enabled: Option<bool>,
    pub(super) ip_address_type: Option<String>,
    pub(super) dns_options: Option<DnsOptions>,
    pub(super) owner_id: Option<String>,
    /// Of a gateway endpoint: the addresses of the service, for rules of security groups and network ACLs. Another call reads it.
    #[from(None)]
    pub(super) prefix_list_id: Option<String>,
    /// JSON. Not published, because it may have values of Secrets.
    #[serde(skip)]
    #[from(sdk.policy_document.unwrap_or_default())]
    pub(super) policy_document: String,
    #[serde(skip)]
    #[from(sdk.requester_managed == Some(true))]
    pub(super) is_of_a_service: bool,
}

#[aws_observed(from = types::SecurityGroupIdentifier)]
pub(crate) struct Group {
    pub(super) group_id: String,
}

#[aws_observed(from = types::DnsEntry)]
pub(crate) struct DnsEntry {
    pub(super) dns_name: Option<String>,
    pub(super) hosted_zone_id: Option<String>,
}

#[aws_observed(from = types::DnsOptions)]
pub(crate) struct DnsOptions {
    pub(super) dns_record_ip_type: Option<String>,
    pub(super) private_dns_only_for_inbound_resolver_endpoint: Option<bool>,
}

fn failure(endpoint: &types::VpcEndpoint) -> Option<String> {
    let message = endpoint.last_error().and_then(|error| error.message());
    endpoint.failure_reason().or(message).map(str::to_owned)
}

impl VpcEndpoint {
    pub(super) fn group_ids(&self) -> Vec<String> {
        self.groups.iter().map(|group| group.group_id.clone()).collect()
    }

    pub(super) fn dns_record_ip_type(&self) -> Option<&String> {
        self.dns_options.as_ref()?.dns_record_ip_type.as_ref()
    }

    pub(super) fn is_for_resolvers_only(&self) -> Option<&bool> {
        self.dns_options.as_ref()?.private_dns_only_for_inbound_resolver_endpoint.as_ref()
    }

    pub(super) fn is_of_type(&self, name: &str) -> bool {
        self.vpc_endpoint_type.as_deref() == Some(name)
    }

    /// The documentation and responses of AWS differ in the case of states.
    fn phase(&self) -> Phase {
        let failed = |why: &str| Phase::Failed(self.failure.clone().unwrap_or_else(|| why.to_owned()));
        match &*self.state.to_ascii_lowercase() {
            "pending" => Phase::Pending(self.state.clone()),
            "pendingacceptance" => {
                Phase::Pending("waiting until the owner of the service accepts the connection".to_owned())
            }
            "failed" => failed("AWS reports no cause"),
            "rejected" => failed("the owner of the service rejected the connection"),
            "expired" => failed("the owner of the service did not accept the connection in time"),
            "deleting" => Phase::Deleting,
            "deleted" => Phase::Deleted,
            _ => Phase::Available,
        }
    }
}
