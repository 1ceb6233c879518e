//! Writes the Secret with the sensitive outputs of a resource.

use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kraken_kind::{
    Failure, FailureClass, Identity,
    runtime::patch::{ApiError, apply, json_patch, within},
};
use kraken_tfplugin::ResourceState;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Preconditions},
};
use serde_json::json;

use super::{TofuExternal, provided::Secrets};
use crate::{journal::owner_of, observed::Desired, outputs};

/// The type of the Secrets. A Secret of another type is never written: its type cannot be changed.
pub(crate) const SECRET_TYPE: &str = "kraken-iac.eoinfennessy.com/tofu-outputs";
const ACTION: &str = "failed to write the sensitive outputs";

impl Secrets {
    fn api(&self, identity: &Identity) -> Option<Api<Secret>> {
        let (_, key) = identity.resource()?;
        Some(Api::namespaced(self.client.clone(), &key.namespace))
    }
}

impl TofuExternal {
    /// Writes the Secret that the spec names, if it differs, and deletes the one that it named before.
    pub(super) async fn write_outputs(
        &self,
        identity: &Identity,
        desired: &Desired,
        state: &ResourceState,
    ) -> Result<(), Failure> {
        let Some(mut journal) = self.journals.read(identity).await? else { return Ok(()) };
        if desired.outputs.is_none() && journal.outputs.is_none() {
            return Ok(());
        }
        let Some(api) = self.secrets.api(identity) else { return Ok(()) };
        if let Some(name) = &desired.outputs {
            self.write_secret(&api, identity, name, desired, state).await?;
        }
        if journal.outputs == desired.outputs {
            return Ok(());
        }
        if let Some(former) = &journal.outputs {
            delete_own(&api, former, &identity.uid).await?;
        }
        journal.outputs.clone_from(&desired.outputs);
        self.journals.write(identity, journal).await
    }

    async fn write_secret(
        &self,
        api: &Api<Secret>,
        identity: &Identity,
        name: &str,
        desired: &Desired,
        state: &ResourceState,
    ) -> Result<(), Failure> {
        let found = within("read the Secret", api.get_opt(name)).await.map_err(|error| failed(&error))?;
        let content = outputs::content(&desired.schema.block, &desired.config, &state.value);
        if let Some(found) = &found {
            let owner = controller(found);
            // One without an owner was left by a resource that released its object.
            if found.type_.as_deref() != Some(SECRET_TYPE) || owner.is_some_and(|uid| *uid != identity.uid) {
                return Err(failure(format!(
                    "the Secret {name} exists, and is not of this resource: choose another name for spec.sensitiveOutputs.secretName"
                )));
            }
            if owner.is_some() && found.data.clone().unwrap_or_default() == content {
                return Ok(());
            }
        }
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                owner_references: Some(vec![owner_of(&self.secrets.resource, identity)]),
                ..ObjectMeta::default()
            },
            type_: Some(SECRET_TYPE.to_owned()),
            data: Some(content),
            ..Secret::default()
        };
        apply(api, self.secrets.manager, name, &secret).await.map(drop).map_err(|error| failed(&error))
    }

    /// Keeps the Secret of an object that is kept: nothing else may have what is in it.
    pub(super) async fn release_outputs(&self, identity: &Identity) -> Result<(), Failure> {
        let journal = self.journals.read(identity).await?;
        let Some(name) = journal.and_then(|journal| journal.outputs) else { return Ok(()) };
        let Some(api) = self.secrets.api(identity) else { return Ok(()) };
        let found = within("read the Secret", api.get_opt(&name)).await.map_err(|error| failed(&error))?;
        let Some(found) = found.filter(|found| controller(found) == Some(&identity.uid)) else {
            return Ok(());
        };
        let operations = json!([
            {"op": "test", "path": "/metadata/uid", "value": found.metadata.uid},
            {"op": "remove", "path": "/metadata/ownerReferences"},
        ]);
        json_patch(&api, self.secrets.manager, &name, operations)
            .await
            .map(drop)
            .map_err(|error| failed(&error))
    }
}

/// The UID of the resource that a Secret belongs to.
fn controller(secret: &Secret) -> Option<&String> {
    secret.owner_references().iter().find(|owner| owner.controller == Some(true)).map(|owner| &owner.uid)
}

/// Deletes a Secret if it belongs to the resource with this UID.
async fn delete_own(api: &Api<Secret>, name: &str, uid: &str) -> Result<(), Failure> {
    let found = within("read the Secret", api.get_opt(name)).await.map_err(|error| failed(&error))?;
    let Some(found) = found.filter(|found| controller(found).is_some_and(|owner| owner == uid)) else {
        return Ok(());
    };
    let preconditions = Preconditions { uid: found.metadata.uid, resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match within("delete the Secret", api.delete(name, &params)).await {
        Err(error) if !error.is_not_found() => Err(failed(&error)),
        _ => Ok(()),
    }
}

fn failed(error: &ApiError) -> Failure {
    Failure { class: FailureClass::Transient, ..failure(error.to_string()) }
}

/// A failure that needs an edit.
fn failure(message: String) -> Failure {
    Failure { class: FailureClass::Terminal, action: ACTION.to_owned(), code: String::new(), message }
}
