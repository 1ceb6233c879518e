//! Lifecycle rules in a form in which those of a spec and of AWS can be compared. Pure.

use std::{collections::BTreeMap, fmt};

use kraken_aws::import::Fields;
use serde_json::Value;

/// A rule by its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) prefix: String,
    pub(super) is_off: bool,
    pub(super) expiration: Option<i32>,
    pub(super) noncurrent: Option<i32>,
    pub(super) abort: Option<i32>,
    /// The days of each storage class.
    pub(super) transitions: BTreeMap<String, i32>,
    /// Whether it has settings that a spec cannot express.
    pub(super) has_others: bool,
}

impl Rule {
    /// As it is written in a spec; none if it has settings that a spec cannot express.
    pub(super) fn imported(&self) -> Option<Value> {
        if self.has_others {
            return None;
        }
        let mut fields = Fields::default();
        fields.one("id", Some(&self.id));
        fields.one("prefix", Some(&self.prefix).filter(|prefix| !prefix.is_empty()));
        fields.one("enabled", self.is_off.then_some(&false));
        fields.one("expirationDays", self.expiration.as_ref());
        fields.one("noncurrentVersionExpirationDays", self.noncurrent.as_ref());
        fields.one("abortIncompleteMultipartUploadDays", self.abort.as_ref());
        let transitions: Vec<Value> = self
            .transitions
            .iter()
            .filter_map(|(class, days)| {
                let mut fields = Fields::default();
                fields.one("storageClass", Some(class));
                fields.one("days", Some(days));
                fields.group()
            })
            .collect();
        fields.own("transitions", (!transitions.is_empty()).then(|| transitions.into()));
        fields.group()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = |what: &str, days: Option<i32>| days.map(|days| format!("{what} after {days} days"));
        let mut parts = vec![];
        parts.extend((!self.prefix.is_empty()).then(|| format!("prefix {}", self.prefix)));
        parts.extend(self.is_off.then(|| "disabled".to_owned()));
        parts.extend(days("expire", self.expiration));
        parts.extend(days("expire noncurrent versions", self.noncurrent));
        parts.extend(days("abort uploads", self.abort));
        parts.extend(self.transitions.iter().filter_map(|(class, after)| days(class, Some(*after))));
        parts.extend(self.has_others.then(|| "settings that are not supported".to_owned()));
        f.write_str(&parts.join(", "))
    }
}
