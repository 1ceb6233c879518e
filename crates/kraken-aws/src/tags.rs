//! Identity tags, which record the owner of an object and are set in its create call, and the rules for user tags.

use std::{collections::BTreeMap, sync::LazyLock};

use aws_sdk_ec2::types::{ResourceType, Tag, TagSpecification};
use kraken_kind::{Identity, Resolver, options::PublicMap};
use serde::{Serialize, Serializer};

use crate::fields::tag_path;

/// Tags by key.
pub type Tags = BTreeMap<String, String>;

/// The user's tags in a spec: each value is a literal or a reference, and not from a Secret, because tags are widely visible.
pub type TagOptions = PublicMap<String>;

/// The tags in a spec without a field for them.
pub fn none() -> &'static TagOptions {
    static NONE: LazyLock<TagOptions> = LazyLock::new(TagOptions::default);
    &NONE
}

/// The field of a spec with tags.
const FIELD: &str = "tags";

/// For `skip_serializing_if`.
pub fn is_empty(options: &TagOptions) -> bool {
    options.is_empty()
}

/// The user's tags with their values, if all have valid values. Problems are recorded for each tag.
pub fn take(options: &TagOptions, values: &mut Resolver<'_>) -> Option<Tags> {
    let taken = values.take_public_map(FIELD, options);
    valid(options, taken, values)
}

/// The same of tags that are searched for, to which an account adds none.
pub fn take_wanted(options: &TagOptions, values: &mut Resolver<'_>) -> Option<Tags> {
    let taken = values.take_own_public_map(FIELD, options);
    valid(options, taken, values)
}

fn valid(options: &TagOptions, taken: Option<Tags>, values: &mut Resolver<'_>) -> Option<Tags> {
    // Keys are validated even if the values are not available.
    let keys = || options.0.0.keys().map(|key| (key.clone(), String::new())).collect();
    let known = taken.clone().unwrap_or_else(keys);
    let problems = problems(&known);
    let is_valid = problems.is_empty();
    for (key, why) in problems {
        values.problem(&key.map_or_else(|| FIELD.to_owned(), tag_path), why);
    }
    taken.filter(|_| is_valid)
}

/// The prefix of Kraken's keys, which user tags must not have.
pub const PREFIX: &str = "kraken-iac.eoinfennessy.com/";
/// Key of the cluster's id.
pub const CLUSTER: &str = "kraken-iac.eoinfennessy.com/cluster";
/// Key of the resource's UID.
pub const UID: &str = "kraken-iac.eoinfennessy.com/uid";
/// Key of `Kind/namespace/name`, informational; only the orphan sweep uses it, to skip objects of other kinds.
pub const OWNER: &str = "kraken-iac.eoinfennessy.com/owner";
/// Key of the epoch of the launch.
pub const EPOCH: &str = "kraken-iac.eoinfennessy.com/epoch";
/// Key of the record of user tags that Kraken set; see [`crate::tag_memory`].
pub const MEMORY: &str = "kraken-iac.eoinfennessy.com/tags";

/// The start of the value of [`CLUSTER`] on a released object.
const RELEASED: &str = "released-by/";

/// All keys of Kraken.
pub const KEYS: [&str; 5] = [CLUSTER, UID, OWNER, EPOCH, MEMORY];

/// The maximum number of user tags: AWS allows 50 tags per object.
pub const MAX_USER_TAGS: usize = 50 - KEYS.len();
/// The maximum length of a key, in characters.
pub const MAX_KEY: usize = 128;
/// The maximum length of a value, in characters.
pub const MAX_VALUE: usize = 256;

/// The tags with the owner of an object and its epoch.
pub fn identity_tags(identity: &Identity, epoch: i64) -> Tags {
    Tags::from([
        (CLUSTER.to_owned(), identity.cluster.clone()),
        (UID.to_owned(), identity.uid.clone()),
        (OWNER.to_owned(), shortened(&identity.owner)),
        (EPOCH.to_owned(), epoch.to_string()),
    ])
}

/// The owner in the tags, a resource of this or another cluster, if there is one.
pub fn owner(tags: &Tags) -> Option<Identity> {
    let tag = |key| tags.get(key).filter(|value| !value.is_empty()).cloned();
    Some(Identity { cluster: tag(CLUSTER)?, uid: tag(UID)?, owner: tag(OWNER).unwrap_or_default() })
}

/// The tag of an object that a resource of this cluster created and released. It replaces that of the cluster's id, so that the object is
/// not one of its resources any more, and no tag more is needed.
pub fn released_tag(cluster: &str) -> Tags {
    Tags::from([(CLUSTER.to_owned(), format!("{RELEASED}{cluster}"))])
}

