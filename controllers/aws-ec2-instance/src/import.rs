//! The fields of an instance's spec that have a comparison of their own. Pure.

use kraken_aws::import::literal;
use serde_json::{Map, Value, json};

use crate::{api::EC2InstanceSpec, instance::Instance};

impl EC2InstanceSpec {
    /// Each instance becomes a resource of its own.
    #[allow(clippy::unnecessary_wraps)] // the signature of all fields
    pub(crate) fn import_count(_: &Instance) -> Option<Value> {
        Some(literal(1))
    }

    pub(crate) fn import_groups(instance: &Instance) -> Option<Value> {
        let ids = instance.group_ids();
        (!ids.is_empty()).then(|| literal(ids))
    }

    pub(crate) fn import_monitoring(instance: &Instance) -> Option<Value> {
        let state = instance.monitoring.as_ref()?.state.as_deref()?;
        matches!(state, "enabled" | "pending").then(|| literal(true))
    }

    pub(crate) fn import_profile(instance: &Instance) -> Option<Value> {
        instance.iam_instance_profile.as_ref()?.arn.as_ref().map(literal)
    }

    /// Only what differs from the options of a launch by Kraken, which requires IMDSv2.
    pub(crate) fn import_metadata(instance: &Instance) -> Option<Value> {
        let have = &instance.metadata;
        let texts = [
            ("httpTokens", &have.http_tokens, "optional"),
            ("httpEndpoint", &have.http_endpoint, "disabled"),
        ];
        let texts = texts
            .into_iter()
            .filter(|(_, have, unusual)| have.as_deref() == Some(*unusual))
            .map(|(name, _, unusual)| (name.to_owned(), json!(unusual)));
        let limit = have.http_put_response_hop_limit.filter(|limit| *limit > 1);
        let limit = limit.map(|limit| ("httpPutResponseHopLimit".to_owned(), json!(limit)));
        let options: Map<String, Value> = texts.chain(limit).collect();
        (!options.is_empty()).then(|| literal(options))
    }
}

/// User data is not read, because it often contains secrets.
pub(crate) const USER_DATA: &str = "userData is not read, because it may contain secrets: write it, for example from a Secret \
                                    ({valueFrom: {secret: {name: ..., key: ...}}}), if a new instance in its place needs it";

/// An instance that something else launches and terminates.
pub(crate) fn not_importable(instance: &Instance) -> Option<String> {
    let group = instance.tags.get("aws:autoscaling:groupName")?;
    Some(format!("an instance of the Auto Scaling group {group}"))
}
