//! The owner of a record set. Record sets have no tags, so that a TXT record beside each has them, which is created and deleted in one
//! change batch with it. Pure.

use kraken_aws::{
    Tags,
    tags::{CLUSTER, EPOCH, KEYS, OWNER, UID},
};

use super::id::RecordId;
use crate::dns::types::{ResourceRecord, ResourceRecordSet, RrType};

/// The first label of the name, before the type and the set identifier.
const LABEL: &str = "_kraken-";
/// A label for the `*` of a wildcard, which is none anywhere else.
const WILDCARD: &str = "_wildcard.";
/// The time to live in seconds: nobody looks it up.
const TTL: i64 = 300;
/// The keys that it stores. There are no tags of users to remember.
const STORED: [&str; 4] = [CLUSTER, UID, OWNER, EPOCH];
/// The maximum length of one text in a TXT record, in bytes.
const MAX_TEXT: usize = 255;

/// The name of the TXT record of a record set.
pub(super) fn name(id: &RecordId) -> String {
    let name = id.name.strip_prefix("*.").map_or_else(|| id.name.clone(), |rest| format!("{WILDCARD}{rest}"));
    let set = id.set.as_ref().map(|set| format!("-{set}")).unwrap_or_default();
    format!("{LABEL}{}{set}.{name}", id.kind.to_ascii_lowercase())
}

/// The record set whose TXT record has this name.
pub(super) fn subject(zone: &str, name: &str) -> Option<RecordId> {
    let (label, name) = name.strip_prefix(LABEL)?.split_once('.')?;
    let (kind, set) = label.split_once('-').map_or((label, None), |(kind, set)| (kind, Some(set.to_owned())));
    let name = name.strip_prefix(WILDCARD).map_or_else(|| name.to_owned(), |rest| format!("*.{rest}"));
    Some(RecordId::new(zone, &name, &kind.to_ascii_uppercase()).of_set(set))
}

/// The TXT record with these tags; none if they contain none of Kraken's.
pub(super) fn record(id: &RecordId, tags: &Tags) -> Option<ResourceRecordSet> {
    let texts = STORED.iter().filter_map(|key| Some(quoted(&format!("{key}={}", tags.get(*key)?))));
    let value = texts.collect::<Vec<_>>().join(" ");
    let value =
        ResourceRecord::builder().value(value).build().ok().filter(|value| !value.value.is_empty())?;
    let record = ResourceRecordSet::builder().name(name(id)).r#type(RrType::Txt).ttl(TTL);
    record.resource_records(value).build().ok()
}

/// The tags in a TXT record.
pub(super) fn tags(record: &ResourceRecordSet) -> Tags {
    let values = record.resource_records.iter().flatten().flat_map(|value| value.value.split('"'));
    let pair = |text: &str| {
        let (key, value) = text.split_once('=')?;
        KEYS.contains(&key).then(|| (key.to_owned(), value.to_owned()))
    };
    values.filter_map(pair).collect()
}

/// Ids and names have no characters that need an escape.
fn quoted(text: &str) -> String {
    let mut text: String =
        text.chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')).collect();
    text.truncate(MAX_TEXT);
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use kraken_aws::tags::{identity_tags, owned_by};
    use kraken_kind::Identity;

    use super::*;

    #[test]
    fn each_record_set_has_a_marker_of_its_own_beside_it() {
        for (record, marker) in [
            ("Z1/www.example.com/A", "_kraken-a.www.example.com"),
            ("Z1/www.example.com/CNAME", "_kraken-cname.www.example.com"),
            ("Z1/*.example.com/A", "_kraken-a._wildcard.example.com"),
            ("Z1/www.example.com/A/blue-1", "_kraken-a-blue-1.www.example.com"),
            ("Z1/_wildcard.example.com/TXT", "_kraken-txt._wildcard.example.com"),
        ] {
            let id = RecordId::parse(record).unwrap();
            assert_eq!(name(&id), marker);
        }
        for (marker, record) in [
            ("_kraken-a._wildcard.example.com", "Z1/*.example.com/A"),
            ("_kraken-a-blue-1.www.example.com", "Z1/www.example.com/A/blue-1"),
        ] {
            assert_eq!(subject("Z1", marker), RecordId::parse(record), "{marker}");
        }
        assert_eq!(subject("Z1", "www.example.com"), None);
    }

    #[test]
    fn a_marker_has_the_tags_of_the_identity() {
        let id = RecordId::parse("Z1/www.example.com/A").unwrap();
        let owner = format!("RecordSet/{}/{}", "n".repeat(63), "a".repeat(253));
        let identity = Identity { cluster: "c".into(), uid: "u".into(), owner };
        let mut all = identity_tags(&identity, 3);
        all.insert("Team".to_owned(), "web".to_owned());
        let record = record(&id, &all).unwrap();
        let value = &record.resource_records()[0].value;
        assert!(value.split(' ').all(|text| text.len() <= MAX_TEXT + 2), "{value}");
        let found = tags(&record);
        assert!(owned_by(&identity, &found));
        assert_eq!((found.len(), found[EPOCH].as_str()), (4, "3"));
        assert!(super::record(&id, &Tags::new()).is_none());
    }
}
