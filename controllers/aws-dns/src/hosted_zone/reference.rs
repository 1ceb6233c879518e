//! The reference of the caller, by which a zone is owned. Route 53 has no tags in its create call, but stores this text with the zone,
//! returns it with each zone, and never changes it. Pure.

use kraken_aws::{
    Tags,
    tags::{CLUSTER, EPOCH, OWNER, UID},
};

const PREFIX: &str = "kraken";
/// The value of the tag of a cluster on a zone that its creator released: then the reference says nothing any more.
pub(super) const RELEASED: &str = "released";

/// The reference of a launch with these tags. With UIDs, up to 100 characters of the 128 that AWS allows.
pub(super) fn of(tags: &Tags) -> String {
    let tag = |key| tags.get(key).map_or("", String::as_str);
    format!("{PREFIX}/{}/{}/{}", tag(CLUSTER), tag(UID), tag(EPOCH))
}

/// The tags of the identity in a reference of Kraken.
pub(super) fn identity(reference: &str) -> Option<Tags> {
    let (cluster, rest) = reference.strip_prefix(PREFIX)?.strip_prefix('/')?.split_once('/')?;
    let (uid, epoch) = rest.split_once('/')?;
    let tags = [(CLUSTER, cluster), (UID, uid), (EPOCH, epoch), (OWNER, "HostedZone/")];
    Some(tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into())
}

/// The tags of a zone. If they name no cluster, because the creation was interrupted before they were set, or somebody removed them, the
/// identity is that of the reference.
pub(super) fn with_identity(mut tags: Tags, reference: &str) -> Tags {
    if !tags.contains_key(CLUSTER) {
        for (key, value) in identity(reference).unwrap_or_default() {
            tags.entry(key).or_insert(value);
        }
    }
    tags
}
