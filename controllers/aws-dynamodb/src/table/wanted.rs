//! The keys and indexes of a spec, in the form in which they are compared. Pure.

use kraken_aws::prelude::*;

use super::{
    api::{Desired, DesiredGlobalIndex, DesiredKey, DesiredLocalIndex},
    index::{ALL, Index, Key, TEXT},
};

impl Key {
    pub(super) fn hash(key: &DesiredKey) -> Self {
        Self { is_range: false, ..Self::range(key) }
    }

    pub(super) fn range(key: &DesiredKey) -> Self {
        let DesiredKey { name, key_type } = key;
        Self {
            name: name.expose().clone(),
            attribute_type: exposed(key_type.as_ref()).unwrap_or_else(|| TEXT.to_owned()),
            is_range: true,
        }
    }
}

impl Index {
    /// `hash`: the hash key of the table.
    pub(super) fn local(index: &DesiredLocalIndex, hash: &DesiredKey) -> Self {
        let DesiredLocalIndex { name, range_key, projection_type, non_key_attributes } = index;
        Self {
            name: name.expose().clone(),
            keys: vec![Key::hash(hash), Key::range(range_key)],
            projection: exposed(projection_type.as_ref()).unwrap_or_else(|| ALL.to_owned()),
            attributes: exposed(non_key_attributes.as_ref()).into_iter().flatten().collect(),
            ..Self::default()
        }
    }

    pub(super) fn global(index: &DesiredGlobalIndex) -> Self {
        let DesiredGlobalIndex {
            name,
            hash_key,
            range_key,
            projection_type,
            non_key_attributes,
            read_capacity_units,
            write_capacity_units,
        } = index;
        Self {
            name: name.expose().clone(),
            keys: [Key::hash(hash_key)].into_iter().chain(range_key.as_ref().map(Key::range)).collect(),
            projection: exposed(projection_type.as_ref()).unwrap_or_else(|| ALL.to_owned()),
            attributes: exposed(non_key_attributes.as_ref()).into_iter().flatten().collect(),
            read: exposed(read_capacity_units.as_ref()),
            write: exposed(write_capacity_units.as_ref()),
            ..Self::default()
        }
    }
}

/// The keys of the table.
pub(super) fn keys(desired: &Desired) -> Vec<Key> {
    [Key::hash(&desired.hash_key)].into_iter().chain(desired.range_key.as_ref().map(Key::range)).collect()
}
