//! The rules between the fields of a target group, and the comparison of its health check and targets. Pure.

use kraken_aws::{
    diff::{difference, lists},
    resolved::given,
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Resolved};

use super::{
    api::{Change, Desired, HealthCheck, PartialDesired, PartialHealthCheck, TargetGroupSpec},
    observed::{Group, Target},
};
use crate::{rules, words::TargetType};

impl TargetGroupSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        // If the type is known.
        let kind = partial
            .target_type
            .is_some()
            .then(|| given(&partial.target_type).copied().unwrap_or(TargetType::Instance));
        if let Some(kind) = kind {
            let is_lambda = kind == TargetType::Lambda;
            for (field, is_given) in [
                ("protocol", self.protocol.is_some()),
                ("port", self.port.is_some()),
                ("vpcID", self.vpc_id.is_some()),
            ] {
                if is_lambda && is_given {
                    validator.problem(field, "is not supported for targets of type lambda");
                } else if !is_lambda && !is_given {
                    validator.problem(field, format!("is required for targets of type {kind}"));
                }
            }
            if let Some(Err(why)) = given(&partial.targets).map(|targets| rules::targets(kind, targets)) {
                validator.problem("targets", why);
            }
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

    pub(super) fn compare_targets(desired: &Desired, group: &Group) -> Vec<Difference<Change>> {
        desired.targets.as_ref().map_or(vec![], |wanted| of_targets(wanted, group))
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

/// Missing targets are registered before others are deregistered, so that there are never fewer targets than before or
/// after the change.
fn of_targets(wanted: &Resolved<Vec<String>>, group: &Group) -> Vec<Difference<Change>> {
    let ids = wanted.expose();
    let have: Vec<&Target> = group.registered().collect();
    // A target with another port is another target; a Lambda function has no port.
    let is_wanted =
        |target: &Target| ids.contains(&target.id) && (target.port.is_none() || target.port == group.port);
    let is_there = |id: &String| have.iter().any(|target| target.id == *id && is_wanted(target));
    let missing: Vec<String> = ids.iter().filter(|id| !is_there(id)).cloned().collect();
    let surplus: Vec<Target> =
        have.iter().filter(|target| !is_wanted(target)).map(|target| (*target).clone()).collect();
    let shown: Vec<&str> = have.iter().map(|target| target.id.as_str()).collect();
    let (want, have) = lists(wanted, &shown);
    let register = (!missing.is_empty()).then_some(Change::Register(missing));
    let deregister = (!surplus.is_empty()).then_some(Change::Deregister(surplus));
    let one = |change| difference("targets", want.as_str(), have.as_str(), change);
    register.into_iter().chain(deregister).map(one).collect()
}
