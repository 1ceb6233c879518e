//! Observed actions, which are part of the published state.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Action, Forwarding};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ActionState {
    #[serde(rename = "Type")]
    pub(crate) action_type: String,
    pub(crate) target_group_arn: Option<String>,
    pub(crate) forward_config: Option<ForwardState>,
    pub(crate) redirect_config: Option<RedirectState>,
    pub(crate) fixed_response_config: Option<FixedResponseState>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ForwardState {
    pub(crate) target_groups: Vec<WeightedState>,
    #[serde(rename = "TargetGroupStickinessConfig")]
    pub(crate) stickiness: Option<StickinessState>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct WeightedState {
    pub(crate) target_group_arn: String,
    pub(crate) weight: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct StickinessState {
    pub(crate) enabled: Option<bool>,
    pub(crate) duration_seconds: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct RedirectState {
    pub(crate) protocol: Option<String>,
    pub(crate) port: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) status_code: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct FixedResponseState {
    pub(crate) status_code: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) message_body: Option<String>,
}

impl ActionState {
    fn forwarding(&self) -> Option<Forwarding> {
        let config = self.forward_config.as_ref();
        let mut groups: BTreeMap<String, i32> = config
            .into_iter()
            .flat_map(|config| &config.target_groups)
            .map(|group| (group.target_group_arn.clone(), group.weight.unwrap_or(1)))
            .collect();
        if groups.is_empty() {
            groups.insert(self.target_group_arn.clone()?, 1);
        }
        let sticky = config.and_then(|config| config.stickiness.as_ref());
        let sticky = sticky.filter(|sticky| sticky.enabled == Some(true));
        let seconds = sticky.map_or(0, |sticky| sticky.duration_seconds.unwrap_or_default());
        Some(Forwarding::new(groups, Some(seconds), "targetGroups"))
    }
}

impl Action {
    /// The observed action, if it is a single supported one.
    pub(crate) fn of(actions: &[ActionState]) -> Option<Self> {
        let [action] = actions else { return None };
        match (action.action_type.as_str(), &action.redirect_config, &action.fixed_response_config) {
            ("forward", ..) => action.forwarding().map(Self::Forward),
            ("redirect", Some(redirect), _) => Some(Self::Redirect(redirect.into())),
            ("fixed-response", _, Some(response)) => Some(Self::FixedResponse(response.into())),
            _ => None,
        }
    }
}
