//! The rules between the fields of a listener, and the order of its changes. Pure.

use kraken_aws::{import::literal, validator::SpecValidator};
use kraken_kind::{Difference, Remedy};
use serde_json::Value;

use super::{
    api::{Change, Desired, ListenerSpec, PartialDesired},
    observed::ObservedListener,
};
use crate::action;

impl ListenerSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let Some(protocol) = partial.protocol.as_ref().map(|protocol| *protocol.expose()) else { return };
        if protocol.is_secure() && self.certificate_arn.is_none() {
            validator.problem("certificateARN", format!("is required for {protocol}"));
        }
        let (certificate, policy) = (self.certificate_arn.is_some(), self.ssl_policy.is_some());
        for (field, is_given) in [("certificateARN", certificate), ("sslPolicy", policy)] {
            if is_given && !protocol.is_secure() {
                validator.problem(field, format!("is not supported for {protocol}"));
            }
        }
        let is_of_http = partial.default_action.as_ref().is_some_and(|action| action.expose().is_of_http());
        if is_of_http && !protocol.is_http() {
            validator.problem("defaultAction", format!("must be forward for {protocol}"));
        }
    }

    pub(super) fn import_action(listener: &ObservedListener) -> Option<Value> {
        action::imported(&listener.default_actions)
    }

    /// AWS's own choice is kept: it is another one for new listeners.
    pub(super) fn import_policy(listener: &ObservedListener) -> Option<Value> {
        let is_secure = matches!(listener.protocol.as_deref(), Some("HTTPS" | "TLS"));
        listener.ssl_policy.as_ref().filter(|_| is_secure).map(literal)
    }

    /// AWS validates the action by the protocol, which is therefore changed first. The port is changed last.
    pub(super) fn order(_: &Desired, differences: &mut [Difference<Change>]) {
        differences.sort_by_key(|difference| match &difference.remedy {
            Remedy::Change(Change::Protocol) => 1,
            Remedy::Change(Change::Certificate) => 2,
            Remedy::Change(Change::SslPolicy) => 3,
            Remedy::Change(Change::Action) => 4,
            Remedy::Change(Change::Port) => 5,
            _ => 0,
        });
    }
}
