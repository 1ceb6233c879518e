//! Converts parts of a table to the SDK's types. A part with all its fields has no error.

use std::collections::BTreeMap;

use crate::{
    dynamodb::types::{
        AttributeDefinition, KeySchemaElement, KeyType, Projection, ProvisionedThroughput, SseSpecification,
        SseType, StreamSpecification,
    },
    table::{
        capacity::Capacity,
        index::{Index, Key},
    },
};

/// Each attribute once: AWS rejects those that are no keys.
pub(super) fn definitions<'k>(keys: impl Iterator<Item = &'k Key>) -> Vec<AttributeDefinition> {
    let types: BTreeMap<&str, &str> = keys.map(|key| (&*key.name, &*key.attribute_type)).collect();
    let one = |(name, kind): (&str, &str)| {
        AttributeDefinition::builder().attribute_name(name).attribute_type(kind.into()).build().ok()
    };
    types.into_iter().filter_map(one).collect()
}

pub(super) fn schema(keys: &[Key]) -> Vec<KeySchemaElement> {
    let one = |key: &Key| {
        let kind = if key.is_range { KeyType::Range } else { KeyType::Hash };
        KeySchemaElement::builder().attribute_name(&key.name).key_type(kind).build().ok()
    };
    keys.iter().filter_map(one).collect()
}

pub(super) fn projection(index: &Index) -> Projection {
    let attributes: Vec<String> = index.attributes.iter().cloned().collect();
    Projection::builder()
        .projection_type(index.projection.as_str().into())
        .set_non_key_attributes(Some(attributes).filter(|all| !all.is_empty()))
        .build()
}

pub(super) fn throughput((read, write): Capacity) -> Option<ProvisionedThroughput> {
    let units = ProvisionedThroughput::builder().read_capacity_units(read.into());
    units.write_capacity_units(write.into()).build().ok()
}

/// `key`: empty for that of DynamoDB.
pub(super) fn encryption(key: &str) -> SseSpecification {
    if key.is_empty() {
        return SseSpecification::builder().enabled(false).build();
    }
    SseSpecification::builder().enabled(true).sse_type(SseType::Kms).kms_master_key_id(key).build()
}

/// `kind`: empty for none.
pub(super) fn stream(kind: &str) -> Option<StreamSpecification> {
    let stream = StreamSpecification::builder().stream_enabled(!kind.is_empty());
    stream.set_stream_view_type((!kind.is_empty()).then(|| kind.into())).build().ok()
}
