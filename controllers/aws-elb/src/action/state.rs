//! Observed actions, which are part of the published state.

use std::collections::BTreeMap;

use kraken_aws::{aws_observed, items::in_order};

use super::{Action, Forwarding};
use crate::elb::types;

#[aws_observed(from = types::Action)]
pub(crate) struct ActionState {
    pub(crate) r#type: String,
    /// AWS returns it here, or only as the one target group of the configuration.
    #[from(sdk.target_group_arn.or_else(|| only_group(sdk.forward_config.as_ref()?)))]
    pub(crate) target_group_arn: Option<String>,
    pub(crate) forward_config: Option<ForwardState>,
    pub(crate) redirect_config: Option<RedirectState>,
    pub(crate) fixed_response_config: Option<FixedResponseState>,
}

#[aws_observed(from = types::ForwardActionConfig)]
pub(crate) struct ForwardState {
    #[from(in_order(sdk.target_groups))]
    pub(crate) target_groups: Vec<WeightedState>,
    pub(crate) target_group_stickiness_config: Option<StickinessState>,
}

#[aws_observed(from = types::TargetGroupTuple)]
pub(crate) struct WeightedState {
    pub(crate) target_group_arn: String,
    pub(crate) weight: Option<i32>,
}

#[aws_observed(from = types::TargetGroupStickinessConfig)]
pub(crate) struct StickinessState {
    pub(crate) enabled: Option<bool>,
    pub(crate) duration_seconds: Option<i32>,
}

#[aws_observed(from = types::RedirectActionConfig)]
pub(crate) struct RedirectState {
    pub(crate) protocol: Option<String>,
    pub(crate) port: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) status_code: Option<String>,
}

#[aws_observed(from = types::FixedResponseActionConfig)]
pub(crate) struct FixedResponseState {
    pub(crate) status_code: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) message_body: Option<String>,
}

fn only_group(config: &types::ForwardActionConfig) -> Option<String> {
    let [group] = config.target_groups() else { return None };
    group.target_group_arn.clone()
}

impl ActionState {
    fn forwarding(&self) -> Option<Forwarding> {
        let config = self.forward_config.clone().unwrap_or_default();
        let weighted = |group: WeightedState| (group.target_group_arn, group.weight.unwrap_or(1));
        let mut groups: BTreeMap<String, i32> = config.target_groups.into_iter().map(weighted).collect();
        if groups.is_empty() {
            groups.insert(self.target_group_arn.clone()?, 1);
        }
        let sticky = config.target_group_stickiness_config.filter(|sticky| sticky.enabled == Some(true));
        let seconds = sticky.and_then(|sticky| sticky.duration_seconds).unwrap_or_default();
        Some(Forwarding::new(groups, Some(seconds), "targetGroups"))
    }
}

impl Action {
    /// The observed action, if it is a single supported one.
    pub(crate) fn of(actions: &[ActionState]) -> Option<Self> {
        let [action] = actions else { return None };
        match (action.r#type.as_str(), &action.redirect_config, &action.fixed_response_config) {
            ("forward", ..) => action.forwarding().map(Self::Forward),
            ("redirect", Some(redirect), _) => Some(Self::Redirect(redirect.into())),
            ("fixed-response", _, Some(response)) => Some(Self::FixedResponse(response.into())),
            _ => None,
        }
    }
}