/// The cluster of the resource that created an object and released it later.
pub fn created_by(tags: &Tags) -> Option<String> {
    Some(tags.get(CLUSTER)?.strip_prefix(RELEASED)?.to_owned())
}

/// The owner of an object in a message, after its id: ` of Subnet/ns/a`; nothing if Kraken does not manage it.
pub fn of_owner(tags: &Tags) -> String {
    owner(tags).map(|owner| format!(" of {}", owner.owner)).unwrap_or_default()
}

/// Whether the tags contain no owner: at least one of them was removed or emptied.
pub fn is_untagged(tags: &Tags) -> bool {
    owner(tags).is_none()
}

/// The tag specifications of a create call, for each type of object that it creates.
pub fn specifications(types: &[ResourceType], tags: &Tags) -> Vec<TagSpecification> {
    types
        .iter()
        .map(|kind| {
            TagSpecification::builder().resource_type(kind.clone()).set_tags(Some(to_sdk(tags))).build()
        })
        .collect()
}

/// Converts to the SDK's type.
pub fn to_sdk<'a>(tags: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<Tag> {
    tags.into_iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

/// Converts from the SDK's type.
pub fn from_sdk(tags: &[Tag]) -> Tags {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    tags.iter().map(|tag| (text(tag.key()), text(tag.value()))).collect()
}

/// Whether this identity owns an object with these tags. The owner's name is ignored: names are reused, UIDs are not.
pub fn owned_by(identity: &Identity, tags: &Tags) -> bool {
    let is = |key, wanted: &String| !wanted.is_empty() && tags.get(key) == Some(wanted);
    is(UID, &identity.uid) && is(CLUSTER, &identity.cluster)
}

/// The epoch of the launch that created an object; 0 if unknown.
pub fn epoch(tags: &Tags) -> i64 {
    tags.get(EPOCH).and_then(|epoch| epoch.parse().ok()).unwrap_or(0)
}

/// Whether a key is a user key: neither Kraken's nor AWS's.
pub fn is_users(key: &str) -> bool {
    !key.starts_with(PREFIX) && !key.starts_with("aws:")
}

