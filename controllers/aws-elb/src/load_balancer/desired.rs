//! The desired state of a load balancer, and its comparison with the observed state. Pure.

use kraken_aws::{
    diff::{changed, fixed, of_sets},
    resolved::given,
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Resolved, Resolver};

use super::{api::LoadBalancerSpec, balancer::Balancer};
use crate::{
    rules,
    words::{BalancerType, IpAddressType, Scheme},
};

/// The attribute of `deletionProtection`.
pub(crate) const DELETION_PROTECTION: &str = "deletion_protection.enabled";
/// The attribute of `idleTimeoutSeconds`.
pub(crate) const IDLE_TIMEOUT: &str = "idle_timeout.timeout_seconds";

/// The desired state. Absent fields are neither sent nor compared.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    pub(crate) name: Option<Resolved<String>>,
    pub(crate) kind: Option<Resolved<BalancerType>>,
    pub(crate) scheme: Option<Resolved<Scheme>>,
    pub(crate) subnet_ids: Resolved<Vec<String>>,
    pub(crate) security_group_ids: Option<Resolved<Vec<String>>>,
    pub(crate) ip_address_type: Option<Resolved<IpAddressType>>,
    pub(crate) deletion_protection: Option<Resolved<bool>>,
    pub(crate) idle_timeout: Option<Resolved<i32>>,
}

/// A change in place, one call each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Subnets,
    SecurityGroups,
    IpAddressType,
    DeletionProtection,
    IdleTimeout,
}

pub(crate) fn desired(spec: &LoadBalancerSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let name = validator.public_if("name", spec.name.as_ref(), rules::balancer_name);
    let balancer_type = validator.any_if("type", spec.balancer_type.as_ref());
    let scheme = validator.any_if("scheme", spec.scheme.as_ref());
    let subnet_ids = validator.list("subnetIDs", Some(&spec.subnet_ids), rules::subnet_ids);
    let security_group_ids =
        validator.list("securityGroupIDs", spec.security_group_ids.as_ref(), rules::security_group_ids);
    let ip_address_type = validator.any_if("ipAddressType", spec.ip_address_type.as_ref());
    let deletion_protection = validator.any_if("deletionProtection", spec.deletion_protection.as_ref());
    let idle_timeout =
        validator.optional("idleTimeoutSeconds", spec.idle_timeout_seconds.as_ref(), rules::idle_timeout);

    // Rules between fields, if the type is known.
    let kind =
        balancer_type.is_some().then(|| given(&balancer_type).copied().unwrap_or(BalancerType::Application));
    match kind {
        Some(BalancerType::Application) if given(&subnet_ids).is_some_and(|ids| ids.len() == 1) => {
            validator.problem(
                "subnetIDs",
                "must have at least 2 items, of different zones, for an application load balancer",
            );
        }
        Some(BalancerType::Network) if spec.idle_timeout_seconds.is_some() => {
            validator.problem("idleTimeoutSeconds", "is not supported for a network load balancer");
        }
        _ => {}
    }

    let desired = Desired {
        name: name?,
        kind: balancer_type?,
        scheme: scheme?,
        subnet_ids: subnet_ids??,
        security_group_ids: security_group_ids?,
        ip_address_type: ip_address_type?,
        deletion_protection: deletion_protection?,
        idle_timeout: idle_timeout?,
    };
    validator.is_valid().then_some(desired)
}

