//! The rules between the fields of a listener, and its action. Pure.

use kraken_aws::{resolved::Joined, validator::SpecValidator};
use kraken_spoke::{Difference, Remedy};

use super::{
    api::{Change, Desired, ListenerSpec, PartialDesired},
    observed::ObservedListener,
};
use crate::action::{self, Action};

/// The path of the action in the spec.
const ACTION: &str = "defaultAction";

impl ListenerSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        if let Some(protocol) = partial.protocol.as_ref().map(|protocol| *protocol.expose()) {
            if protocol.is_secure() && self.certificate_arn.is_none() {
                validator.problem("certificateARN", format!("is required for {protocol}"));
            }
            for (field, is_given) in
                [("certificateARN", self.certificate_arn.is_some()), ("sslPolicy", self.ssl_policy.is_some())]
            {
                if is_given && !protocol.is_secure() {
                    validator.problem(field, format!("is not supported for {protocol}"));
                }
            }
            if !protocol.is_http()
                && partial.default_action.as_ref().is_some_and(|action| action.expose().is_of_http())
            {
                validator.problem(ACTION, format!("must be forward for {protocol}"));
            }
        }
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

    pub(super) fn action(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Joined<Action>> {
        action::desired(ACTION, &self.default_action, validator)
    }

    pub(super) fn observed_action(listener: &ObservedListener) -> Option<Action> {
        Action::of(&listener.default_actions)
    }
}
