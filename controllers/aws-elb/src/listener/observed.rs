//! The observed listener, which is the published state.

use kraken_aws::{
    Tags,
    elb::types::{Certificate as SdkCertificate, Listener as Sdk},
    lookup::Tagged,
    resource::RemoteObject,
};
use serde::Serialize;

use crate::action::ActionState;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ObservedListener {
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

fn text(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

impl From<&Sdk> for ObservedListener {
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

impl Tagged for ObservedListener {
    fn id(&self) -> &str {
        &self.listener_arn
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for ObservedListener {}
