//! The rules between the fields of a policy, and the label of its load balancer. Pure.

use kraken_aws::{
    fields::{ABSENT, NOT_SHOWN, SECRET},
    prelude::*,
};
use kraken_kind::Deletion;

use super::{
    api::{Change, Desired, Metric, PartialDesired, ScalingPolicySpec},
    observed::Policy,
};

impl ScalingPolicySpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        if let Some(metric) = &partial.metric {
            let counts = *metric.expose() == Metric::Requests;
            for (field, is_given) in [
                ("loadBalancerARN", self.load_balancer_arn.is_some()),
                ("targetGroupARN", self.target_group_arn.is_some()),
            ] {
                if counts && !is_given {
                    validator.problem(field, "is required for ALBRequestCountPerTarget");
                } else if is_given && !counts {
                    validator.problem(field, "is only supported for ALBRequestCountPerTarget");
                }
            }
        }
        // A policy is owned by its name, which AWS cannot change.
        if self.lifecycle.adopt.is_some() {
            validator.problem(
                "lifecycle.adopt",
                "is not supported: delete the policy, and let Kraken create its own",
            );
        }
        if self.lifecycle.deletion == Some(Deletion::Retain) {
            validator.problem(
                "lifecycle.deletion",
                "must be Delete: a policy without its resource would have no owner",
            );
        }
    }

    /// Of both ARNs.
    pub(super) fn compare_label(desired: &Desired, policy: &Policy) -> Option<Difference<Change>> {
        let want = label(desired)?;
        if policy.resource_label.as_ref() == Some(&want) {
            return None;
        }
        let is_secret = [&desired.load_balancer_arn, &desired.target_group_arn]
            .into_iter()
            .flatten()
            .any(Resolved::is_secret);
        let have = policy.resource_label.as_deref().unwrap_or(ABSENT);
        let (want, have) = if is_secret { (SECRET, NOT_SHOWN) } else { (want.as_str(), have) };
        Some(difference("targetGroupARN", want, have, Change::Put))
    }

    /// Compared with the other ARN.
    pub(super) fn compare_nothing(_: &Desired, _: &Policy) -> Option<Difference<Change>> {
        None
    }
}

/// AWS's name of a target group of a load balancer: the ends of both ARNs, `app/web/1/targetgroup/web/2`.
pub(super) fn label(desired: &Desired) -> Option<String> {
    let balancer = desired.load_balancer_arn.as_ref()?.expose().split_once(":loadbalancer/")?.1;
    let group = desired.target_group_arn.as_ref()?.expose().split_once(":targetgroup/")?.1;
    Some(format!("{balancer}/targetgroup/{group}"))
}
