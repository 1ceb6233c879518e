//! What a target group shall be, and how it differs. Pure.

use kraken_spoke::{Difference, Remedy, Resolved, Resolver};

use super::{
    api::{HealthCheck, TargetGroupSpec},
    aws::{Group, Target},
};
use crate::{
    differences::{Differences, texts},
    rules,
    take::{Take, any, given},
    words::{HealthCheckProtocol, Protocol, TargetType},
};

/// What there shall be. An absent option is AWS's business: it is neither sent nor compared.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    pub(crate) name: Option<Resolved<String>>,
    pub(crate) protocol: Option<Resolved<Protocol>>,
    pub(crate) port: Option<Resolved<i32>>,
    pub(crate) vpc_id: Option<Resolved<String>>,
    pub(crate) target_type: Option<Resolved<TargetType>>,
    pub(crate) targets: Option<Resolved<Vec<String>>>,
    pub(crate) health: Health,
}

/// The health check, as far as the spec speaks of it.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    pub(crate) protocol: Option<Resolved<HealthCheckProtocol>>,
    pub(crate) port: Option<Resolved<String>>,
    pub(crate) path: Option<Resolved<String>>,
    pub(crate) interval: Option<Resolved<i32>>,
    pub(crate) timeout: Option<Resolved<i32>>,
    pub(crate) healthy: Option<Resolved<i32>>,
    pub(crate) unhealthy: Option<Resolved<i32>>,
    pub(crate) matcher: Option<Resolved<String>>,
}

/// A change in place, one call each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// All of the health check that the spec speaks of: AWS checks its parts against each other.
    HealthCheck,
    Register(Vec<String>),
    Deregister(Vec<Target>),
}

pub(crate) fn desired(spec: &TargetGroupSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut take = Take::new(values);
    let name = take.optional("name", spec.name.as_ref(), rules::name);
    let protocol = take.optional("protocol", spec.protocol.as_ref(), any::<Protocol>);
    let port = take.optional("port", spec.port.as_ref(), rules::port);
    let vpc_id = take.optional("vpcID", spec.vpc_id.as_ref(), rules::vpc_id);
    let target_type = take.optional("targetType", spec.target_type.as_ref(), any::<TargetType>);
    let targets = take.list("targets", spec.targets.as_ref(), any::<[String]>);
    let health = health(spec.health_check.as_ref().unwrap_or(&HealthCheck::default()), &mut take);

    // Rules between fields, as far as the type is known.
    if target_type.is_some() {
        let kind = given(&target_type).unwrap_or(TargetType::Instance);
        let is_lambda = kind == TargetType::Lambda;
        for (field, is_given) in [
            ("protocol", spec.protocol.is_some()),
            ("port", spec.port.is_some()),
            ("vpcID", spec.vpc_id.is_some()),
        ] {
            if is_lambda && is_given {
                take.problem(field, "is not possible for targets of type lambda");
            } else if !is_lambda && !is_given {
                take.problem(field, format!("is needed for targets of type {kind}"));
            }
        }
        if let Some(targets) = given(&targets) {
            take.check("targets", rules::targets(kind, &targets));
        }
    }

    let desired = || {
        Some(Desired {
            name: name?,
            protocol: protocol?,
            port: port?,
            vpc_id: vpc_id?,
            target_type: target_type?,
            targets: targets?,
            health: health?,
        })
    };
    take.finish(desired())
}

