//! The tag of a topic with the owner of a subscription. A subscription has no tags, and its call returns the existing one with the same topic,
//! protocol and endpoint, whoever created it. Pure.

use kraken_aws::{Tags, fields::digest, marker::Marker, tags::PREFIX};

/// The key of the tag of the topic. The endpoint may be longer than a key, and have other characters.
pub(super) fn key(protocol: &str, endpoint: &str) -> String {
    format!("{PREFIX}subscription-{}", digest(&[protocol, endpoint]))
}

/// The owner of the subscription in the tags of its topic.
pub(super) fn of(topic: &Tags, protocol: &str, endpoint: &str) -> Option<Marker> {
    Marker::of(topic, &key(protocol, endpoint))
}

/// The last part of the ARN of a subscription, by which a marker names it.
pub(super) fn id_in(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or_default()
}

/// The ARN of the subscription of a marker; none if it is not known yet.
pub(super) fn arn(marker: &Marker, topic: &str) -> Option<String> {
    marker.id().map(|id| format!("{topic}:{id}"))
}
