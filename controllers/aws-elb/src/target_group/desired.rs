//! The desired state of a target group, and its comparison with the observed state. Pure.

use kraken_aws::{
    diff::{difference, fixed, lists},
    resolved::given,
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Ignored, Resolved, Resolver};

use super::{
    api::TargetGroupSpec,
    group::{Group, Target},
    health::{self, Health},
};
use crate::{
    rules,
    words::{Protocol, TargetType},
};

/// The desired state. Absent fields are neither sent nor compared.
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

/// A change in place, one call each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// All fields of the health check in the spec, because AWS validates them together.
    HealthCheck,
    Register(Vec<String>),
    Deregister(Vec<Target>),
}

pub(crate) fn desired(spec: &TargetGroupSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let name = validator.public_if("name", spec.name.as_ref(), rules::name);
    let protocol = validator.any_if("protocol", spec.protocol.as_ref());
    let port = validator.optional("port", spec.port.as_ref(), rules::port);
    let vpc_id = validator.optional("vpcID", spec.vpc_id.as_ref(), rules::vpc_id);
    let target_type = validator.any_if("targetType", spec.target_type.as_ref());
    let health = health::wanted(spec.health_check.as_ref(), &mut validator);

    // Rules between fields, if the type is known.
    let kind = target_type.is_some().then(|| given(&target_type).copied().unwrap_or(TargetType::Instance));
    if let Some(kind) = kind {
        let is_lambda = kind == TargetType::Lambda;
        for (field, is_given) in [
            ("protocol", spec.protocol.is_some()),
            ("port", spec.port.is_some()),
            ("vpcID", spec.vpc_id.is_some()),
        ] {
            if is_lambda && is_given {
                validator.problem(field, "is not supported for targets of type lambda");
            } else if !is_lambda && !is_given {
                validator.problem(field, format!("is required for targets of type {kind}"));
            }
        }
    }
    let targets = validator.list("targets", spec.targets.as_ref(), |targets| {
        kind.map_or(Ok(()), |kind| rules::targets(kind, targets))
    });

    let desired = Desired {
        name: name?,
        protocol: protocol?,
        port: port?,
        vpc_id: vpc_id?,
        target_type: target_type?,
        targets: targets?,
        health: health?,
    };
    validator.is_valid().then_some(desired)
}

pub(crate) fn differences(desired: &Desired, group: &Group) -> Vec<Difference<Change>> {
    let fixed = [
        fixed("name", desired.name.as_ref(), Some(&group.target_group_name)),
        fixed("protocol", desired.protocol.as_ref(), group.protocol.as_ref()),
        fixed("port", desired.port.as_ref(), group.port.as_ref()),
        fixed("vpcID", desired.vpc_id.as_ref(), group.vpc_id.as_ref()),
        fixed("targetType", desired.target_type.as_ref(), group.target_type.as_ref()),
    ];
    let targets = desired.targets.as_ref().map_or(vec![], |wanted| of_targets(wanted, group));
    let health = health::differences(&desired.health, group);
    fixed.into_iter().flatten().chain(health).chain(targets).collect()
}

/// Without the ignored fields of the health check, because a call sends all desired fields.
pub(crate) fn without_ignored(desired: &Desired, ignored: &Ignored) -> Option<Desired> {
    let health = health::without_ignored(&desired.health, ignored)?;
    Some(Desired { health, ..desired.clone() })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target_group::{
        Groups,
        group::{Health as State, TargetHealth},
    };
    use kraken_aws::testing::{self, assert_begin, rendered, with};
    use kraken_spoke::Remedy;
    use serde_json::{Value, json};

    fn written(changes: Value) -> Value {
        with(
            json!({"protocol": {"value": "HTTP"}, "port": {"value": 80}, "vpcID": {"value": "vpc-1"}}),
            changes,
        )
    }

    fn wanted(changes: Value) -> Desired {
        testing::desired::<Groups>(written(changes))
    }

    fn problems(changes: Value) -> Vec<String> {
        testing::problems::<Groups>(written(changes))
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
            target_health_descriptions: targets.iter().map(target).collect(),
            ..Group::default()
        }
    }

    fn changes(desired: &Desired, group: &Group) -> Vec<Change> {
        let change = |difference: Difference<Change>| match difference.remedy {
            Remedy::Change(change) => change,
            other => panic!("{other:?}"),
        };
        differences(desired, group).into_iter().map(change).collect()
    }

    #[test]
    fn unset_fields_are_not_managed() {
        assert_eq!(rendered(differences(&wanted(json!({})), &group(&[("i-9", 80, "healthy")]))), [""; 0]);
    }

    #[test]
    fn immutable_fields_are_reported_with_both_values() {
        let other = wanted(json!({
            "name": {"value": "web"}, "protocol": {"value": "HTTPS"}, "port": {"value": 443},
            "vpcID": {"value": "vpc-2"}, "targetType": {"value": "ip"},
        }));
        assert_eq!(
            rendered(differences(&other, &group(&[]))),
            [
                "name: kraken-1 becomes web: fixed",
                "protocol: HTTP becomes HTTPS: fixed",
                "port: 80 becomes 443: fixed",
                "vpcID: vpc-1 becomes vpc-2: fixed",
                "targetType: instance becomes ip: fixed",
            ]
        );
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
        for Difference { field, .. } in differences(&desired, &group) {
            assert_eq!((field.have.as_str(), field.want.as_str()), ("i-2, i-3", "i-1, i-2"));
        }
    }

    #[test]
    fn a_draining_target_counts_as_deregistered() {
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
    fn all_problems_are_reported_at_once() {
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
            "spec.healthCheck.path: must start with /",
            "spec.healthCheck.matcher: must be HTTP codes",
            "spec.healthCheck.timeoutSeconds: must not be greater",
            "spec.targets: item 0 must look like i-",
        ];
        assert_begin(&found, &wanted);
    }

    #[test]
    fn network_fields_are_required_except_for_lambda() {
        let lambda = json!({"targetType": {"value": "lambda"}});
        assert_begin(
            &problems(lambda),
            &["spec.protocol: is not", "spec.port: is not", "spec.vpcID: is not"],
        );
        let nothing = json!({"protocol": null, "port": null, "vpcID": null});
        assert_begin(&problems(nothing), &["spec.protocol: is required", "spec.port: is", "spec.vpcID: is"]);
        let right = json!({"targetType": {"value": "lambda"}, "protocol": null, "port": null, "vpcID": null});
        wanted(right);
    }

    #[test]
    fn a_target_from_a_secret_is_absent_from_state_and_differences() {
        let from_secret = json!({"value": [{"valueFrom": {"secret": {"name": "s", "key": "k"}}}]});
        assert_eq!(
            problems(json!({"targets": from_secret})),
            ["spec.targets: item 0 must look like i-0abc1234def567890"]
        );
    }
}
