//! The targets of a target group as they are written in a spec. Pure.

use kraken_aws::import::literal;
use serde_json::Value;

use super::{api::TargetGroupSpec, observed::Group};

impl TargetGroupSpec {
    /// Those with another port than the group's cannot be expressed, which the comparison reports.
    pub(super) fn import_targets(group: &Group) -> Option<Value> {
        let is_expressible = |port: Option<i32>| port.is_none() || group.port.is_none() || port == group.port;
        let targets = group.registered().filter(|target| is_expressible(target.port));
        let ids: Vec<&String> = targets.map(|target| &target.id).collect();
        (!ids.is_empty()).then(|| literal(ids))
    }
}
