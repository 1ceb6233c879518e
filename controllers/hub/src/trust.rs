//! Whether a state was published by the resource it is named after. Without this, whoever may write a StateDeclaration
//! could hand out values in another resource's name.

use std::collections::HashMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kraken_api::{DOMAIN, names::owned_name, state_declaration::STATIC_KIND};
use kraken_options::kind_key;
use kraken_runtime::patch::{ApiError, within};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta},
    discovery::pinned_kind,
    error::DiscoveryError,
};
use parking_lot::Mutex;

use crate::names::is_object_name;

/// Who a state says that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// From a person, as the reserved kind `static`.
    Person,
    /// From this resource, whose existence is still to be checked.
    Resource(Owner),
    /// From nobody who could publish it, and why.
    Refused(String),
}

/// The resource that a state names as its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its group, version and kind.
    pub gvk: GroupVersionKind,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// Reads who a state says that it comes from.
pub fn claim(meta: &ObjectMeta) -> Claim {
    let name = meta.name.as_deref().unwrap_or_default();
    let owners = meta.owner_references.iter().flatten();
    let Some(owner) = owners.into_iter().find(|owner| owner.controller == Some(true)) else {
        return if name.strip_prefix(STATIC_KIND).is_some_and(|rest| rest.starts_with('-')) {
            Claim::Person
        } else {
            Claim::Refused(format!(
                "StateDeclaration {name} has no owner; by hand, only static-<name> is accepted"
            ))
        };
    };
    match parse(owner) {
        Some(found) if owned_name(&kind_key(&found.gvk.kind), &found.name) == name => Claim::Resource(found),
        _ => Claim::Refused(format!(
            "StateDeclaration {name} is not named after its owner, {} {}",
            owner.kind, owner.name
        )),
    }
}

/// The owner, if it is one of Kraken's resources and its name and group may stand in a path.
fn parse(owner: &OwnerReference) -> Option<Owner> {
    let (group, version) = owner.api_version.split_once('/')?;
    let is_ours = group.strip_suffix(DOMAIN).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('.'));
    let fits = is_ours && is_object_name(group) && is_object_name(version) && is_object_name(&owner.name);
    fits.then(|| Owner {
        gvk: GroupVersionKind::gvk(group, version, &owner.kind),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
    })
}

/// Checks that owners exist.
pub struct Owners {
    client: Client,
    /// The plural of each kind, from discovery.
    kinds: Mutex<HashMap<GroupVersionKind, ApiResource>>,
    /// The owner that was found for each state, both by UID: neither can change.
    verified: Mutex<HashMap<String, String>>,
}

impl std::fmt::Debug for Owners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Owners").finish_non_exhaustive()
    }
}

impl Owners {
    /// Asks this client.
    pub fn new(client: Client) -> Self {
        Self { client, kinds: Mutex::default(), verified: Mutex::default() }
    }

    /// Whether a state comes from who it says; if not, why.
    ///
    /// # Errors
    /// When the API server cannot be asked.
    pub async fn refusal(&self, namespace: &str, state: &ObjectMeta) -> Result<Option<String>, ApiError> {
        let owner = match claim(state) {
            Claim::Person => return Ok(None),
            Claim::Refused(why) => return Ok(Some(why)),
            Claim::Resource(owner) => owner,
        };
        let state_uid = state.uid.clone().unwrap_or_default();
        if self.verified.lock().get(&state_uid) == Some(&owner.uid) {
            return Ok(None);
        }
        if self.exists(namespace, &owner).await? {
            self.verified.lock().insert(state_uid, owner.uid);
            return Ok(None);
        }
        let name = state.name.as_deref().unwrap_or_default();
        Ok(Some(format!(
            "StateDeclaration {name} names an owner that does not exist: {} {}",
            owner.gvk.kind, owner.name
        )))
    }

    /// Forgets a state that is gone.
    pub fn forget(&self, state_uid: &str) {
        self.verified.lock().remove(state_uid);
    }