fn health(spec: &HealthCheck, take: &mut Take<'_, '_>) -> Option<Health> {
    let protocol = take.optional("healthCheck.protocol", spec.protocol.as_ref(), any::<HealthCheckProtocol>);
    let port = take.optional("healthCheck.port", spec.port.as_ref(), |port: &kraken_spoke::options::Text| {
        rules::health_check_port(&port.0)
    });
    let path = take.optional("healthCheck.path", spec.path.as_ref(), rules::health_check_path);
    let interval =
        take.optional("healthCheck.intervalSeconds", spec.interval_seconds.as_ref(), rules::interval_seconds);
    let timeout =
        take.optional("healthCheck.timeoutSeconds", spec.timeout_seconds.as_ref(), rules::timeout_seconds);
    let healthy =
        take.optional("healthCheck.healthyThreshold", spec.healthy_threshold.as_ref(), rules::threshold);
    let unhealthy =
        take.optional("healthCheck.unhealthyThreshold", spec.unhealthy_threshold.as_ref(), rules::threshold);
    let matcher = take.optional("healthCheck.matcher", spec.matcher.as_ref(), rules::matcher);
    if let (Some(interval), Some(timeout)) = (given(&interval), given(&timeout))
        && timeout > interval
    {
        take.problem("healthCheck.timeoutSeconds", "must not be greater than intervalSeconds");
    }
    Some(Health {
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

pub(crate) fn differences(desired: &Desired, group: &Group) -> Vec<Difference<Change>> {
    let mut found = Differences::new();
    found.fixed("name", desired.name.as_ref(), Some(&group.target_group_name));
    found.fixed("protocol", desired.protocol.as_ref(), group.protocol.as_ref());
    found.fixed("port", desired.port.as_ref(), group.port.as_ref());
    found.fixed("vpcID", desired.vpc_id.as_ref(), group.vpc_id.as_ref());
    found.fixed("targetType", desired.target_type.as_ref(), group.target_type.as_ref());

    let (want, change) = (&desired.health, || Change::HealthCheck);
    let matcher = group.matcher.as_ref().and_then(|matcher| matcher.http_code.as_ref());
    found.field("healthCheck.protocol", want.protocol.as_ref(), group.health_check_protocol.as_ref(), change);
    found.field("healthCheck.port", want.port.as_ref(), group.health_check_port.as_ref(), change);
    found.field("healthCheck.path", want.path.as_ref(), group.health_check_path.as_ref(), change);
    let (interval, timeout) =
        (group.health_check_interval_seconds.as_ref(), group.health_check_timeout_seconds.as_ref());
    found.field("healthCheck.intervalSeconds", want.interval.as_ref(), interval, change);
    found.field("healthCheck.timeoutSeconds", want.timeout.as_ref(), timeout, change);
    let (healthy, unhealthy) =
        (group.healthy_threshold_count.as_ref(), group.unhealthy_threshold_count.as_ref());
    found.field("healthCheck.healthyThreshold", want.healthy.as_ref(), healthy, change);
    found.field("healthCheck.unhealthyThreshold", want.unhealthy.as_ref(), unhealthy, change);
    found.field("healthCheck.matcher", want.matcher.as_ref(), matcher, change);
    targets(desired, group, &mut found);
    found.0
}

/// First what is missing, then what is too many: at no time there are fewer than either before or after.
fn targets(desired: &Desired, group: &Group, found: &mut Differences<Change>) {
    let Some(wanted) = desired.targets.as_ref().map(Resolved::expose) else { return };
    let have: Vec<&Target> = group.registered().collect();
    // A target with another port is another target; a function has none.
    let is_wanted =
        |target: &Target| wanted.contains(&target.id) && (target.port.is_none() || target.port == group.port);
    let missing: Vec<String> = wanted
        .iter()
        .filter(|id| !have.iter().any(|target| target.id == **id && is_wanted(target)))
        .cloned()
        .collect();
    let surplus: Vec<Target> =
        have.iter().filter(|target| !is_wanted(target)).map(|t| (*t).clone()).collect();
    let ids: Vec<&str> = have.iter().map(|target| target.id.as_str()).collect();
    let (want, have) = texts(desired.targets.as_ref(), &ids);
    if !missing.is_empty() {
        found.push("targets", want.clone(), have.clone(), Remedy::Change(Change::Register(missing)));
    }
    if !surplus.is_empty() {
        found.push("targets", want, have, Remedy::Change(Change::Deregister(surplus)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        target_group::aws::{Health as State, TargetHealth},
        testing::{assert_starts, resolve, told, with},
    };
    use serde_json::{Value, json};

    fn resolved(changes: &Value) -> Result<Desired, Vec<String>> {
        let usual =
            json!({"protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": "vpc-1"}});
        let spec: TargetGroupSpec = serde_json::from_value(with(usual, changes)).unwrap();
        resolve(|values| desired(&spec, values))
    }

    #[allow(clippy::needless_pass_by_value)] // reads better where it is called
    fn wanted(changes: Value) -> Desired {
        resolved(&changes).unwrap()
    }

    #[allow(clippy::needless_pass_by_value)]
    fn problems(changes: Value) -> Vec<String> {
        resolved(&changes).unwrap_err()
    }

    fn group(targets: &[(&str, i32, &str)]) -> Group {
        let target = |(id, port, state): &(&str, i32, &str)| TargetHealth {
            target: Target { id: (*id).to_owned(), port: Some(*port), availability_zone: None },
            target_health: State { state: Some((*state).to_owned()), ..State::default() },
        };
        Group {
            target_group_arn: "arn:1".into(),
            target_group_name: "kraken-1".into(),
            protocol: Some("HTTP".into()),
            port: Some(80),
            vpc_id: Some("vpc-1".into()),
            target_type: Some("instance".into()),
            health_check_path: Some("/".into()),
            health_check_interval_seconds: Some(30),
            target_health_descriptions: targets.iter().map(target).collect(),
            ..Group::default()
        }
    }

    fn changes(desired: &Desired, group: &Group) -> Vec<Change> {
        let change = |difference: Difference<Change>| match difference.remedy {
            Remedy::Change(change) => change,
            Remedy::Immutable(why) => panic!("{why}"),
        };
        differences(desired, group).into_iter().map(change).collect()
    }

    #[test]
    fn what_the_spec_leaves_out_is_left_alone() {
        assert_eq!(told(&differences(&wanted(json!({})), &group(&[("i-9", 80, "healthy")]))), [""; 0]);
    }

    #[test]
    fn what_is_fixed_is_told_with_both_values() {
        let other = wanted(json!({
            "name": {"value": "web"}, "protocol": {"value": "HTTPS"}, "port": {"value": 443},
            "vpcID": {"value": "vpc-2"}, "targetType": {"value": "ip"},
        }));
        assert_eq!(
            told(&differences(&other, &group(&[]))),
            [
                "name: kraken-1 -> web!",
                "protocol: HTTP -> HTTPS!",
                "port: 80 -> 443!",
                "vpcID: vpc-1 -> vpc-2!",
                "targetType: instance -> ip!",
            ]
        );
    }

    #[test]
    fn a_health_check_is_changed_in_place() {
        let other = wanted(json!({"healthCheck": {
            "path": {"value": "/healthz"}, "intervalSeconds": {"value": 30}, "port": {"value": 8081},
        }}));
        let found = differences(&other, &group(&[]));
        assert_eq!(told(&found), ["healthCheck.port: (absent) -> 8081", "healthCheck.path: / -> /healthz"]);
        assert!(found.iter().all(|d| d.remedy == Remedy::Change(Change::HealthCheck)));
    }

    #[test]
    fn targets_are_registered_before_others_are_deregistered() {
        let desired = wanted(json!({"targets": {"value": ["i-1", "i-2"]}}));
        let group = group(&[("i-2", 80, "initial"), ("i-3", 80, "healthy")]);
        let gone = Target { id: "i-3".into(), port: Some(80), availability_zone: None };
        assert_eq!(
            changes(&desired, &group),
            [Change::Register(vec!["i-1".into()]), Change::Deregister(vec![gone])]
        );
        assert_eq!(
            told(&differences(&desired, &group)),
            ["targets: i-2, i-3 -> i-1, i-2", "targets: i-2, i-3 -> i-1, i-2"]
        );
    }

    #[test]
    fn a_draining_target_counts_as_gone() {
        let desired = wanted(json!({"targets": {"value": ["i-1"]}}));
        let draining = group(&[("i-1", 80, "draining"), ("i-2", 80, "draining")]);
        assert_eq!(changes(&desired, &draining), [Change::Register(vec!["i-1".into()])]);
        assert_eq!(changes(&wanted(json!({"targets": {"value": []}})), &draining), []);
    }

    #[test]
    fn a_target_with_another_port_is_another_target() {
        let desired = wanted(json!({"targets": {"value": ["i-1"]}}));
        let other = Target { id: "i-1".into(), port: Some(81), availability_zone: None };
        let both = group(&[("i-1", 80, "healthy"), ("i-1", 81, "healthy")]);
        assert_eq!(changes(&desired, &both), [Change::Deregister(vec![other])]);
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let found = problems(json!({
            "name": {"value": "-web"},
            "protocol": {"valueFrom": {"configMap": {"name": "m", "key": "k"}}},
            "port": {"value": 65_536},
            "vpcID": {"value": "main"},
            "targets": {"value": ["10.0.0.1"]},
            "healthCheck": {
                "port": {"value": 0}, "path": {"value": "x"}, "intervalSeconds": {"value": 10},
                "timeoutSeconds": {"value": 20}, "matcher": {"value": "ok"},
            },
        }));
        let wanted = [
            "spec.name: must have 1 to 32",
            "spec.protocol: waiting for ConfigMap m",
            "spec.port: must be 1 to 65535",
            "spec.vpcID: must look like vpc-",
            "spec.healthCheck.port: must be 1 to 65535",
            "spec.healthCheck.path: must begin with /",
            "spec.healthCheck.matcher: must be HTTP codes",
            "spec.healthCheck.timeoutSeconds: must not be greater",
            "spec.targets: item 0 must look like i-",
        ];
        assert_starts(&found, &wanted);
    }

    #[test]
    fn a_function_has_no_network_and_everything_else_needs_one() {
        let lambda = json!({"targetType": {"value": "lambda"}});
        assert_starts(
            &problems(lambda),
            &["spec.protocol: is not", "spec.port: is not", "spec.vpcID: is not"],
        );
        let nothing = json!({"protocol": null, "port": null, "vpcID": null});
        assert_starts(&problems(nothing), &["spec.protocol: is needed", "spec.port: is", "spec.vpcID: is"]);
        let right = json!({"targetType": {"value": "lambda"}, "protocol": null, "port": null, "vpcID": null});
        assert!(resolved(&right).is_ok());
    }

    #[test]
    fn a_target_from_a_secret_shows_nowhere() {
        let from_secret = json!({"value": [{"valueFrom": {"secret": {"name": "s", "key": "k"}}}]});
        assert_eq!(
            problems(json!({"targets": from_secret})),
            ["spec.targets: item 0 must look like i-0abc1234def567890"]
        );
    }
}
