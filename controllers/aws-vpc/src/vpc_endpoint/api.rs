//! VPCEndpoint, the API type.

use kraken_aws::{
    aws_group, aws_kind,
    bounds::{Id, Pattern, SECURITY_GROUP_ID, SUBNET_ID, VPC_ID, Words},
    policy::{Document, ResourcePolicy},
    resolved::Joined,
};
use kraken_kind::{Opt, options::ListOpt};

use super::observed::VpcEndpoint;

static SERVICE_NAME: Pattern = Pattern::new(
    "^[a-zA-Z0-9._-]{1,255}$",
    255,
    "must be the name of an endpoint service such as com.amazonaws.us-east-1.s3",
);
/// Those with other targets than a service, such as `Resource`, are not supported.
pub(super) const TYPE: Words = Words(&["Gateway", "Interface", "GatewayLoadBalancer"]);
const IP_ADDRESS_TYPE: Words = Words(&["ipv4", "dualstack", "ipv6"]);
const DNS_RECORD_IP_TYPE: Words = Words(&["ipv4", "dualstack", "ipv6", "service-defined"]);

/// A VPC endpoint: a private connection from a VPC to a service.
#[aws_kind(
    kind = "VPCEndpoint",
    plural = "vpcendpoints",
    shortname = "vpce",
    doc = "A VPC endpoint: a private connection from a VPC to a service. Its main id is its VpcEndpointId.",
    noun = "VPC endpoint",
    state = "vpcEndpoint",
    tag_name = "s3",
    observed = VpcEndpoint,
    summary("Service" = "ServiceName", "Type" = "VpcEndpointType", "State" = "State"),
    drift("state"),
    whole("policy"),
    rules = Self::between_fields,
    cel(
        "!has(self.routeTableIDs) || !has(self.type) || !has(self.type.value) || self.type.value == 'Gateway'"
            else "is only supported for endpoints of type Gateway" at "routeTableIDs",
        "!has(self.subnetIDs) || (has(self.type) && (!has(self.type.value) || self.type.value != 'Gateway'))"
            else "is only supported for endpoints of type Interface and GatewayLoadBalancer" at "subnetIDs",
        "!has(self.securityGroupIDs) || (has(self.type) && (!has(self.type.value) || self.type.value == 'Interface'))"
            else "is only supported for endpoints of type Interface" at "securityGroupIDs",
        "!has(self.privateDNSEnabled) || (has(self.type) && (!has(self.type.value) || self.type.value == 'Interface'))"
            else "is only supported for endpoints of type Interface" at "privateDNSEnabled",
        "!has(self.policy) || !has(self.type) || !has(self.type.value) || self.type.value != 'GatewayLoadBalancer'"
            else "is only supported for endpoints of type Gateway and Interface" at "policy",
    )
)]
pub(crate) struct VPCEndpointSpec {
    /// The VPC of the endpoint. Immutable. Example: `{valueFrom: {ref: VPC/main}}`
    #[field("vpcID", rule = VPC_ID, fixed)]
    pub(crate) vpc_id: Opt<String>,

    /// The name of the service, up to 255 characters. Immutable. Example: `{value: com.amazonaws.us-east-1.s3}`
    #[field("serviceName", rule = SERVICE_NAME, fixed)]
    pub(crate) service_name: Opt<String>,

    /// The type: `Gateway` for routes to S3 and DynamoDB, `Interface` for network interfaces in subnets, or `GatewayLoadBalancer`. Immutable.
    /// Default: AWS's default (`Gateway`). Example: `{value: Interface}`
    #[field("type", rule = TYPE, fixed, observed = vpc_endpoint_type, unless = "Gateway")]
    pub(crate) endpoint_type: Option<Opt<String>>,

    /// The route tables, up to 1000, that get a route to the service; of a gateway endpoint only. AWS manages these routes. Changed in place.
    /// Default: none; existing route tables are not managed. Example: `{value: [{valueFrom: {ref: RouteTable/private}}]}`
    #[field("routeTableIDs", rule = Id("rtb-"), items(0, 1_000), change = Modify, none_if_unset)]
    pub(crate) route_table_ids: Option<ListOpt<String>>,

