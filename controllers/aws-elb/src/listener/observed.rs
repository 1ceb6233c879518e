//! The observed listener, which is the published state.

use kraken_aws::{Tags, aws_observed, items::in_order};

use crate::{
    action::{Action, ActionState},
    elb::types,
};

#[aws_observed(from = types::Listener, id = listener_arn)]
pub(crate) struct ObservedListener {
    pub(crate) listener_arn: String,
    pub(crate) load_balancer_arn: Option<String>,
    pub(crate) port: Option<i32>,
    pub(crate) protocol: Option<String>,
    #[from(in_order(sdk.certificates))]
    pub(crate) certificates: Vec<Certificate>,
    pub(crate) ssl_policy: Option<String>,
    #[from(in_order(sdk.default_actions))]
    pub(crate) default_actions: Vec<ActionState>,
    #[serde(skip)]
    pub(crate) tags: Tags,
}

#[aws_observed(from = types::Certificate)]
pub(crate) struct Certificate {
    pub(crate) certificate_arn: Option<String>,
}

impl ObservedListener {
    /// The default certificate.
    pub(crate) fn certificate(&self) -> Option<&String> {
        self.certificates.first()?.certificate_arn.as_ref()
    }

    /// The default action, if it is a single supported one.
    pub(super) fn action(&self) -> Option<Action> {
        Action::of(&self.default_actions)
    }
}
