//! RecordSet, the API type.

use kraken_aws::{
    aws_group, aws_kind,
    bounds::{Range, Words},
    resolved::Joined,
};
use kraken_kind::{
    Opt,
    options::{ListOpt, Public},
};

use super::observed::AliasTarget;
use crate::names::{HEALTH_CHECK_ID, RECORD_NAME, SET_IDENTIFIER, TARGET_NAME, VALUE, ZONE_ID};

const TTL: Range = Range(0, i32::MAX);
const WEIGHT: Range = Range(0, 255);

static FAILOVER: Words = Words(&["PRIMARY", "SECONDARY"]);

/// The types of record sets. A zone has its `SOA` record without a resource.
static TYPE: Words = Words(&[
    "A", "AAAA", "CAA", "CNAME", "DS", "HTTPS", "MX", "NAPTR", "NS", "PTR", "SRV", "SSHFP", "SVCB", "TLSA",
    "TXT",
]);

/// A record set of Route 53: the values of one name and type in a hosted zone.
#[aws_kind(
    kind = "RecordSet",
    plural = "recordsets",
    shortname = "rrset",
    doc = "A record set of Route 53: the values of one name and type in a hosted zone. Its main id is HOSTED_ZONE_ID/NAME/TYPE, such as \
           Z0123456789/www.example.com/A, with its set identifier at the end if it has one: Z0123456789/www.example.com/A/blue.",
    noun = "record set",
    state = "recordSet",
    untagged,
    observed = super::observed::Record,
    summary("Name" = "Name", "Type" = "Type"),
    whole("alias"),
    cel(
        "[has(self.values), has(self.alias)].exists_one(is_set, is_set)" else "must have exactly one of values, alias",
        "has(self.setIdentifier) || (!has(self.weight) && !has(self.failover))" else "is required with weight or failover" at "setIdentifier",
        "!has(self.setIdentifier) || has(self.weight) || has(self.failover)" else "is only allowed with weight or failover" at "setIdentifier",
        "!has(self.weight) || !has(self.failover)" else "must not be set together with weight" at "failover",
        "!has(self.alias) || !has(self.ttlSeconds)" else "is not supported for an alias, which has the time to live of its target" at "ttlSeconds",
    )
)]
pub(crate) struct RecordSetSpec {
    /// The hosted zone. Immutable. Example: `{valueFrom: {ref: HostedZone/web}}`
    #[field("zoneID", rule = ZONE_ID, fixed, compare = Self::compare_zone, import = Self::import_zone, published("HostedZoneId"))]
    pub(crate) zone_id: Public<Opt<String>>,

    /// The full domain name, up to 254 characters, which ends with that of the zone; `*.` before it for all names of one level below that
    /// have no records. Unique in the zone for each type. Immutable. Example: `{value: www.example.com}`
    #[field("name", rule = RECORD_NAME, fixed, compare = Self::compare_name, import = Self::import_name, published("Name"))]
    pub(crate) name: Public<Opt<String>>,

    /// The type: `A`, `AAAA`, `CAA`, `CNAME`, `DS`, `HTTPS`, `MX`, `NAPTR`, `NS`, `PTR`, `SRV`, `SSHFP`, `SVCB`, `TLSA` or `TXT`. Immutable.
    /// Example: `{value: A}`
    #[field("type", rule = TYPE, fixed, observed = &r#type)]
    pub(crate) record_type: Public<Opt<String>>,

    /// What distinguishes the record sets of one name and type that share its queries by `weight` or `failover`: 1 to 32 lowercase letters,
    /// digits, `-` and `_`. All of them need one. Immutable. Example: `{value: blue}`
    #[field("setIdentifier", rule = SET_IDENTIFIER, fixed)]
    pub(crate) set_identifier: Option<Public<Opt<String>>>,

    /// The part of the queries that this record set answers, relative to the sum of those with the same name and type, 0 to 255; 0: none,
    /// unless all have 0. Needs `setIdentifier`. Changed in place. Example: `{value: 90}`
    #[field("weight", rule = WEIGHT, change = Record)]
    pub(crate) weight: Option<Opt<i32>>,