    /// The subnets, up to 100, with a network interface of the endpoint, at most one in each zone; not of a gateway endpoint. Changed in place.
    /// Default: none; existing subnets are not managed. Example: `{value: [{valueFrom: {ref: Subnet/private-a}}]}`
    #[field("subnetIDs", rule = SUBNET_ID, items(0, 100), change = Modify, none_if_unset)]
    pub(crate) subnet_ids: Option<ListOpt<String>>,

    /// The security groups of the network interfaces, 1 to 100; of an interface endpoint only. Changed in place. Default: AWS's default (the
    /// default group of the VPC); existing groups are not managed. Example: `{value: [{valueFrom: {ref: SecurityGroup/endpoints}}]}`
    #[field(
        "securityGroupIDs",
        rule = SECURITY_GROUP_ID,
        items(1, 100),
        change = Modify,
        observed = group_ids(),
        published("Groups.GroupId")
    )]
    pub(crate) security_group_ids: Option<ListOpt<String>>,

    /// The policy for access through the endpoint, with at least one statement. Changed in place, and compared by its meaning. Default: AWS's,
    /// which allows all; an existing policy is not managed. Example: `{statements: [{effect: {value: Allow}, principals: {aws: {value: ["*"]}},
    /// actions: {value: ["s3:GetObject"]}, resources: {value: ["*"]}}]}`
    #[field(
        "policy",
        resolve = Self::policy => Option<Joined<Document>>,
        change = Modify,
        compare = Self::compare_policy,
        import = Self::import_policy,
        published()
    )]
    pub(crate) policy: Option<ResourcePolicy>,

    /// Whether the service's public name resolves to the endpoint in the VPC, which must have DNS support and DNS hostnames; of an interface
    /// endpoint only. Changed in place. Default: AWS's default; an existing setting is not managed. Example: `{value: true}`
    #[field("privateDNSEnabled", change = Modify, observed = private_dns_enabled, import = Self::import_private_dns)]
    pub(crate) private_dns_enabled: Option<Opt<bool>>,

    /// The addresses of the endpoint: `ipv4`, `dualstack` or `ipv6`. Changed in place. Default: AWS's default (`ipv4`); an existing setting is
    /// not managed. Example: `{value: dualstack}`
    #[field("ipAddressType", rule = IP_ADDRESS_TYPE, change = Modify, unless = "ipv4")]
    pub(crate) ip_address_type: Option<Opt<String>>,

    /// The DNS records of the endpoint. Changed in place. Fields that are not set are not managed. Default: AWS's default. Example:
    /// `{dnsRecordIPType: {value: dualstack}}`
    #[field("dnsOptions", group, change = Modify, import = DnsOptions::imported)]
    pub(crate) dns_options: Option<DnsOptions>,
}

/// The DNS records of an endpoint.
#[aws_group(observed = VpcEndpoint, state = "vpcEndpoint")]
pub(crate) struct DnsOptions {
    /// The addresses in the records: `ipv4`, `dualstack`, `ipv6`, or `service-defined`, as the service publishes them. Default: AWS's default
    /// (`ipv4` of an interface endpoint). Example: `{value: dualstack}`
    #[field(
        "dnsRecordIPType",
        rule = DNS_RECORD_IP_TYPE,
        observed = dns_record_ip_type(),
        published("DnsOptions.DnsRecordIpType"),
        unless = "ipv4"
    )]
    pub(crate) dns_record_ip_type: Option<Opt<String>>,

    /// Whether private DNS is only for the resolver endpoints of other networks, while the VPC itself uses a gateway endpoint of the service.
    /// Requires `privateDNSEnabled`. Default: AWS's default (false). Example: `{value: true}`
    #[field(
        "privateDNSOnlyForInboundResolverEndpoint",
        observed = is_for_resolvers_only(),
        published("DnsOptions.PrivateDnsOnlyForInboundResolverEndpoint"),
        unless = false
    )]
    pub(crate) private_dns_only_for_inbound_resolver_endpoint: Option<Opt<bool>>,
}
