//! The name of a policy, by which it is owned. A policy has no tags, and its call creates or replaces the policy with a name: with the owner in
//! the name, no call can replace a policy of somebody else, and a repeated one creates no second policy. Pure.

use kraken_aws::{
    Tags,
    tags::{CLUSTER, EPOCH, OWNER, UID},
};

const PREFIX: &str = "kraken";

/// The name for a launch with these tags. With UIDs, up to 100 characters of the 255 that AWS allows.
pub(super) fn of(tags: &Tags) -> String {
    let tag = |key| tags.get(key).map_or("", String::as_str);
    format!("{PREFIX}/{}/{}/{}", tag(CLUSTER), tag(UID), tag(EPOCH))
}

/// The identity in a name of Kraken; none in another one.
pub(super) fn identity(name: &str) -> Tags {
    let parts: Vec<&str> = name.split('/').collect();
    let [PREFIX, cluster, uid, epoch] = parts.as_slice() else { return Tags::new() };
    let tags = [(CLUSTER, *cluster), (UID, *uid), (EPOCH, *epoch), (OWNER, "ScalingPolicy/")];
    tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// The name in an ARN: `arn:aws:autoscaling:...:autoScalingGroupName/web:policyName/NAME`.
pub(super) fn in_arn(arn: &str) -> Option<&str> {
    arn.split_once(":policyName/").map(|(_, name)| name)
}
