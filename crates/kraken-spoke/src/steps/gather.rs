//! Step 1: ask the hub for the values that the spec refers to, and take its answer. Client required.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Secret;
use kraken_api::{
    DependencyRequest, DependencyRequestSpec, OWNER_KIND_LABEL, dependency_request::DependentValues,
};
use kraken_options::{Dependencies, Dependency, SecretData, Values};
use kraken_runtime::{
    patch::{ApiError, apply, within},
    watch::ObjectKey,
};
use kube::{Api, Resource, ResourceExt, api::DeleteParams};
use secrecy::SecretString;
use serde_json::json;

use crate::{
    External,
    context::{Context, owner_reference, place},
    outcome::Outcome,
    steps::own_secret,
};

/// The values of a resource's references.
pub(crate) struct Gathered {
    pub values: Values,
}

/// Applies the DependencyRequest if it is not as needed, and reads the hub's answer from the watch.
pub(crate) async fn gather<E: External>(
    context: &Context<E>,
    object: &E::Kind,
    dependencies: &Dependencies,
) -> Result<Gathered, Outcome> {
    let (namespace, name) = place(object);
    let key = ObjectKey::new(&namespace, &context.owned_name(&name));
    let api: Api<DependencyRequest> = Api::namespaced(context.shell.client.clone(), &namespace);
    let known = context.requests.get(&key).filter(|request| is_owned_by(&**request, object));

    if dependencies.is_empty() {
        if known.is_some() {
            let params = DeleteParams::default();
            within("delete the DependencyRequest", api.delete(&key.name, &params))
                .await
                .map_err(Outcome::Kubernetes)?;
        }
        return Ok(Gathered { values: Values::default() });
    }

    let wanted = DependencyRequestSpec::from(dependencies);
    let Some(request) = known.filter(|request| request.spec == wanted) else {
        let request = json!({
            "apiVersion": DependencyRequest::api_version(&()),
            "kind": DependencyRequest::kind(&()),
            "metadata": {
                "name": &*key.name,
                "labels": {OWNER_KIND_LABEL: context.kind_key},
                "ownerReferences": [owner_reference(object)],
            },
            "spec": wanted,
        });
        own_secret::make(context, object).await?;
        apply(&api, context.shell.name, &key.name, &request).await.map_err(Outcome::Kubernetes)?;
        return Err(Outcome::Asked);
    };
    let Some(status) = &request.status else { return Err(Outcome::Asked) };
    if status.observed_generation != request.metadata.generation {
        return Err(Outcome::Asked);
    }
    let mut values = values_of(&status.dependent_values);
    values.causes = status.unmet.iter().map(|unmet| (unmet.dependency(), unmet.message.clone())).collect();
    read_secrets(context, &namespace, dependencies, &mut values).await.map_err(Outcome::Kubernetes)?;
    Ok(Gathered { values })
}

/// Whether the object's controller is this very resource, and not an earlier one of its name.
fn is_owned_by(request: &impl Resource, owner: &impl Resource) -> bool {
    request.owner_references().iter().any(|reference| {
        reference.controller == Some(true) && Some(&reference.uid) == owner.meta().uid.as_ref()
    })
}

fn values_of(answer: &DependentValues) -> Values {
    Values {
        config_maps: answer.from_config_maps.clone(),
        resources: answer.from_kraken_resources.clone(),
        ..Values::default()
    }
}

/// Secrets are read by who needs them, one by one and uncached: the hub passes on only which version there is.
async fn read_secrets<E: External>(
    context: &Context<E>,
    namespace: &str,
    dependencies: &Dependencies,
    values: &mut Values,
) -> Result<(), ApiError> {
    let api: Api<Secret> = Api::namespaced(context.shell.client.clone(), namespace);
    let names: BTreeSet<&str> = dependencies.secrets.iter().map(|key| key.name.as_str()).collect();
    for name in names {
        let Some(secret) = within("read a referenced Secret", api.get_opt(name)).await? else { continue };
        let version =
            format!("{}/{}", secret.uid().unwrap_or_default(), secret.resource_version().unwrap_or_default());
        let mut keys = BTreeMap::new();
        for wanted in dependencies.secrets.iter().filter(|key| key.name == name) {
            let cause = match secret.data.as_ref().and_then(|data| data.get(&wanted.key)) {
                None => format!("Secret {name} has no key \"{}\"", wanted.key),
                Some(bytes) => match String::from_utf8(bytes.0.clone()) {
                    Ok(text) => {
                        keys.insert(wanted.key.clone(), SecretString::from(text));
                        continue;
                    }
                    Err(_) => format!("Secret {name} key \"{}\" is not text (UTF-8)", wanted.key),
                },
            };
            values.causes.insert(Dependency::Secret(wanted.clone()), cause);
        }
        values.secrets.insert(name.to_owned(), SecretData { version, keys });
    }
    Ok(())
}
