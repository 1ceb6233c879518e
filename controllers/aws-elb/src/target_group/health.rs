//! The desired health check of a target group, and its comparison with the observed one. Pure.

use kraken_aws::{
    bounds::rule,
    diff::{changed, difference},
    resolved::given,
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Ignored, OptionType, Resolved, options::Text};

use super::{
    api::{Change, Desired, Health, HealthCheck, TargetGroupSpec},
    observed::Group,
};
use crate::rules;

impl TargetGroupSpec {
    pub(super) fn health(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Health> {
        wanted(self.health_check.as_ref(), validator)
    }

    pub(super) fn compare_health(desired: &Desired, group: &Group) -> Vec<Difference<Change>> {
        differences(&desired.health_check, group)
    }

    /// Without the ignored fields of the health check, because a call sends all desired fields.
    pub(super) fn without_ignored_health(desired: &Desired, _: &Group, ignored: &Ignored) -> Option<Desired> {
        let health_check = without_ignored(&desired.health_check, ignored)?;
        Some(Desired { health_check, ..desired.clone() })
    }
}

fn wanted(spec: Option<&HealthCheck>, validator: &mut SpecValidator<'_, '_>) -> Option<Health> {
    let is_given = spec.is_some();
    let nothing = HealthCheck::default();
    let spec = spec.unwrap_or(&nothing);
    let protocol = validator.any_if("healthCheck.protocol", spec.protocol.as_ref());
    let port = validator.optional("healthCheck.port", spec.port.as_ref(), |port: &Text| {
        rules::HEALTH_CHECK_PORT.check(&port.0)
    });
    let path = validator.optional("healthCheck.path", spec.path.as_ref(), rule(&rules::HEALTH_CHECK_PATH));
    let interval = validator.optional(
        "healthCheck.intervalSeconds",
        spec.interval_seconds.as_ref(),
        rule(&rules::INTERVAL_SECONDS),
    );
    let timeout = validator.optional(
        "healthCheck.timeoutSeconds",
        spec.timeout_seconds.as_ref(),
        rule(&rules::TIMEOUT_SECONDS),
    );
    let healthy = validator.optional(
        "healthCheck.healthyThreshold",
        spec.healthy_threshold.as_ref(),
        rule(&rules::THRESHOLD),
    );
    let unhealthy = validator.optional(
        "healthCheck.unhealthyThreshold",
        spec.unhealthy_threshold.as_ref(),
        rule(&rules::THRESHOLD),
    );
    let matcher = validator.optional("healthCheck.matcher", spec.matcher.as_ref(), rules::matcher);
    if let (Some(interval), Some(timeout)) = (given(&interval), given(&timeout))
        && timeout > interval
    {
        validator.problem("healthCheck.timeoutSeconds", "must not be greater than intervalSeconds");
    }
    Some(Health {
        is_given,
        protocol: protocol?,
        port: port?.map(|port| port.map(|text| text.0.clone())),
        path: path?,
        interval: interval?,
        timeout: timeout?,
        healthy: healthy?,
        unhealthy: unhealthy?,
        matcher: matcher?,
    })
}

fn differences(wanted: &Health, group: &Group) -> Vec<Difference<Change>> {
    let Health { is_given, protocol, port, path, interval, timeout, healthy, unhealthy, matcher } = wanted;
    let codes = group.matcher.as_ref().and_then(|matcher| matcher.http_code.as_ref());
    let all = [
        part("protocol", protocol.as_ref(), group.health_check_protocol.as_ref()),
        part("port", port.as_ref(), group.health_check_port.as_ref()),
        part("path", path.as_ref(), group.health_check_path.as_ref()),
        part("intervalSeconds", interval.as_ref(), group.health_check_interval_seconds.as_ref()),
        part("timeoutSeconds", timeout.as_ref(), group.health_check_timeout_seconds.as_ref()),
        part("healthyThreshold", healthy.as_ref(), group.healthy_threshold_count.as_ref()),
        part("unhealthyThreshold", unhealthy.as_ref(), group.unhealthy_threshold_count.as_ref()),
        part("matcher", matcher.as_ref(), codes),
    ];
    let is_off = *is_given && group.health_check_enabled == Some(false);
    let off = is_off.then(|| difference("healthCheck", "enabled", "disabled", Change::HealthCheck));
    off.into_iter().chain(all.into_iter().flatten()).collect()
}

/// Without ignored fields, which are neither compared nor sent; `None` if no desired field is ignored.
fn without_ignored(wanted: &Health, ignored: &Ignored) -> Option<Health> {
    fn leave<T>(field: &mut Option<T>, name: &str, ignored: &Ignored) -> bool {
        ignored.covers(&format!("healthCheck.{name}")) && field.take().is_some()
    }
    let mut kept = wanted.clone();
    kept.is_given &= !ignored.covers("healthCheck");
    let left = [
        kept.is_given != wanted.is_given,
        leave(&mut kept.protocol, "protocol", ignored),
        leave(&mut kept.port, "port", ignored),
        leave(&mut kept.path, "path", ignored),
        leave(&mut kept.interval, "intervalSeconds", ignored),
        leave(&mut kept.timeout, "timeoutSeconds", ignored),
        leave(&mut kept.healthy, "healthyThreshold", ignored),
        leave(&mut kept.unhealthy, "unhealthyThreshold", ignored),
        leave(&mut kept.matcher, "matcher", ignored),
    ];
    left.contains(&true).then_some(kept)
}

fn part<T: OptionType + ToString + PartialEq<H>, H: ToString>(
    name: &str,
    wanted: Option<&Resolved<T>>,
    have: Option<&H>,
) -> Option<Difference<Change>> {
    changed(&format!("healthCheck.{name}"), wanted, have, Change::HealthCheck)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target_group::Groups;
    use kraken_aws::testing::{self, rendered};
    use serde_json::json;

    #[test]
    fn a_health_check_is_changed_in_place() {
        let wanted = testing::desired::<Groups>(json!({
            "protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": "vpc-1"},
            "healthCheck": {
                "path": {"value": "/healthz"}, "intervalSeconds": {"value": 30}, "port": {"value": 8081},
            },
        }));
        let group = Group {
            health_check_path: Some("/".into()),
            health_check_interval_seconds: Some(30),
            ..Group::default()
        };
        let off = Group { health_check_enabled: Some(false), ..group.clone() };
        assert_eq!(
            rendered(differences(&wanted.health_check, &off))[0],
            "healthCheck: disabled becomes enabled: HealthCheck"
        );
        assert_eq!(
            rendered(differences(&wanted.health_check, &group)),
            [
                "healthCheck.port: (absent) becomes 8081: HealthCheck",
                "healthCheck.path: / becomes /healthz: HealthCheck",
            ]
        );
    }

    #[test]
    fn an_ignored_field_of_the_health_check_is_not_sent_along_with_another() {
        let wanted = testing::desired::<Groups>(json!({
            "protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": "vpc-1"},
            "healthCheck": {"path": {"value": "/healthz"}, "intervalSeconds": {"value": 30}},
        }));
        let without = |path: &str| without_ignored(&wanted.health_check, &Ignored::new(&[path.to_owned()]));
        let kept = without("healthCheck.path").unwrap();
        assert!(kept.path.is_none() && kept.interval.is_some());
        assert!(without("healthCheck").unwrap().interval.is_none());
        assert!(without("healthCheck.port").is_none() && without("targets").is_none());
    }
}
