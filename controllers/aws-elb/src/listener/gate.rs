//! A listener as AWS has it: what others may refer to.

use kraken_aws::{
    Tags,
    elb::types::{
        Action as SdkAction, Certificate as SdkCertificate, FixedResponseActionConfig, ForwardActionConfig,
        Listener as Sdk, RedirectActionConfig,
    },
    lookup::Tagged,
    single::Thing,
};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Gate {
    pub(crate) listener_arn: String,
    pub(crate) load_balancer_arn: Option<String>,
    pub(crate) port: Option<i32>,
    pub(crate) protocol: Option<String>,
    pub(crate) certificates: Vec<Certificate>,
    pub(crate) ssl_policy: Option<String>,
    pub(crate) default_actions: Vec<ActionState>,
    #[serde(skip)]
    pub(crate) tags: Tags,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Certificate {
    pub(crate) certificate_arn: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ActionState {
    #[serde(rename = "Type")]
    pub(crate) action_type: String,
    pub(crate) target_group_arn: Option<String>,
    pub(crate) redirect_config: Option<RedirectState>,
    pub(crate) fixed_response_config: Option<FixedResponseState>,
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

fn text(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

impl From<&Sdk> for Gate {
    fn from(listener: &Sdk) -> Self {
        let certificate = |certificate: &SdkCertificate| Certificate {
            certificate_arn: text(certificate.certificate_arn()),
        };
        Self {
            listener_arn: text(listener.listener_arn()).unwrap_or_default(),
            load_balancer_arn: text(listener.load_balancer_arn()),
            port: listener.port(),
            protocol: listener.protocol().map(ToString::to_string),
            certificates: listener.certificates().iter().map(certificate).collect(),
            ssl_policy: text(listener.ssl_policy()),
            default_actions: listener.default_actions().iter().map(ActionState::from).collect(),
            tags: Tags::new(),
        }
    }
}

impl From<&SdkAction> for ActionState {
    fn from(action: &SdkAction) -> Self {
        let groups = action.forward_config().map(ForwardActionConfig::target_groups).unwrap_or_default();
        let only = match groups {
            [group] => group.target_group_arn(),
            _ => None,
        };
        let redirect = |to: &RedirectActionConfig| RedirectState {
            protocol: text(to.protocol()),
            port: text(to.port()),
            host: text(to.host()),
            path: text(to.path()),
            query: text(to.query()),
            status_code: to.status_code().map(ToString::to_string),
        };
        let response = |answer: &FixedResponseActionConfig| FixedResponseState {
            status_code: text(answer.status_code()),
            content_type: text(answer.content_type()),
            message_body: text(answer.message_body()),
        };
        Self {
            action_type: action.r#type().map(ToString::to_string).unwrap_or_default(),
            target_group_arn: text(action.target_group_arn().or(only)),
            redirect_config: action.redirect_config().map(redirect),
            fixed_response_config: action.fixed_response_config().map(response),
        }
    }
}

impl Tagged for Gate {
    fn id(&self) -> &str {
        &self.listener_arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl Thing for Gate {}
