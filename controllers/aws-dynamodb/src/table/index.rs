//! Keys and indexes in a form in which those of a spec and of AWS can be compared. Pure.

use std::{collections::BTreeSet, fmt};

use kraken_aws::import::Fields;
use serde_json::Value;

/// The type of a key that says none.
pub(super) const TEXT: &str = "S";
/// The projection of an index that says none.
pub(super) const ALL: &str = "ALL";
/// The projection with more attributes than the keys.
pub(super) const INCLUDE: &str = "INCLUDE";
/// The status of an index that AWS does not change at the moment.
pub(super) const ACTIVE: &str = "ACTIVE";

/// An attribute that is a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) name: String,
    /// `S`, `N` or `B`.
    pub(super) attribute_type: String,
    pub(super) is_range: bool,
}

/// An index.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Index {
    pub(super) name: String,
    /// Hash keys first.
    pub(super) keys: Vec<Key>,
    pub(super) projection: String,
    /// Besides the keys.
    pub(super) attributes: BTreeSet<String>,
    /// None if requests are paid each.
    pub(super) read: Option<i32>,
    pub(super) write: Option<i32>,
    /// Of an observed one.
    pub(super) status: String,
}

impl Key {
    /// As it is written in a spec.
    pub(super) fn imported(&self) -> Option<Value> {
        let mut fields = Fields::default();
        fields.one("name", Some(&self.name));
        fields.one_unless("type", Some(&self.attribute_type), TEXT);
        fields.group()
    }
}

impl Index {
    /// Whether the other one differs only in what AWS can change.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let fixed = |index: &Self| (index.keys.clone(), index.projection.clone(), index.attributes.clone());
        fixed(self) == fixed(other)
    }

    /// As it is written in a spec, without the hash key of a local one; none if its keys cannot be written.
    pub(super) fn imported(&self, is_local: bool) -> Option<Value> {
        let (hash, range) = match self.keys.as_slice() {
            [hash] if !hash.is_range => (hash, None),
            [hash, range] if !hash.is_range && range.is_range => (hash, Some(range)),
            _ => return None,
        };
        let mut fields = Fields::default();
        fields.one("name", Some(&self.name));
        fields.own("hashKey", hash.imported().filter(|_| !is_local));
        fields.own("rangeKey", range.and_then(Key::imported));
        fields.one_unless("projectionType", Some(&self.projection), ALL);
        fields.list("nonKeyAttributes", &self.attributes.iter().collect::<Vec<_>>());
        fields.one("readCapacityUnits", self.read.as_ref());
        fields.one("writeCapacityUnits", self.write.as_ref());
        fields.group()
    }
}

/// `customer (S)`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.attribute_type)
    }
}

/// `date (S), total (N), projection ALL`.
impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.keys.iter().try_for_each(|key| write!(f, "{key}, "))?;
        write!(f, "projection {}", self.projection)?;
        self.attributes.iter().try_for_each(|attribute| write!(f, " {attribute}"))
    }
}
