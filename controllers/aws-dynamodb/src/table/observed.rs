//! The observed table, which is the published state.

use std::collections::BTreeMap;

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    observed::{WithTags, non_empty},
    resource::{Phase, RemoteObject, is_generated_name},
    tags,
};

use super::{
    bounds::{ON_DEMAND, PROVISIONED},
    index::{ACTIVE, Index, Key},
};
use crate::dynamodb::types;

/// The table class that AWS chooses.
const STANDARD: &str = "STANDARD";

#[aws_observed]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Table {
    pub(super) table_name: String,
    pub(super) table_arn: String,
    /// That of no other table, also of a later one with the same name.
    pub(super) table_id: Option<String>,
    pub(super) billing_mode: String,
    pub(super) table_class: String,
    pub(super) deletion_protection_enabled: bool,
    /// Of the stream, if it is enabled.
    pub(super) latest_stream_arn: Option<String>,
    #[serde(rename = "KMSMasterKeyArn")]
    pub(super) kms_master_key_arn: Option<String>,
    #[serde(skip)]
    pub(super) status: String,
    #[serde(skip)]
    pub(super) keys: Vec<Key>,
    #[serde(skip)]
    pub(super) local_indexes: Vec<Index>,
    #[serde(skip)]
    pub(super) global_indexes: Vec<Index>,
    /// None if requests are paid each.
    #[serde(skip)]
    pub(super) read: Option<i32>,
    #[serde(skip)]
    pub(super) write: Option<i32>,
    /// Empty without a stream.
    #[serde(skip)]
    pub(super) stream_view_type: String,
    /// Read only in deep observations, and not while AWS changes the table: it has not all of them then. None if they were not read.
    #[serde(skip)]
    pub(super) settings: Option<Settings>,
    /// Whether the spec refuses the final backup, for the deletion.
    #[serde(skip)]
    pub(super) skips_final_backup: bool,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

/// What three more calls read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Settings {
    /// The attribute; empty for none.
    pub(super) time_to_live: String,
    /// Whether AWS is disabling it.
    pub(super) is_time_to_live_ending: bool,
    pub(super) point_in_time_recovery: bool,
    pub(super) recovery_period: Option<i32>,
    /// JSON; empty for none.
    pub(super) policy: String,
}

impl From<types::TableDescription> for Table {
    fn from(sdk: types::TableDescription) -> Self {
        let defined = sdk.attribute_definitions.unwrap_or_default().into_iter();
        let defined: BTreeMap<String, String> =
            defined.map(|one| (one.attribute_name, one.attribute_type.as_str().to_owned())).collect();
        let key = |one: types::KeySchemaElement| Key {
            attribute_type: defined.get(&one.attribute_name).cloned().unwrap_or_default(),
            name: one.attribute_name,
            is_range: one.key_type == types::KeyType::Range,
        };
        let keys = |schema: Option<Vec<types::KeySchemaElement>>| -> Vec<Key> {
            schema.unwrap_or_default().into_iter().map(key).collect()
        };
        let index = |name, schema, projection: Option<types::Projection>| Index {
            name: non_empty::<String>(name).unwrap_or_default(),
            keys: keys(schema),
            projection: projection
                .as_ref()
                .and_then(|one| one.projection_type.as_ref())
                .map_or_else(String::new, |one| one.as_str().to_owned()),
            attributes: projection.and_then(|one| one.non_key_attributes).into_iter().flatten().collect(),
            ..Index::default()
        };
        let local = |one: types::LocalSecondaryIndexDescription| {
            index(one.index_name, one.key_schema, one.projection)
        };
        let global = |one: types::GlobalSecondaryIndexDescription| {
            let (read, write) = capacity(one.provisioned_throughput.as_ref());
            let status = one.index_status.as_ref().map_or(ACTIVE, types::IndexStatus::as_str).to_owned();
            Index { read, write, status, ..index(one.index_name, one.key_schema, one.projection) }
        };
        let (read, write) = capacity(sdk.provisioned_throughput.as_ref());
        let stream = sdk.stream_specification.filter(|stream| stream.stream_enabled);
        let mode = sdk.billing_mode_summary.and_then(|one| one.billing_mode);
        let class = sdk.table_class_summary.and_then(|one| one.table_class);
        Self {
            table_name: sdk.table_name.unwrap_or_default(),
            table_arn: sdk.table_arn.unwrap_or_default(),
            table_id: sdk.table_id,
            // AWS returns neither for a table that had none other.
            billing_mode: mode.as_ref().map_or(PROVISIONED, types::BillingMode::as_str).to_owned(),
            table_class: class.as_ref().map_or(STANDARD, types::TableClass::as_str).to_owned(),
            deletion_protection_enabled: sdk.deletion_protection_enabled == Some(true),
            latest_stream_arn: sdk.latest_stream_arn.filter(|_| stream.is_some()),
            kms_master_key_arn: non_empty(sdk.sse_description.and_then(|sse| sse.kms_master_key_arn)),
            status: sdk.table_status.map_or_else(String::new, |status| status.as_str().to_owned()),
            keys: keys(sdk.key_schema),
            local_indexes: sorted(sdk.local_secondary_indexes, local),
            global_indexes: sorted(sdk.global_secondary_indexes, global),
            read,
            write,
            stream_view_type: stream
                .and_then(|stream| stream.stream_view_type)
                .map_or_else(String::new, |one| one.as_str().to_owned()),
            ..Self::default()
        }
    }
}