pub(crate) fn differences(desired: &Desired, balancer: &Balancer) -> Vec<Difference<Change>> {
    let (groups, addresses) = (desired.security_group_ids.as_ref(), desired.ip_address_type.as_ref());
    let mut all = vec![
        fixed("name", desired.name.as_ref(), Some(&balancer.load_balancer_name)),
        fixed("type", desired.kind.as_ref(), balancer.kind.as_ref()),
        fixed("scheme", desired.scheme.as_ref(), balancer.scheme.as_ref()),
        of_sets("subnetIDs", Some(&desired.subnet_ids), &balancer.subnets(), Change::Subnets),
        of_sets("securityGroupIDs", groups, &balancer.security_groups, Change::SecurityGroups),
        changed("ipAddressType", addresses, balancer.ip_address_type.as_ref(), Change::IpAddressType),
    ];
    // Attributes are read by deep observations only.
    if let Some(attributes) = &balancer.attributes {
        let protection = desired.deletion_protection.as_ref().map(|on| on.map(ToString::to_string));
        let have = attributes.get(DELETION_PROTECTION);
        all.push(changed("deletionProtection", protection.as_ref(), have, Change::DeletionProtection));
        let seconds = desired.idle_timeout.as_ref().map(|seconds| seconds.map(ToString::to_string));
        let have = attributes.get(IDLE_TIMEOUT);
        all.push(changed("idleTimeoutSeconds", seconds.as_ref(), have, Change::IdleTimeout));
    }
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_balancer::{
        Balancers,
        balancer::{State, Zone},
    };
    use kraken_aws::{
        resource::{Phase, RemoteObject},
        testing::{self, assert_begin, rendered, with},
    };
    use serde_json::{Value, json};

    fn written(changes: Value) -> Value {
        with(json!({"subnetIDs": {"value": ["subnet-1", "subnet-2"]}}), changes)
    }

    fn wanted(changes: Value) -> Desired {
        testing::desired::<Balancers>(written(changes))
    }

    fn problems(changes: Value) -> Vec<String> {
        testing::problems::<Balancers>(written(changes))
    }

    fn balancer() -> Balancer {
        let zone = |id: &str| Zone { subnet_id: Some(id.to_owned()), zone_name: None };
        Balancer {
            load_balancer_arn: "arn:1".into(),
            load_balancer_name: "kraken-1".into(),
            kind: Some("application".into()),
            scheme: Some("internet-facing".into()),
            ip_address_type: Some("ipv4".into()),
            security_groups: vec!["sg-1".into()],
            availability_zones: vec![zone("subnet-2"), zone("subnet-1")],
            ..Balancer::default()
        }
    }

    #[test]
    fn unset_fields_and_the_order_of_subnets_are_ignored() {
        assert_eq!(rendered(differences(&wanted(json!({})), &balancer())), [""; 0]);
    }

    #[test]
    fn mutable_fields_are_changed_and_immutable_ones_reported() {
        let other = wanted(json!({
            "name": {"value": "web"}, "type": {"value": "network"}, "scheme": {"value": "internal"},
            "subnetIDs": {"value": ["subnet-2", "subnet-3"]}, "securityGroupIDs": {"value": ["sg-2"]},
            "ipAddressType": {"value": "dualstack"},
        }));
        assert_eq!(
            rendered(differences(&other, &balancer())),
            [
                "name: kraken-1 becomes web: fixed",
                "type: application becomes network: fixed",
                "scheme: internet-facing becomes internal: fixed",
                "subnetIDs: subnet-2, subnet-1 becomes subnet-2, subnet-3: Subnets",
                "securityGroupIDs: sg-1 becomes sg-2: SecurityGroups",
                "ipAddressType: ipv4 becomes dualstack: IpAddressType",
            ]
        );
    }

    #[test]
    fn attributes_are_compared_only_when_they_were_read() {
        let protected =
            wanted(json!({"deletionProtection": {"value": true}, "idleTimeoutSeconds": {"value": 120}}));
        assert_eq!(rendered(differences(&protected, &balancer())), [""; 0]);
        let attributes = [(DELETION_PROTECTION.to_owned(), "false".to_owned())].into();
        let read = Balancer { attributes: Some(attributes), ..balancer() };
        assert_eq!(
            rendered(differences(&protected, &read)),
            [
                "deletionProtection: false becomes true: DeletionProtection",
                "idleTimeoutSeconds: (absent) becomes 120: IdleTimeout"
            ]
        );
    }

    #[test]
    fn it_is_ready_when_aws_reports_active() {
        let phase = |code: &str| {
            let state = State { code: Some(code.to_owned()), reason: Some("no capacity".to_owned()) };
            Balancer { state: Some(state), ..balancer() }.phase()
        };
        assert_eq!(phase("provisioning"), Phase::Settling("provisioning".into()));
        assert_eq!((phase("active"), phase("active_impaired")), (Phase::Up, Phase::Up));
        assert_eq!(phase("failed"), Phase::Failed("no capacity".into()));
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let found = problems(json!({
            "name": {"value": "internal-web"},
            "subnetIDs": {"value": ["subnet-1", {"valueFrom": {"krakenResource": {"kind": "subnet", "name": "b"}}}]},
            "securityGroupIDs": {"value": []},
            "idleTimeoutSeconds": {"value": 0},
        }));
        let wanted = [
            "spec.name: must not start with internal-",
            "spec.subnetIDs.value[1]: waiting for the id of subnet b",
            "spec.securityGroupIDs: must have at least 1",
            "spec.idleTimeoutSeconds: must be 1 to 4000",
        ];
        assert_begin(&found, &wanted);
    }

    #[test]
    fn each_type_has_its_own_rules() {
        let one = json!({"subnetIDs": {"value": ["subnet-1"]}});
        assert_begin(&problems(one), &["spec.subnetIDs: must have at least 2"]);
        let network = json!({"type": {"value": "network"}, "subnetIDs": {"value": ["subnet-1"]}});
        wanted(network);
        let idle = json!({"type": {"value": "network"}, "idleTimeoutSeconds": {"value": 60}});
        assert_begin(&problems(idle), &["spec.idleTimeoutSeconds: is not supported"]);
    }
}