/// The user tags.
pub fn users(tags: &Tags) -> Tags {
    tags.iter().filter(|(key, _)| is_users(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The user tags in AWS's form, a list of `{Key, Value}`: for `#[serde(serialize_with = "tags::written")]`.
///
/// # Errors
/// The serializer's.
pub fn written<S: Serializer>(tags: &Tags, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Tag {
        key: String,
        value: String,
    }
    serializer.collect_seq(users(tags).into_iter().map(|(key, value)| Tag { key, value }))
}

/// The problems of user tags that AWS would reject: each with its key, or none for the whole map.
pub fn problems(tags: &Tags) -> Vec<(Option<&str>, String)> {
    let mut found = vec![];
    if tags.len() > MAX_USER_TAGS {
        found.push((None, format!("has {} tags; at most {MAX_USER_TAGS} are allowed", tags.len())));
    }
    for (key, value) in tags {
        let mut wrong = |what: String| found.push((Some(key.as_str()), what));
        if key.is_empty() {
            wrong("has an empty key".to_owned());
        }
        if key.chars().count() > MAX_KEY {
            wrong(format!("has a key of more than {MAX_KEY} characters"));
        }
        if key.to_ascii_lowercase().starts_with("aws:") {
            wrong("starts with aws:, which is reserved for AWS".to_owned());
        }
        if key.starts_with(PREFIX) {
            wrong(format!("starts with {PREFIX}, which is reserved for Kraken"));
        }
        if value.chars().count() > MAX_VALUE {
            wrong(format!("has a value of more than {MAX_VALUE} characters"));
        }
    }
    found
}

/// The end of a shortened owner.
pub(crate) const SHORTENED: char = '…';

/// A long namespace and name together can exceed the maximum length of a tag value.
fn shortened(owner: &str) -> String {
    if owner.chars().count() <= MAX_VALUE {
        return owner.to_owned();
    }
    owner.chars().take(MAX_VALUE - 1).chain([SHORTENED]).collect()
}

#[cfg(test)]
mod tests {
    use kraken_kind::api::DOMAIN;

    use super::*;

    fn identity() -> Identity {
        Identity { cluster: "c".into(), uid: "u".into(), owner: "EC2Instance/ns/a".into() }
    }

    fn tags(list: &[(&str, &str)]) -> Tags {
        list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_key_has_the_domain_of_kraken_and_is_not_a_user_key() {
        assert_eq!(PREFIX, format!("{DOMAIN}/"));
        for key in KEYS {
            assert!(key.starts_with(PREFIX) && !is_users(key), "{key}");
        }
    }

    #[test]
    fn an_object_is_owned_only_by_the_identity_in_its_tags() {
        let tags = from_sdk(&to_sdk(&identity_tags(&identity(), 3)));
        assert!(owned_by(&identity(), &tags));
        assert_eq!(epoch(&tags), 3);
        assert!(!owned_by(&Identity { uid: "v".into(), ..identity() }, &tags));
        assert!(!owned_by(&Identity { cluster: "d".into(), ..identity() }, &tags));
        assert!(owned_by(&Identity { owner: "renamed".into(), ..identity() }, &tags));
    }

    #[test]
    fn an_empty_identity_owns_nothing() {
        let nobody = Identity { cluster: String::new(), uid: String::new(), owner: String::new() };
        assert!(!owned_by(&nobody, &tags(&[(UID, ""), (CLUSTER, "")])));
        assert!(!owned_by(&nobody, &Tags::new()));
    }

    #[test]
    fn tags_without_the_cluster_or_the_uid_contain_no_owner() {
        for stripped in [vec![], vec![(UID, "u")], vec![(CLUSTER, "c")], vec![(CLUSTER, "c"), (UID, "")]] {
            assert!(is_untagged(&tags(&stripped)), "{stripped:?}");
        }
        assert!(!is_untagged(&tags(&[(CLUSTER, "c"), (UID, "u")])));
    }

    #[test]
    fn an_invalid_epoch_counts_as_unknown() {
        assert_eq!(epoch(&tags(&[(EPOCH, "x")])), 0);
        assert_eq!(epoch(&Tags::new()), 0);
    }

    #[test]
    fn a_long_owner_is_shortened_to_a_valid_tag() {
        let owner = format!("EC2Instance/{}/{}", "n".repeat(63), "a".repeat(253));
        let tags = identity_tags(&Identity { owner, ..identity() }, 3);
        assert_eq!(tags[OWNER].chars().count(), MAX_VALUE);
    }

    #[test]
    fn a_specification_contains_every_tag_for_each_type() {
        let made = specifications(&[ResourceType::Instance, ResourceType::Volume], &tags(&[("Name", "web")]));
        assert_eq!(made.len(), 2);
        assert!(made.iter().all(|spec| from_sdk(spec.tags()) == tags(&[("Name", "web")])));
        assert_eq!(made[1].resource_type(), Some(&ResourceType::Volume));
    }

    #[test]
    fn user_tags_exclude_those_of_kraken_and_aws() {
        let all = tags(&[("Name", "web"), (UID, "u"), ("aws:autoscaling:groupName", "g")]);
        assert_eq!(users(&all), tags(&[("Name", "web")]));
    }

    fn taken(written: &serde_json::Value) -> Result<Tags, Vec<String>> {
        let options: TagOptions = serde_json::from_value(written.clone()).unwrap();
        crate::testing::resolve(|values| take(&options, values))
    }

    #[test]
    fn tag_values_are_literals_or_references_and_never_secret() {
        use serde_json::json;
        assert_eq!(taken(&json!({"Name": "web"})).unwrap(), tags(&[("Name", "web")]));
        let vpc = json!({"valueFrom": {"krakenResource": {"kind": "VPC", "name": "main"}}});
        let secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let problems = taken(&json!({"Vpc": vpc, "Key": secret, "aws:x": "y"})).unwrap_err();
        assert_eq!(problems.len(), 3, "{problems:?}");
        for words in ["vpc main", "a Secret cannot be the source", "reserved for AWS"] {
            assert!(problems.iter().any(|problem| problem.contains(words)), "{problems:?}");
        }
    }

    #[test]
    fn every_violated_tag_rule_is_reported_with_its_key() {
        let (long_key, long_value) = ("k".repeat(129), "v".repeat(257));
        for (key, value, words) in [
            ("", "x", "empty key"),
            (long_key.as_str(), "x", "more than 128"),
            ("AWS:Name", "x", "reserved for AWS"),
            (UID, "x", "reserved for Kraken"),
            ("Name", long_value.as_str(), "more than 256"),
        ] {
            let wrong = tags(&[(key, value)]);
            let found = problems(&wrong);
            assert_eq!(found.len(), 1, "{key}");
            assert_eq!(found[0].0, Some(key));
            assert!(found[0].1.contains(words), "{}", found[0].1);
        }
        let many: Tags = (0..46).map(|n| (n.to_string(), String::new())).collect();
        assert_eq!(problems(&many).len(), 1);
        assert!(problems(&tags(&[("Name", "ü".repeat(256).as_str())])).is_empty());
    }
}
