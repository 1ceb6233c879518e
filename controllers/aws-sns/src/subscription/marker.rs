//! The owner of a subscription. A subscription has no tags, and its call returns the existing one with the same topic, protocol and
//! endpoint, whoever created it. A tag of its topic says which subscription has which owner. It is set before the call, after the
//! subscription was found not to exist, and names the id of the subscription after it: so another subscription with the same endpoint, which
//! somebody creates later, is not that of the owner. Pure.

use kraken_aws::{
    Tags,
    fields::digest,
    tags::{CLUSTER, EPOCH, OWNER, PREFIX, UID},
};

/// The id in the marker of a subscription whose creation did not return yet.
const PENDING: &str = "-";
/// The maximum length of the value of a tag.
const MAX: usize = 256;

/// The owner of a subscription, and which one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marker {
    /// The last part of the ARN of the subscription.
    id: String,
    /// The owner tags, which are those of the subscription.
    pub(super) tags: Tags,
}

/// The key of the tag of the topic. The endpoint may be longer than a key, and have other characters.
pub(super) fn key(protocol: &str, endpoint: &str) -> String {
    format!("{PREFIX}subscription-{}", digest(&[protocol, endpoint]))
}

/// The last part of the ARN of a subscription.
pub(super) fn id_in(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or_default()
}

impl Marker {
    /// That of a subscription with this ARN; without one, of a creation that did not return yet.
    pub(super) fn new(arn: Option<&str>, tags: &Tags) -> Self {
        let keys = [CLUSTER, UID, EPOCH, OWNER];
        let tags = tags.iter().filter(|(key, _)| keys.contains(&key.as_str()));
        Self {
            id: arn.map_or(PENDING, id_in).to_owned(),
            tags: tags.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }

    /// The marker in the tags of a topic.
    pub(super) fn of(topic: &Tags, protocol: &str, endpoint: &str) -> Option<Self> {
        let text = topic.get(&key(protocol, endpoint))?;
        let mut parts = text.splitn(5, ' ');
        let id = parts.next()?.to_owned();
        let tags = [CLUSTER, UID, EPOCH, OWNER].into_iter().zip(parts);
        let tags = tags.filter(|(_, value)| *value != PENDING);
        Some(Self { id, tags: tags.map(|(key, value)| (key.to_owned(), value.to_owned())).collect() })
    }

    /// The value of the tag: the id, then the owner tags.
    pub(super) fn text(&self) -> String {
        let tag = |key| self.tags.get(key).filter(|value| !value.is_empty()).map_or(PENDING, String::as_str);
        let text = [self.id.as_str(), tag(CLUSTER), tag(UID), tag(EPOCH), tag(OWNER)].join(" ");
        text.chars().take(MAX).collect()
    }

    /// Whether the creation did not return yet.
    pub(super) fn is_pending(&self) -> bool {
        self.id == PENDING
    }

    /// Whether it is about the subscription with this ARN.
    pub(super) fn is_of(&self, arn: &str) -> bool {
        self.id == id_in(arn)
    }

    /// The ARN of its subscription of the topic; none if it is not known yet.
    pub(super) fn arn(&self, topic: &str) -> Option<String> {
        (!self.is_pending()).then(|| format!("{topic}:{}", self.id))
    }
}
