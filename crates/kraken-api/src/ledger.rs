//! The ledger of a resource: what was launched, adopted and replaced for it. A controller writes it before it acts, and reads it back
//! after a restart.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::location::Location;

/// The record of the last launch or adoption, and what is necessary of earlier ones. The controller writes it before the call to the
/// provider, so that it knows after a crash which call may have been made, and with which token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ledger {
    /// The UID of the resource. The ledger of another resource counts for nothing, such as one that came with a restored status.
    /// Example: `6f1c2a6e-3b0c-4f0f-9b57-1d9a54f1c0de`.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub uid: String,
    /// `Kind/namespace/name` of the resource. Example: `VPC/default/main`.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub resource: String,
    /// A digest of the UID and the other members, 16 hexadecimal digits. After an edit by hand it does not match: the ledger then counts
    /// as lost, and the remote objects are searched for by their tags. Example: `5f70bf18a0860070`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 64))]
    pub digest: String,
    /// The ids of the remote objects that exist, or may not be visible yet, the main id first. Example: `["i-0abc1234def567890"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<String>,
    /// The epoch of the last launch whose objects are all known; absent if there is none. If it is lower than `epoch`, a launch is in
    /// progress, or its result is not known. Example: `1`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub confirmed: i64,
    /// The number of this launch of the resource, from 1. It is part of the token of the call, and of the owner tags. Example: `1`.
    pub epoch: i64,
    /// When the ledger of this launch was written, in RFC 3339.
    #[schemars(schema_with = "time")]
    pub at: Timestamp,
    /// A digest of the public parameters of the launch, 32 hexadecimal digits: a token is not sent again with other parameters. Empty if
    /// they are not known, because the ledger was lost and rebuilt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 128))]
    pub hash: String,
    /// The maximum number of objects that a call of this launch requests, if it is known: as many are visible when all are. Example: `1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<usize>,
    /// The first epoch of the current remote objects: objects of earlier epochs are being replaced and are deleted. Absent if nothing
    /// was ever replaced. Example: `2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_before: Option<i64>,
    /// The ids of the objects that existed when the replacement started. Example: `["i-0abc1234def567890"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outgoing: Vec<String>,
    /// Whether it adopts an existing object, and launches nothing. Absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopts: bool,
    /// The ids that were adopted, now or earlier. Example: `["i-0abc1234def567890"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<String>,
    /// The ids that were taken back: this cluster created and released them, so that they do not count as adopted. Example:
    /// `["i-0abc1234def567890"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_back: Vec<String>,
    /// The location of the launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The fields of the spec whose value in the launched objects came from a Secret, with the generation that they were recorded for.
    /// Their values are not shown anywhere. Example: `{userData: 1}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_fields: BTreeMap<String, i64>,
    /// The UID of a former resource of this name whose objects are being taken over. Absent after the next launch. Example:
    /// `0d4b3c52-77c1-4f3e-a8c4-5b1f6f2f9f11`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub former: Option<String>,
    /// The last launches, for the launch limit.
    #[serde(default, skip_serializing_if = "Launches::is_empty")]
    pub launches: Launches,
}

impl Ledger {
    /// Whether it was lost, and rebuilt from other records.
    pub fn is_rebuilt(&self) -> bool {
        self.hash.is_empty()
    }

    /// The ledger of another launch: it inherits what is on record.
    #[must_use]
    pub fn next(before: Option<&Self>, epoch: i64, at: Timestamp, hash: String) -> Self {
        Self { epoch, at, hash, adopts: false, former: None, ..before.cloned().unwrap_or_default() }
    }
}

/// The last launches under one generation of the spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Launches {
    /// The generation that they were made for. Example: `3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The times of the launches in RFC 3339, the latest last, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "times")]
    pub at: Vec<Timestamp>,
    /// Whether the launch limit has stopped the resource. Absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
}

impl Launches {
    /// How many launches are recorded at most.
    pub const REMEMBERED: usize = 100;

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The same with one more launch. Launches for another generation do not count any more.
    #[must_use]
    pub fn with(&self, generation: Option<i64>, now: Timestamp) -> Self {
        let mut at = if self.generation == generation { self.at.clone() } else { vec![] };
        at.push(now);
        at.drain(..at.len().saturating_sub(Self::REMEMBERED));
        Self { generation, at, stopped: false }
    }

    /// The same, marked as stopped.
    #[must_use]
    pub fn stopped(&self) -> Self {
        Self { stopped: true, ..self.clone() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is that of serde")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

fn times(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "maxItems": Launches::REMEMBERED, "items": {"type": "string", "format": "date-time"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_later_launch_of_a_replacement_keeps_its_boundary() {
        let begun = Ledger {
            epoch: 3,
            replaced_before: Some(3),
            outgoing: vec!["i-1".into()],
            former: Some("u-0".into()),
            ..Ledger::default()
        };
        let second = Ledger::next(Some(&begun), 4, at(1_000_000), "other".into());
        assert_eq!((second.epoch, second.replaced_before), (4, Some(3)));
        assert_eq!(second.outgoing, ["i-1"]);
        assert_eq!(second.former, None, "what a former resource left is taken over before a launch");
    }

    #[test]
    fn a_ledger_is_read_as_it_was_written() {
        let full = Ledger {
            uid: "u-1".into(),
            resource: "VPC/ns/a".into(),
            epoch: 3,
            at: at(1_000_000),
            hash: "h".into(),
            replaced_before: Some(2),
            outgoing: vec!["i-1".into()],
            adopted: vec!["i-2".into()],
            location: Some(Location { account: "1".into(), region: "r".into() }),
            secret_fields: [("image".to_owned(), 2)].into(),
            launches: Launches::default().with(Some(7), at(5)),
            ..Ledger::default()
        };
        let text = serde_json::to_string(&full).unwrap();
        assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), full);
    }
}
