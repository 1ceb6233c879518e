//! The observed record set, which is the published state.

use kraken_aws::{Tags, aws_observed, items::sorted, lookup::Tagged, resource::RemoteObject};

use super::{id::RecordId, marker};
use crate::{
    dns::types::{self, ResourceRecordSet},
    names::canonical,
};

#[aws_observed]
pub(crate) struct Record {
    #[serde(skip)]
    pub(crate) id: String,
    pub(crate) hosted_zone_id: String,
    pub(crate) name: String,
    pub(crate) r#type: String,
    pub(crate) set_identifier: Option<String>,
    pub(crate) weight: Option<i32>,
    pub(crate) failover: Option<String>,
    pub(crate) health_check_id: Option<String>,
    #[serde(rename = "TTL")]
    pub(crate) ttl: Option<i32>,
    pub(crate) resource_records: Vec<ResourceRecord>,
    pub(crate) alias_target: Option<AliasTarget>,
    #[serde(skip)]
    pub(crate) tags: Tags,
    /// Whether the record itself exists, and not only its owner's.
    #[serde(skip)]
    pub(crate) exists: bool,
    /// Whether it has a routing policy that is neither by weight nor failover.
    #[serde(skip)]
    pub(crate) is_routed_otherwise: bool,
}

#[aws_observed(from = types::ResourceRecord)]
pub(crate) struct ResourceRecord {
    #[from(sdk.value)]
    pub(crate) value: String,
}

#[aws_observed(from = types::AliasTarget)]
pub(crate) struct AliasTarget {
    #[from(sdk.hosted_zone_id)]
    pub(crate) hosted_zone_id: String,
    #[serde(rename = "DNSName")]
    #[from(canonical(&sdk.dns_name))]
    pub(crate) dns_name: String,
    #[from(sdk.evaluate_target_health)]
    pub(crate) evaluate_target_health: bool,
}

impl Record {
    /// From the record and its owner's, of which one may be missing.
    pub(super) fn of(
        id: &RecordId,
        record: Option<&ResourceRecordSet>,
        marker: Option<&ResourceRecordSet>,
    ) -> Self {
        let RecordId { zone, name, kind, set } = id.clone();
        let (exists, tags) = (record.is_some(), marker.map(marker::tags).unwrap_or_default());
        let found = record.cloned();
        let number = |of: fn(&ResourceRecordSet) -> Option<i64>| i32::try_from(of(record?)?).ok();
        let (ttl, weight) = (number(ResourceRecordSet::ttl), number(ResourceRecordSet::weight));
        let failover =
            record.and_then(|record| record.failover()).map(|failover| failover.as_str().to_owned());
        let health_check_id = record.and_then(|record| record.health_check_id().map(str::to_owned));
        let is_routed_otherwise = set.is_some() && exists && weight.is_none() && failover.is_none();
        let (values, alias) =
            found.map(|found| (found.resource_records, found.alias_target)).unwrap_or_default();
        Self {
            id: id.to_string(),
            hosted_zone_id: zone,
            name,
            r#type: kind,
            set_identifier: set,
            weight,
            failover,
            health_check_id,
            ttl,
            resource_records: sorted(values),
            alias_target: alias.map(AliasTarget::from),
            tags,
            exists,
            is_routed_otherwise,
        }
    }

    pub(super) fn values(&self) -> Vec<&str> {
        self.resource_records.iter().map(|record| record.value.as_str()).collect()
    }

    pub(super) fn record_id(&self) -> RecordId {
        RecordId::new(&self.hosted_zone_id, &self.name, &self.r#type).of_set(self.set_identifier.clone())
    }
}

impl Tagged for Record {
    fn id(&self) -> &str {
        &self.id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A name may be used again by another owner.
    fn has_own_id(&self) -> bool {
        false
    }
}

impl RemoteObject for Record {}
