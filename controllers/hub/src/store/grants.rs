//! The consent of a namespace to references from other namespaces. Pure.

use std::sync::Arc;

use kraken_api::{
    ReferenceGrant, names::referenced_kind, reference_grant::GrantedResource, state_declaration::STATIC_KIND,
};
use kraken_runtime::Namespaces;

use crate::store::index::{Class, ObjectRef, StateName};

/// Why an object in the namespace `from` may not refer to this one, if it may not. The message depends on the grants only: it is the
/// same whether or not the object exists. `watched`: the namespaces of the hub.
pub(crate) fn refusal(
    from: &str,
    named: &ObjectRef,
    watched: &Namespaces,
    grants: impl FnOnce() -> Vec<Arc<ReferenceGrant>>,
) -> Option<String> {
    let owner = &*named.key.namespace;
    if owner == from {
        return None;
    }
    if !watched.contains(owner) {
        return Some(format!(
            "the hub does not serve namespace {owner} (--namespaces), so no reference to it has a value"
        ));
    }
    let is_permitted = grants().iter().any(|grant| {
        grant.metadata.namespace.as_deref() == Some(owner)
            && grant.spec.from.iter().any(|granted| granted.namespace == from)
            && grant.spec.to.iter().any(|granted| covers(granted, named))
    });
    (!is_permitted).then(|| {
        format!(
            "namespace {owner} has no ReferenceGrant that lets namespace {from} reference {}; ask its owner",
            shown(named)
        )
    })
}

/// Whether a grant is about this object. One that names the group of the kind does not permit a reference without a group, which
/// could mean a resource of another provider.
fn covers(granted: &GrantedResource, named: &ObjectRef) -> bool {
    if named.class != Class::State {
        return false;
    }
    if let Some(name) = &granted.name {
        return ObjectRef::state(&named.key.namespace, &granted.kind, name).refers_to(named);
    }
    let kind = referenced_kind(&granted.kind);
    match named.state_name() {
        Some(StateName { kind: key, group, .. }) => {
            let (granted, of) = kind.split_once('.').unwrap_or((&kind, ""));
            granted == key && (of.is_empty() || of == group)
        }
        None => kind == STATIC_KIND,
    }
}

/// The object as its reference names it, with the group if there is one.
fn shown(named: &ObjectRef) -> String {
    match named.state_name() {
        Some(StateName { kind, group, name }) if !group.is_empty() => format!("{kind}.{group} {name}"),
        _ => named.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn grant(namespace: &str, from: &str, to: &Value) -> Arc<ReferenceGrant> {
        let object = json!({"metadata": {"name": "g", "namespace": namespace},
            "spec": {"from": [{"namespace": "other"}, {"namespace": from}], "to": to}});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn refused(kind: &str, name: &str, grants: &[Arc<ReferenceGrant>]) -> Option<String> {
        let named = ObjectRef::state("platform", kind, name);
        refusal("shop", &named, &Namespaces::default(), || grants.to_vec())
    }

    fn permits(to: &Value, kind: &str, name: &str) -> bool {
        refused(kind, name, &[grant("platform", "shop", to)]).is_none()
    }

    #[test]
    fn reference_within_a_namespace_needs_no_grant() {
        let named = ObjectRef::state("shop", "vpc", "main");
        assert_eq!(refusal("shop", &named, &Namespaces::default(), Vec::new), None);
    }

    #[test]
    fn grant_permits_its_kinds_and_names_only() {
        let to = json!([{"kind": "VPC", "name": "main"}, {"kind": "EC2-Instance"}]);
        assert!(
            permits(&to, "vpc", "main") && permits(&to, "VPC", "main") && permits(&to, "vpc.aws", "main")
        );
        assert!(permits(&to, "ec2instance", "any") && permits(&to, "EC2Instance.aws", "my.app"));
        for (kind, name) in
            [("vpc", "other"), ("vpc", "main.x"), ("subnet", "main"), ("ec2", "any"), ("static", "main")]
        {
            assert!(!permits(&to, kind, name), "{kind} {name}");
        }
    }

    #[test]
    fn grant_of_a_group_does_not_permit_a_reference_that_could_mean_another() {
        for to in [json!([{"kind": "VPC.aws", "name": "main"}]), json!([{"kind": "VPC.aws"}])] {
            assert!(permits(&to, "vpc.aws", "main"));
            assert!(permits(&to, "vpc.aws.kraken-iac.eoinfennessy.com", "main"));
            assert!(!permits(&to, "vpc", "main") && !permits(&to, "vpc.acme", "main"), "{to}");
        }
    }

    #[test]
    fn grant_of_static_states_is_their_own_kind() {
        for to in [json!([{"kind": "static", "name": "facts"}]), json!([{"kind": "static"}])] {
            assert!(permits(&to, "static", "facts"));
            assert!(!permits(&to, "vpc", "facts"));
        }
        assert!(!permits(&json!([{"kind": "static", "name": "facts"}]), "static", "others"));
    }

    #[test]
    fn grant_is_of_its_own_namespace_to_the_named_namespaces() {
        let to = json!([{"kind": "VPC"}]);
        let message = "namespace platform has no ReferenceGrant that lets namespace shop reference vpc main; ask its owner";
        assert_eq!(refused("vpc", "main", &[]).as_deref(), Some(message));
        assert_eq!(refused("vpc", "main", &[grant("shop", "shop", &to)]).as_deref(), Some(message));
        assert_eq!(refused("vpc", "main", &[grant("platform", "shop-2", &to)]).as_deref(), Some(message));
        let of_group = refused("vpc.aws", "main", &[]).unwrap();
        assert!(of_group.contains("reference vpc.aws main;"), "{of_group}");
    }

    #[test]
    fn no_grant_covers_a_config_map_or_a_secret() {
        let all =
            grant("platform", "shop", &json!([{"kind": "ConfigMap"}, {"kind": "Secret", "name": "db"}]));
        for class in [Class::ConfigMap, Class::Secret] {
            let named = ObjectRef::new(class, "platform", "db");
            assert!(refusal("shop", &named, &Namespaces::default(), || vec![all.clone()]).is_some());
        }
    }

    #[test]
    fn namespace_that_the_hub_does_not_watch_is_named_as_such() {
        let (named, watched) = (ObjectRef::state("platform", "vpc", "main"), "shop,other".parse().unwrap());
        let why =
            refusal("shop", &named, &watched, || vec![grant("platform", "shop", &json!([{"kind": "VPC"}]))]);
        assert!(why.unwrap().contains("does not serve namespace platform"));
    }
}
