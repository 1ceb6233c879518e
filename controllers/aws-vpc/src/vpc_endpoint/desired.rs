//! The fields of a VPC endpoint: validated, compared and imported. Pure.

use kraken_aws::{
    import::literal,
    policy::{self, Document},
    prelude::*,
    resolved::Joined,
};
use serde_json::Value;

use super::{
    api::{Change, Desired, PartialDesired, TYPE, VPCEndpointSpec},
    observed::VpcEndpoint,
};

/// The policy that AWS gives to each new endpoint.
const FULL_ACCESS: &str = r#"{"Version": "2008-10-17", "Statement": {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}}"#;

impl VPCEndpointSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        if partial.policy.as_ref().and_then(Option::as_ref).is_some_and(|policy| policy.expose().is_empty()) {
            validator.problem(
                "policy",
                "must have at least 1 statement: without any, nobody could use the endpoint",
            );
        }
        let Some(kind) = &partial.endpoint_type else { return };
        let kind = kind.as_ref().map_or("Gateway", |kind| kind.expose());
        for (field, is_set, types) in [
            ("routeTableIDs", self.route_table_ids.is_some(), &["Gateway"][..]),
            ("subnetIDs", self.subnet_ids.is_some(), &["Interface", "GatewayLoadBalancer"]),
            ("securityGroupIDs", self.security_group_ids.is_some(), &["Interface"]),
            ("policy", self.policy.is_some(), &["Gateway", "Interface"]),
            ("privateDNSEnabled", self.private_dns_enabled.is_some(), &["Interface"]),
        ] {
            if is_set && TYPE.check(kind).is_ok() && !types.contains(&kind) {
                let types = types.join(" and ");
                validator.problem(field, format!("is only supported for endpoints of type {types}"));
            }
        }
    }

    pub(super) fn policy(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Option<Joined<Document>>> {
        let Some(policy) = &self.policy else { return Some(None) };
        policy::resolved_resource("policy", policy, validator).map(Some)
    }

    pub(super) fn compare_policy(desired: &Desired, endpoint: &VpcEndpoint) -> Option<Difference<Change>> {
        policy::compared("policy", desired.policy.as_ref()?, &endpoint.policy_document, Change::Modify)
    }

    pub(super) fn import_policy(endpoint: &VpcEndpoint) -> Option<Value> {
        let default = Joined::new(Document::parse(FULL_ACCESS).ok()?, false);
        policy::compared("policy", &default, &endpoint.policy_document, ())?;
        policy::imported_resource(&endpoint.policy_document)
    }

    /// AWS returns it for endpoints of all types.
    pub(super) fn import_private_dns(endpoint: &VpcEndpoint) -> Option<Value> {
        endpoint.private_dns_enabled.filter(|_| endpoint.is_of_type("Interface")).map(literal)
    }
}

/// Why an endpoint cannot be managed by a resource.
pub(super) fn not_importable(endpoint: &VpcEndpoint) -> Option<String> {
    if endpoint.is_of_a_service {
        return Some("managed by the AWS service that created it".to_owned());
    }
    let kind = endpoint.vpc_endpoint_type.as_deref().unwrap_or_default();
    TYPE.check(kind).is_err().then(|| format!("an endpoint of type {kind}, which no resource can manage"))
}