/// AWS returns zeros if requests are paid each.
fn capacity(sdk: Option<&types::ProvisionedThroughputDescription>) -> (Option<i32>, Option<i32>) {
    let units = |units: Option<i64>| i32::try_from(units?).ok().filter(|units| *units > 0);
    sdk.map_or((None, None), |one| (units(one.read_capacity_units), units(one.write_capacity_units)))
}

/// AWS's order varies.
fn sorted<T>(sdk: Option<Vec<T>>, index: impl Fn(T) -> Index) -> Vec<Index> {
    let mut indexes: Vec<Index> = sdk.unwrap_or_default().into_iter().map(index).collect();
    indexes.sort();
    indexes
}

impl Table {
    /// The name in an ARN of a table; none if it is no such ARN.
    pub(super) fn name_of(arn: &str) -> Option<&str> {
        let is_arn = arn.starts_with("arn:") && arn.split(':').nth(2) == Some("dynamodb");
        arn.split(':').nth(5)?.strip_prefix("table/").filter(|name| is_arn && !name.contains('/'))
    }

    pub(super) fn key(&self, is_range: bool) -> Option<&Key> {
        self.keys.iter().find(|key| key.is_range == is_range)
    }

    pub(super) fn is_on_demand(&self) -> bool {
        self.billing_mode == ON_DEMAND
    }

    pub(super) fn time_to_live(&self) -> Option<&String> {
        Some(&self.settings.as_ref()?.time_to_live)
    }

    pub(super) fn point_in_time_recovery(&self) -> Option<&bool> {
        Some(&self.settings.as_ref()?.point_in_time_recovery)
    }

    pub(super) fn recovery_period(&self) -> Option<&i32> {
        self.settings.as_ref()?.recovery_period.as_ref()
    }
}

impl Tagged for Table {
    fn id(&self) -> &str {
        &self.table_arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a table of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.table_name)
    }
}

impl WithTags for Table {
    fn with_tags(self, tags: Tags) -> Self {
        Self { tags, ..self }
    }
}

impl RemoteObject for Table {
    /// While AWS changes a table or one of its indexes, it accepts no other change.
    fn phase(&self) -> Phase {
        let pending = |what: &str| Phase::Pending(what.to_owned());
        let index = self.global_indexes.iter().find(|index| index.status != ACTIVE);
        match (&*self.status, index.map(|index| (&*index.status, &index.name))) {
            ("DELETING", _) => Phase::Deleting,
            ("CREATING", _) => pending("being created"),
            (ACTIVE | "UPDATING", Some(("CREATING", name))) => pending(&format!("building its index {name}")),
            (ACTIVE | "UPDATING", Some(("DELETING", name))) => pending(&format!("deleting its index {name}")),
            (ACTIVE | "UPDATING", Some((_, name))) => pending(&format!("changing its index {name}")),
            (ACTIVE, None) => Phase::Available,
            ("UPDATING", None) => pending("being changed"),
            ("INACCESSIBLE_ENCRYPTION_CREDENTIALS" | "ARCHIVING" | "ARCHIVED", _) => pending(
                "unusable, because DynamoDB cannot use its KMS key: enable the key and permit its use",
            ),
            (other, _) => pending(other),
        }
    }
}
