//! Verifies that a state was published by the controller of its resource. Pure.
//!
//! Three conditions must be met: it is named after its owner; its content matches the digest in its annotation; and the
//! manager that last wrote the content also owns the owner reference. A manual edit violates one of the last two, and
//! its controller reverts it at once. Admission prevents the forgery of all three.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, OwnerReference};
use kraken_api::{
    CONTENT_HASH_ANNOTATION, DOMAIN, StateDeclarationSpec,
    names::{owned_name, owner_kind},
    state_declaration::STATIC_KIND,
};
use kube::api::ObjectMeta;

/// Why a state is not trusted, if it is not.
pub(crate) fn refusal(meta: &ObjectMeta, spec: &StateDeclarationSpec) -> Option<String> {
    let name = meta.name.as_deref().unwrap_or_default();
    let mut owners = meta.owner_references.iter().flatten();
    let Some(owner) = owners.find(|owner| owner.controller == Some(true)) else {
        let is_facts = name.strip_prefix(STATIC_KIND).is_some_and(|rest| rest.starts_with('-'));
        let why = format!("StateDeclaration {name} has no owner; users can only create static-<name>");
        return (!is_facts).then_some(why);
    };
    if name_of(owner).as_deref() != Some(name) {
        let OwnerReference { kind, name: owner, .. } = owner;
        return Some(format!("StateDeclaration {name} is not named after its owner, {kind} {owner}"));
    }
    let annotations = meta.annotations.as_ref();
    let published = annotations.and_then(|annotations| annotations.get(CONTENT_HASH_ANNOTATION));
    if published != Some(&spec.content_hash()) {
        return Some(format!(
            "StateDeclaration {name} does not match the state that its controller published: it was edited manually, and its controller reverts the edit, unless the resource is paused or being deleted"
        ));
    }
    let writer = writer_of_another(meta.managed_fields.as_deref().unwrap_or_default())?;
    Some(format!(
        "StateDeclaration {name} was written by {writer} and not by its controller, which reverts the edit"
    ))
}

/// The name of the state of this owner, if the owner is a Kraken resource.
fn name_of(owner: &OwnerReference) -> Option<String> {
    let (group, _) = owner.api_version.split_once('/')?;
    let is_ours = group.strip_suffix(DOMAIN).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('.'));
    is_ours.then(|| owned_name(&owner_kind(&owner.kind, group), &owner.name))
}

/// The manager of the content, if it does not own the owner reference. Without managedFields there is none.
fn writer_of_another(entries: &[ManagedFieldsEntry]) -> Option<&str> {
    let writers = |pointer: &str| {
        let wrote = |entry: &&ManagedFieldsEntry| {
            entry.fields_v1.as_ref().is_some_and(|fields| fields.0.pointer(pointer).is_some())
        };
        entries.iter().filter(wrote).filter_map(|entry| entry.manager.as_deref()).collect::<Vec<_>>()
    };
    let owners = writers("/f:metadata/f:ownerReferences");
    let authors = writers("/f:spec");
    let is_known = owners.is_empty() || authors.iter().any(|author| owners.contains(author));
    if is_known { None } else { authors.first().copied() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";

    fn spec(data: Value) -> StateDeclarationSpec {
        StateDeclarationSpec { data, id: Some("i-1".into()), withheld: Vec::new() }
    }

    fn published() -> StateDeclarationSpec {
        spec(json!({"instances": [{"InstanceId": "i-1"}]}))
    }

    fn state(name: &str, owner: Option<(&str, &str, &str)>) -> ObjectMeta {
        let owner = owner.map(|(api_version, kind, name)| OwnerReference {
            api_version: api_version.into(),
            kind: kind.into(),
            name: name.into(),
            uid: "u-1".into(),
            controller: Some(true),
            ..OwnerReference::default()
        });
        ObjectMeta {
            name: Some(name.into()),
            annotations: Some([(CONTENT_HASH_ANNOTATION.to_owned(), published().content_hash())].into()),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        }
    }

    fn of_a() -> ObjectMeta {
        state("ec2instance.aws.a", Some((AWS, "EC2Instance", "a")))
    }

    fn written_by(writers: &[(&str, Value)]) -> ObjectMeta {
        let entry = |(manager, fields): &(&str, Value)| ManagedFieldsEntry {
            manager: Some((*manager).into()),
            fields_v1: Some(serde_json::from_value(fields.clone()).unwrap()),
            ..ManagedFieldsEntry::default()
        };
        ObjectMeta { managed_fields: Some(writers.iter().map(entry).collect()), ..of_a() }
    }

    fn is_rejected(meta: &ObjectMeta, because: &str) {
        let why = refusal(meta, &published()).unwrap();
        assert!(why.contains(because), "{why}");
    }

    #[test]
    fn a_state_comes_from_the_resource_it_is_named_after() {
        assert_eq!(refusal(&of_a(), &published()), None);
        is_rejected(&state("ec2instance.aws.a", Some((AWS, "EC2Instance", "b"))), "owner, EC2Instance b");
        is_rejected(&state("ec2instance.aws.a", Some((AWS, "VPC", "a"))), "not named after");
        let acme = "acme.kraken-iac.eoinfennessy.com/v1";
        is_rejected(&state("ec2instance.aws.a", Some((acme, "EC2Instance", "a"))), "not named after");
    }

    #[test]
    fn users_can_write_only_static_states() {
        assert_eq!(refusal(&state("static-net", None), &spec(json!("anything"))), None);
        is_rejected(&state("ec2instance.aws.a", None), "has no owner");
        is_rejected(&state("static.aws.a", None), "has no owner");
        is_rejected(&state("static", None), "has no owner");
    }

    #[test]
    fn content_that_does_not_match_the_digest_is_rejected() {
        for edited in [
            spec(json!({"instances": [{"InstanceId": "i-2"}]})),
            StateDeclarationSpec { id: None, ..published() },
        ] {
            let why = refusal(&of_a(), &edited).unwrap();
            assert!(why.contains("edited manually"), "{why}");
        }
        let mut bare = of_a();
        bare.annotations = None;
        is_rejected(&bare, "edited manually");
    }

    #[test]
    fn an_edit_with_a_matching_digest_is_detected_by_its_manager() {
        let owner = || json!({"f:metadata": {"f:ownerReferences": {}}});
        let all = || json!({"f:metadata": {"f:ownerReferences": {}}, "f:spec": {}});
        let edit = || json!({"f:metadata": {"f:annotations": {}}, "f:spec": {}});
        let spoke = "kraken-aws-ec2-instance";
        assert_eq!(refusal(&written_by(&[(spoke, all())]), &published()), None);
        assert_eq!(
            refusal(&written_by(&[(spoke, all()), ("velero", edit())]), &published()),
            None,
            "the same value"
        );
        is_rejected(&written_by(&[(spoke, owner()), ("kubectl-edit", edit())]), "written by kubectl-edit");
    }

    #[test]
    fn a_non_controlling_owner_is_ignored() {
        let mut meta = of_a();
        meta.owner_references.as_mut().unwrap()[0].controller = None;
        is_rejected(&meta, "has no owner");
    }

    #[test]
    fn an_owner_outside_krakens_groups_is_rejected() {
        for group in [
            "v1",
            "apps/v1",
            "kraken-iac.eoinfennessy.com.evil.org/v1",
            "evil-kraken-iac.eoinfennessy.com/v1",
        ] {
            is_rejected(&state("ec2instance.aws.a", Some((group, "EC2Instance", "a"))), "not named after");
        }
    }
}
