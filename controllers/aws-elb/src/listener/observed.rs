//! The observed listener, which is the published state.

use kraken_aws::{Tags, resource::RemoteObject, tagged_by};
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

impl ObservedListener {
    /// The default certificate.
    pub(crate) fn certificate(&self) -> Option<&String> {
        self.certificates.first()?.certificate_arn.as_ref()
    }
}

tagged_by!(ObservedListener, listener_arn);

impl RemoteObject for ObservedListener {}
