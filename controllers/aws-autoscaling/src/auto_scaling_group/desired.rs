//! The rules between the fields of a group, and its own comparisons. Pure.

use kraken_aws::{fields::listed, import::literal, prelude::*};
use kraken_kind::Ignored;
use serde_json::Value;

use super::{
    api::{AutoScalingGroupSpec, Change, Desired, InstanceRefresh, PartialDesired, PartialInstanceRefresh},
    observed::Group,
};

/// The shortest lifetime of instances that AWS accepts.
const ONE_DAY: i32 = 86_400;

impl AutoScalingGroupSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let number = |one: &Option<Resolved<i32>>| one.as_ref().map(|one| *one.expose());
        let (min, max) = (number(&partial.min_size), number(&partial.max_size));
        if min.zip(max).is_some_and(|(min, max)| min > max) {
            validator.problem("minSize", "must not be greater than maxSize");
        }
        if let Some(desired) = given(&partial.desired_capacity)
            && (min.is_some_and(|min| *desired < min) || max.is_some_and(|max| *desired > max))
        {
            validator.problem("desiredCapacity", "must be from minSize to maxSize");
        }
        if given(&partial.max_instance_lifetime_seconds).is_some_and(|one| (1..ONE_DAY).contains(one)) {
            validator.problem("maxInstanceLifetimeSeconds", "must be 0 or at least 86400");
        }
        if self.instance_refresh.is_none() {
            return;
        }
        // A version that changes without an edit of the group starts no refresh.
        let is_number = |version: &kraken_kind::options::Text| !version.0.starts_with('$');
        if self.launch_template_version.is_none() {
            validator.problem("launchTemplateVersion", "is required with instanceRefresh");
        } else if given(&partial.launch_template_version).is_some_and(|version| !is_number(version)) {
            let why = "must be a number with instanceRefresh, such as {valueFrom: {ref: LaunchTemplate/NAME/\
                       launchTemplate.DefaultVersionNumber}}";
            validator.problem("launchTemplateVersion", why);
        }
    }

    /// One call sets all settings. AWS requires none of them: an ignored one has the observed value, or is left out.
    #[allow(clippy::unnecessary_wraps)] // the signature of all kinds
    pub(super) fn without_ignored(desired: &Desired, group: &Group, ignored: &Ignored) -> Option<Desired> {
        let mut kept = desired.clone();
        let required = [
            ("minSize", &mut kept.min_size, group.min_size),
            ("maxSize", &mut kept.max_size, group.max_size),
        ];
        for (field, value, have) in required {
            if let Some(have) = have.filter(|_| ignored.covers(field)) {
                *value = Resolved::Public(have);
            }
        }
        if let Some(have) = group.template_id().filter(|_| ignored.covers("launchTemplateID")) {
            kept.launch_template_id = Resolved::Public(have.clone());
        }
        if ignored.covers("subnetIDs") {
            kept.subnet_ids = Resolved::Public(group.subnet_ids.clone());
        }
        macro_rules! left_out {
            ($($field:literal, $value:ident;)*) => {
                $(if ignored.covers($field) {
                    kept.$value = None;
                })*
            };
        }
        left_out! {
            "launchTemplateVersion", launch_template_version;
            "desiredCapacity", desired_capacity;
            "healthCheckType", health_check_type;
            "healthCheckGracePeriodSeconds", health_check_grace_period_seconds;
            "defaultInstanceWarmupSeconds", default_instance_warmup_seconds;
            "maxInstanceLifetimeSeconds", max_instance_lifetime_seconds;
            "capacityRebalance", capacity_rebalance;
            "terminationPolicies", termination_policies;
        }
        Some(kept)
    }

    /// The order is significant.
    pub(super) fn compare_termination(desired: &Desired, group: &Group) -> Option<Difference<Change>> {
        let wanted = desired.termination_policies.as_ref()?;
        if *wanted.expose() == group.termination_policies {
            return None;
        }
        let (want, have) = kraken_aws::diff::lists(wanted, &group.termination_policies);
        Some(difference("terminationPolicies", want, have, Change::Settings))
    }

    pub(super) fn import_termination(group: &Group) -> Option<Value> {
        let have = &group.termination_policies;
        (!have.is_empty() && *have != ["Default"]).then(|| literal(have))
    }

    /// Only of a group that has the wanted version already: before, its instances would be replaced by ones of the former version.
    pub(super) fn compare_refresh(desired: &Desired, group: &Group) -> Option<Difference<Change>> {
        desired.instance_refresh.as_ref()?;
        let has_version = group.template_id() == Some(desired.launch_template_id.expose())
            && desired.launch_template_version.as_ref().map(|version| &version.expose().0)
                == group.template_version();
        let outdated = if has_version { group.outdated() } else { vec![] };
        let version = group.template_version().map_or("", String::as_str);
        (!outdated.is_empty()).then(|| {
            let want = format!("all instances of version {version}");
            difference(
                "instanceRefresh",
                want,
                format!("other versions: {}", listed(&outdated)),
                Change::Refresh,
            )
        })
    }
}

impl InstanceRefresh {
    pub(super) fn between_fields(
        &self,
        field: &str,
        partial: &PartialInstanceRefresh,
        validator: &mut SpecValidator<'_, '_>,
    ) {
        if self.max_healthy_percentage.is_none() {
            return;
        }
        let path = format!("{field}.maxHealthyPercentage");
        if self.min_healthy_percentage.is_none() {
            validator.problem(&path, "requires minHealthyPercentage");
        }
        let (min, max) = (given(&partial.min_healthy_percentage), given(&partial.max_healthy_percentage));
        if min.zip(max).is_some_and(|(min, max)| max - min > 100) {
            validator.problem(&path, "must be at most 100 more than minHealthyPercentage");
        }
    }
}
