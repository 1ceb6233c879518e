//! Converts actions to the SDK's types.

use super::{Action, Forwarding};
use crate::elb::types::{
    Action as Sdk, ActionTypeEnum, FixedResponseActionConfig, ForwardActionConfig, RedirectActionConfig,
    TargetGroupStickinessConfig, TargetGroupTuple,
};

impl From<&Action> for Sdk {
    fn from(action: &Action) -> Self {
        let builder = Self::builder();
        match action {
            Action::Forward(to) => match only(to) {
                Some(arn) => builder.r#type(ActionTypeEnum::Forward).target_group_arn(arn),
                None => builder.r#type(ActionTypeEnum::Forward).forward_config(to.into()),
            },
            Action::Redirect(to) => {
                let text = |name| Some(to.get(name).to_owned());
                builder.r#type(ActionTypeEnum::Redirect).redirect_config(
                    RedirectActionConfig::builder()
                        .set_protocol(text("protocol"))
                        .set_port(text("port"))
                        .set_host(text("host"))
                        .set_path(text("path"))
                        .set_query(text("query"))
                        .status_code(to.get("statusCode").into())
                        .build(),
                )
            }
            Action::FixedResponse(answer) => {
                let text = |name| Some(answer.get(name).to_owned()).filter(|text| !text.is_empty());
                builder.r#type(ActionTypeEnum::FixedResponse).fixed_response_config(
                    FixedResponseActionConfig::builder()
                        .set_status_code(text("statusCode"))
                        .set_content_type(text("contentType"))
                        .set_message_body(text("messageBody"))
                        .build(),
                )
            }
        }
        .build()
    }
}

/// The only target group, if there are no other settings.
fn only(to: &Forwarding) -> Option<&str> {
    let mut groups = to.groups.iter();
    match (groups.next(), groups.next(), to.stickiness.unwrap_or_default()) {
        (Some((arn, 1)), None, 0) => Some(arn),
        _ => None,
    }
}

impl From<&Forwarding> for ForwardActionConfig {
    fn from(to: &Forwarding) -> Self {
        let group = |(arn, weight): (&String, &i32)| {
            TargetGroupTuple::builder().target_group_arn(arn).weight(*weight).build()
        };
        let sticky = to.stickiness.map(|seconds| {
            let duration = Some(seconds).filter(|seconds| *seconds > 0);
            TargetGroupStickinessConfig::builder().enabled(seconds > 0).set_duration_seconds(duration).build()
        });
        Self::builder()
            .set_target_groups(Some(to.groups.iter().map(group).collect()))
            .set_target_group_stickiness_config(sticky)
            .build()
    }
}