    /// Whether this record set answers while it is healthy (`PRIMARY`), or while the primary one is not (`SECONDARY`). Needs `setIdentifier`,
    /// and a primary one `healthCheckID`, or an alias with `evaluateTargetHealth`. Changed in place. Example: `{value: PRIMARY}`
    #[field("failover", rule = FAILOVER, change = Record)]
    pub(crate) failover: Option<Opt<String>>,

    /// The health check of Route 53 without whose success this record set does not answer. Changed in place. Default: an existing one is not
    /// managed. Example: `{value: 0123abcd-4567-89ab-cdef-0123456789ab}`
    #[field("healthCheckID", rule = HEALTH_CHECK_ID, change = Record)]
    pub(crate) health_check_id: Option<Opt<String>>,

    /// How long resolvers keep the values, in seconds, 0 to 2147483647. Changed in place. Not for an alias. Default: 300; an existing one is
    /// not managed. Example: `{value: 60}`
    #[field("ttlSeconds", rule = TTL, change = Record, observed = ttl, published("TTL"))]
    pub(crate) ttl_seconds: Option<Opt<i32>>,

    /// The values, 1 to 400 of up to 4000 printable ASCII characters with no space at the ends, in any order and in the format of the
    /// type: each text of a `TXT` record in double quotes. Exactly one of `values` and `alias`. Changed in place, as a whole. Example: `{value: [192.0.2.1]}`
    #[field("values", rule = VALUE, items(1, 400), change = Record, observed = values(), published("ResourceRecords"), none_if_unset)]
    pub(crate) values: Option<ListOpt<String>>,

    /// The AWS resource whose addresses are the values, such as a load balancer, for the types `A` and `AAAA`. Exactly one of `values` and
    /// `alias`. Changed in place, as a whole. Example: `{dnsName: {valueFrom: {ref: LoadBalancer/web/loadBalancer.DNSName}},
    /// hostedZoneID: {valueFrom: {ref: LoadBalancer/web/loadBalancer.CanonicalHostedZoneId}}}`
    #[field(
        "alias",
        resolve = Self::target => Option<Joined<AliasTarget>>,
        compare = Self::compare_alias,
        import = Self::import_alias,
        published("AliasTarget"),
        none_if_unset
    )]
    pub(crate) alias: Option<Alias>,
}

/// The target of an alias.
#[aws_group]
pub(crate) struct Alias {
    /// The DNS name of the target, up to 1024 characters. Example: `{valueFrom: {ref: LoadBalancer/web/loadBalancer.DNSName}}`
    #[field("dnsName", rule = TARGET_NAME)]
    pub(crate) dns_name: Opt<String>,

    /// The hosted zone of the target: not that of the record, but one of AWS for its service and region, or that of a record in the same
    /// zone. Example: `{valueFrom: {ref: LoadBalancer/web/loadBalancer.CanonicalHostedZoneId}}`
    #[field("hostedZoneID", rule = ZONE_ID)]
    pub(crate) hosted_zone_id: Opt<String>,

    /// Whether the record has no values while the target is unhealthy. Default: false. Example: `{value: true}`
    #[field("evaluateTargetHealth")]
    pub(crate) evaluate_target_health: Option<Opt<bool>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::testing::assert_round_trips;
    use serde_json::json;

    #[test]
    fn field_names_follow_kubernetes_and_values_follow_aws() {
        assert_round_trips::<RecordSetSpec>(&json!({
            "zoneID": {"value": "Z1"},
            "name": {"value": "www.example.com"},
            "type": {"value": "A"},
            "setIdentifier": {"value": "blue"},
            "weight": {"value": 90},
            "failover": {"value": "PRIMARY"},
            "healthCheckID": {"value": "0123abcd-4567-89ab-cdef-0123456789ab"},
            "ttlSeconds": {"value": 60},
            "values": {"value": ["192.0.2.1"]},
            "alias": {
                "dnsName": {"value": "a.example.com"}, "hostedZoneID": {"value": "Z2"},
                "evaluateTargetHealth": {"value": true},
            },
        }));
    }
}
