//! The rules between the fields of a target group, and the comparison of its health check and targets. Pure.

use kraken_aws::{
    diff::{difference, lists},
    resolved::{exposed, given},
    validator::SpecValidator,
};
use kraken_kind::Difference;

use super::{
    api::{Change, Desired, HealthCheck, PartialDesired, PartialHealthCheck, TargetGroupSpec},
    observed::{Group, Target},
};
use crate::{rules, words::TargetType};

impl TargetGroupSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let Some(kind) = &partial.target_type else { return };
        let kind = exposed(kind.as_ref()).unwrap_or(TargetType::Instance);
        let is_lambda = kind == TargetType::Lambda;
        let (protocol, port, vpc) = (self.protocol.is_some(), self.port.is_some(), self.vpc_id.is_some());
        for (field, is_given) in [("protocol", protocol), ("port", port), ("vpcID", vpc)] {
            if is_lambda && is_given {
                validator.problem(field, "is not supported for targets of type lambda");
            } else if !is_lambda && !is_given {
                validator.problem(field, format!("is required for targets of type {kind}"));
            }
        }
        if let Some(Some(targets)) = &partial.targets {
            let result = rules::targets(kind, targets.expose());
            validator.check_list("targets", self.targets.as_ref(), result, targets.is_secret());
        }
    }

    /// A health check in the spec is enabled; AWS's default for Lambda functions is disabled.
    pub(super) fn compare_health(desired: &Desired, group: &Group) -> Vec<Difference<Change>> {
        let Some(wanted) = &desired.health_check else { return vec![] };
        let is_off = group.health_check_enabled == Some(false);
        let off = is_off.then(|| difference("healthCheck", "enabled", "disabled", Change::HealthCheck));
        let fields = wanted.differences("healthCheck", group, || Change::HealthCheck);
        off.into_iter().chain(fields).collect()
    }

    /// Missing targets are registered before others are deregistered, so that there are never fewer targets than before or
    /// after the change.
    pub(super) fn compare_targets(desired: &Desired, group: &Group) -> Vec<Difference<Change>> {
        let Some(wanted) = &desired.targets else { return vec![] };
        let ids = wanted.expose();
        // A target with another port is another target; a Lambda function has no port.
        let is_wanted = |target: &&Target| {
            ids.contains(&target.id) && (target.port.is_none() || target.port == group.port)
        };
        let (kept, surplus): (Vec<_>, Vec<_>) = group.registered().partition(is_wanted);
        let is_missing = |id: &&String| !kept.iter().any(|target| target.id == **id);
        let missing: Vec<String> = ids.iter().filter(is_missing).cloned().collect();
        let shown: Vec<&str> = group.registered().map(|target| target.id.as_str()).collect();
        let (want, have) = lists(wanted, &shown);
        let register = (!missing.is_empty()).then_some(Change::Register(missing));
        let deregister =
            (!surplus.is_empty()).then(|| Change::Deregister(surplus.into_iter().cloned().collect()));
        let one = |change| difference("targets", want.as_str(), have.as_str(), change);
        register.into_iter().chain(deregister).map(one).collect()
    }
}

impl HealthCheck {
    pub(super) fn between_fields(
        &self,
        field: &str,
        partial: &PartialHealthCheck,
        validator: &mut SpecValidator<'_, '_>,
    ) {
        let (interval, timeout) = (given(&partial.interval_seconds), given(&partial.timeout_seconds));
        if interval.zip(timeout).is_some_and(|(interval, timeout)| timeout > interval) {
            let why = "must not be greater than intervalSeconds";
            validator.problem(&format!("{field}.timeoutSeconds"), why);
        }
    }
}