    async fn exists(&self, namespace: &str, owner: &Owner) -> Result<bool, ApiError> {
        let Some(kind) = self.kind(&owner.gvk).await? else { return Ok(false) };
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &kind);
        let found = within("read the owner's metadata", api.get_metadata_opt(&owner.name)).await?;
        if found.is_none() {
            // The kind may have moved: it is looked up again next time.
            self.kinds.lock().remove(&owner.gvk);
        }
        Ok(found.is_some_and(|object| object.metadata.uid.as_ref() == Some(&owner.uid)))
    }

    async fn kind(&self, gvk: &GroupVersionKind) -> Result<Option<ApiResource>, ApiError> {
        if let Some(kind) = self.kinds.lock().get(gvk) {
            return Ok(Some(kind.clone()));
        }
        match within("find the owner's kind", pinned_kind(&self.client, gvk)).await {
            Ok((kind, _)) => {
                self.kinds.lock().insert(gvk.clone(), kind.clone());
                Ok(Some(kind))
            }
            Err(error) if is_unknown(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// There is no such kind, as opposed to an API server that cannot say.
fn is_unknown(error: &ApiError) -> bool {
    let missing = matches!(
        error.source.as_ref(),
        kube::Error::Discovery(
            DiscoveryError::MissingKind(_)
                | DiscoveryError::MissingApiGroup(_)
                | DiscoveryError::MissingResource(_)
                | DiscoveryError::EmptyApiGroup(_)
                | DiscoveryError::InvalidGroupVersion(_)
        )
    );
    missing || error.is_not_found()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWS: &str = "aws.kraken-iac.eoinfennessy.com/v1alpha1";

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
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        }
    }

    fn is_refused(meta: &ObjectMeta, because: &str) {
        let Claim::Refused(why) = claim(meta) else { panic!("{meta:?}") };
        assert!(why.contains(because), "{why}");
    }

    #[test]
    fn a_state_comes_from_the_resource_it_is_named_after() {
        let Claim::Resource(owner) = claim(&state("ec2instance-a", Some((AWS, "EC2Instance", "a")))) else {
            panic!()
        };
        assert_eq!(
            (owner.gvk.kind.as_str(), owner.name.as_str(), owner.uid.as_str()),
            ("EC2Instance", "a", "u-1")
        );
    }

    #[test]
    fn a_person_may_write_static_facts_and_nothing_else() {
        assert_eq!(claim(&state("static-net", None)), Claim::Person);
        is_refused(&state("ec2instance-a", None), "has no owner");
        is_refused(&state("staticfoo-a", None), "has no owner");
        is_refused(&state("static", None), "has no owner");
    }

    #[test]
    fn an_owner_that_does_not_control_the_state_is_none() {
        let mut meta = state("ec2instance-a", Some((AWS, "EC2Instance", "a")));
        meta.owner_references.as_mut().unwrap()[0].controller = None;
        is_refused(&meta, "has no owner");
    }

    #[test]
    fn a_state_in_anothers_name_is_refused() {
        is_refused(
            &state("ec2instance-a", Some((AWS, "EC2Instance", "b"))),
            "not named after its owner, EC2Instance b",
        );
        is_refused(&state("ec2instance-a", Some((AWS, "VPC", "a"))), "not named after");
    }

    #[test]
    fn an_owner_outside_krakens_groups_is_refused() {
        for group in [
            "v1",
            "apps/v1",
            "kraken-iac.eoinfennessy.com.evil.org/v1",
            "evil-kraken-iac.eoinfennessy.com/v1",
        ] {
            is_refused(&state("ec2instance-a", Some((group, "EC2Instance", "a"))), "not named after");
        }
    }

    #[test]
    fn names_that_would_leave_their_place_in_a_path_are_refused() {
        let long = format!("{}/../../../secrets/x", "a".repeat(253));
        let name = owned_name("ec2instance", &long);
        is_refused(&state(&name, Some((AWS, "EC2Instance", &long))), "not named after");
        let version = "aws.kraken-iac.eoinfennessy.com/../v1";
        is_refused(&state("ec2instance-a", Some((version, "EC2Instance", "a"))), "not named after");
    }
}
