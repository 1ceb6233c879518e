//! Step 4: requests the values of the spec's references from the hub, and reads its response. Client required.

pub(super) mod own_secret;
mod recall;
mod skip;

use std::sync::Arc;

use kraken_api::{DependencyRequest, DependencyRequestSpec, DependencyRequestStatus};
use kraken_kind::dynamic::Object;
use kraken_model::{
    outcome::{Outcome, in_namespace},
    recorded::has_finalizer,
    request, spec,
};
use kraken_options::{Dependencies, Values};
use kraken_runtime::patch::{ApiError, apply, try_namespace, within};
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};

use crate::{
    actions::references,
    context::{Context, Reconcile, owner_reference, place},
};

pub(super) use recall::learn_secret_fields_from_request;

/// The name of a DependencyRequest that is never stored: a dry run with it shows whether objects can be created in the
/// namespace.
const PROBE: &str = "kraken-probe";

/// What the spec refers to.
pub(crate) enum Gathered {
    /// Everything is in place, as before: no value is needed.
    Unchanged,
    /// The references, and their values.
    Values(Dependencies, Values),
}

/// The values of the references.
#[derive(Default)]
struct Answered {
    values: Values,
    /// Whether a Secret without a required key was read in a version that the hub may not have read. If the key returns before the
    /// hub reads the Secret, its response stays as it is, and triggers no reconcile.
    is_ahead_of_hub: bool,
}

/// The references of the spec, and their values. Ends the reconcile of a resource that is paused.
pub(crate) async fn gather(reconcile: &mut Reconcile<'_>) -> Result<Gathered, Outcome> {
    let Some(dependencies) = skip::skip(reconcile).await? else { return Ok(Gathered::Unchanged) };
    let Answered { values, is_ahead_of_hub } = answered(reconcile, &dependencies).await?;
    reconcile.is_ahead_of_hub = is_ahead_of_hub;
    recall::recall(reconcile).await?;
    Ok(Gathered::Values(dependencies, values))
}

/// The values that are known without a request: those of the references of `dependencies` that the stored DependencyRequest has, too.
/// Nothing is written.
pub(crate) async fn known(reconcile: &Reconcile<'_>, dependencies: &Dependencies) -> Result<Values, Outcome> {
    let key = reconcile.context.owned_key(&reconcile.key());
    let request = reconcile.context.requests.get(&key);
    let request = request.filter(|request| request::is_owned_by(&**request, &*reconcile.object));
    let Some((request, status)) = request.as_ref().and_then(|found| Some((found, found.status.as_ref()?)))
    else {
        return Ok(Values::default());
    };
    let mut wanted = dependencies.clone();
    // The right to a newly named Secret was not checked yet.
    let answered = &request.spec.secret_dependencies;
    wanted
        .secrets
        .retain(|wanted| answered.iter().any(|key| key.name == wanted.name && key.key == wanted.key));
    read(reconcile, &wanted, status).await.map(|answered| answered.values)
}

/// The values of the references. A problem that no response of the hub can solve is reported without waiting for it.
async fn answered(reconcile: &Reconcile<'_>, dependencies: &Dependencies) -> Result<Answered, Outcome> {
    let gathered = request(reconcile, dependencies).await;
    let Err(Outcome::WaitingForHub) = gathered else { return gathered };
    let Reconcile { context, object, .. } = reconcile;
    Err(spec::certain(&*context.kind, object.spec()).unwrap_or(Outcome::WaitingForHub))
}

/// Applies the DependencyRequest if it differs from the references, and reads the hub's response from the watch.
async fn request(reconcile: &Reconcile<'_>, dependencies: &Dependencies) -> Result<Answered, Outcome> {
    let Reconcile { context, object, .. } = reconcile;
    let key = context.owned_key(&reconcile.key());
    let api: Api<DependencyRequest> = Api::namespaced(context.manager.client.clone(), &key.namespace);
    let manager = context.manager.name;
    let in_namespace = |error| in_namespace(error, object.lifecycle());
    let mut found = context.requests.get(&key);
    if found.is_none() && !dependencies.is_empty() && has_finalizer(&**object) {
        // A version without the field that the watch selects by may have written it. It says what the remote objects still use.
        let read = within("read the DependencyRequest", api.get_opt(&key.name)).await;
        found = read.map_err(Outcome::Kubernetes)?.map(Arc::new);
    }
    let earlier = found.as_ref().filter(|request| request::is_of_another(&***request, &**object));
    if let Some(earlier) = earlier {
        // The references of a resource that is being deleted stay on record, and its watch may lag behind that of the requests.
        if !is_wanted(reconcile).await.map_err(Outcome::Kubernetes)? {
            return Err(Outcome::WaitingForHub);
        }
        // The request of an earlier resource of the name. Its deletion triggers a reconcile.
        references::drop_request(&api, manager, earlier).await.map_err(in_namespace)?;
        return Err(Outcome::WaitingForHub);
    }
    let in_place = found.as_ref().map(|request| request::still_used(request, object, dependencies));
    let in_place = in_place.unwrap_or_default();
    if dependencies.is_empty() && in_place.is_empty() {
        if let Some(request) = &found {
            references::drop_request(&api, manager, request).await.map_err(in_namespace)?;
        }
        return Ok(Answered::default());
    }
    let (deleted, found) = match found {
        Some(request) if request.meta().deletion_timestamp.is_some() => (Some(request), None),
        found => (None, found),
    };
    if let Some(request) = deleted {
        // While its namespace or its resource is being deleted, the finalizer keeps the request, and with it the order of
        // deletion. The watch of the resource may lag behind that of the request, which the garbage collector deletes.
        let probe = DependencyRequest::new(PROBE, DependencyRequestSpec::default());
        try_namespace(&api, "create a DependencyRequest", &probe).await.map_err(in_namespace)?;
        if !is_wanted(reconcile).await.map_err(Outcome::Kubernetes)? {
            return Err(Outcome::WaitingForHub);
        }
        references::release(&api, manager, &request).await.map_err(in_namespace)?;
        if request::others_hold(&request) {
            return Err(Outcome::WaitingForHub);
        }
        // It is written again at once: no other record has what only the remote objects still use.
    }

    let wanted = DependencyRequestSpec { in_place_dependencies: in_place, ..spec_of(context, dependencies) };
    let is_complete = |request: &DependencyRequest| {
        let labels = request::labels(&key.namespace, &wanted);
        request.spec == wanted
            && request::is_held(request)
            && request::is_owned_by(request, &**object)
            && labels.iter().all(|(label, value)| request.labels().get(label) == Some(value))
    };
    let Some(request) = found.filter(|request| is_complete(request)) else {
        own_secret::make(reconcile).await?;
        let request = document(context, object, &key.name, &wanted);
        apply(&api, manager, &key.name, &request).await.map_err(in_namespace)?;
        return if dependencies.is_empty() { Ok(Answered::default()) } else { Err(Outcome::WaitingForHub) };
    };
    if dependencies.is_empty() {
        return Ok(Answered::default());
    }
    response(reconcile, dependencies, &request).await
}

/// After the spec is in place: removes what only former references named from the request.
pub(crate) async fn settle(reconcile: &Reconcile<'_>) -> Result<(), Outcome> {
    let Reconcile { context, object, .. } = reconcile;
    let key = context.owned_key(&reconcile.key());
    let Some(request) =
        context.requests.get(&key).filter(|request| !request.spec.in_place_dependencies.is_empty())
    else {
        return Ok(());
    };
    let dependencies = spec::dependencies(&*context.kind, object.spec());
    let is_alive = request.meta().deletion_timestamp.is_none() && request::is_owned_by(&*request, &**object);
    let wanted = spec_of(context, &dependencies);
    // Otherwise the references were edited since this reconcile read them.
    let is_current =
        DependencyRequestSpec { in_place_dependencies: vec![], ..request.spec.clone() } == wanted;
    if !is_alive || !is_current {
        return Ok(());
    }
    let api: Api<DependencyRequest> = Api::namespaced(context.manager.client.clone(), &key.namespace);
    let settled = if dependencies.is_empty() {
        references::drop_request(&api, context.manager.name, &request).await
    } else {
        let request = document(context, object, &key.name, &wanted);
        apply(&api, context.manager.name, &key.name, &request).await.map(drop)
    };
    settled.map_err(|error| in_namespace(error, object.lifecycle()))
}

/// The DependencyRequest to apply.
fn document(context: &Context, object: &Object, name: &str, spec: &DependencyRequestSpec) -> Value {
    json!({
        "apiVersion": DependencyRequest::api_version(&()),
        "kind": DependencyRequest::kind(&()),
        "metadata": {
            "name": name,
            "labels": request::labels(&place(object).0, spec),
            "finalizers": request::finalizers(),
            "ownerReferences": [owner_reference(context, object)],
        },
        "spec": request::explicit(spec),
    })
}

/// The request for these values, without what only remote objects use.
fn spec_of(context: &Context, dependencies: &Dependencies) -> DependencyRequestSpec {
    DependencyRequestSpec {
        spoke: context.manager.name.to_owned(),
        ..DependencyRequestSpec::from(dependencies)
    }
}

/// The values of the hub's response, and those of Secrets, which only the spoke reads.
async fn response(
    reconcile: &Reconcile<'_>,
    dependencies: &Dependencies,
    request: &DependencyRequest,
) -> Result<Answered, Outcome> {
    let Some(status) = &request.status else { return Err(Outcome::WaitingForHub) };
    if status.observed_generation != request.metadata.generation {
        return Err(Outcome::WaitingForHub);
    }
    read(reconcile, dependencies, status).await
}

/// The values in a response, and those of the Secrets that it names.
async fn read(
    reconcile: &Reconcile<'_>,
    dependencies: &Dependencies,
    status: &DependencyRequestStatus,
) -> Result<Answered, Outcome> {
    let context = &reconcile.context;
    let mut values = request::values_of(&status.dependent_values);
    values.causes = status.unmet.iter().map(|unmet| (unmet.dependency(), unmet.message.clone())).collect();
    let answered = &status.dependent_values.from_secrets;
    let (namespace, _) = place(&*reconcile.object);
    let is_ahead_of_hub = context
        .secrets
        .read(&context.manager.client, &namespace, dependencies, answered, &mut values)
        .await
        .map_err(Outcome::Kubernetes)?;
    Ok(Answered { values, is_ahead_of_hub })
}

/// The request with the hub's response, if it is for the current references.
fn answer(reconcile: &Reconcile<'_>, dependencies: &Dependencies) -> Option<Arc<DependencyRequest>> {
    let Reconcile { context, object, .. } = reconcile;
    let request = context.requests.get(&context.owned_key(&reconcile.key()))?;
    let is_current = request::is_owned_by(&*request, &**object)
        && request.meta().deletion_timestamp.is_none()
        && request.spec == spec_of(context, dependencies)
        && request::is_held(&request);
    let status = request.status.as_ref()?;
    (is_current && status.observed_generation == request.metadata.generation).then_some(request)
}

/// Whether the resource exists and is not being deleted, according to the API server and not to the watch. Otherwise the
/// watch is about to trigger its deletion.
async fn is_wanted(reconcile: &Reconcile<'_>) -> Result<bool, ApiError> {
    let Reconcile { context, object, .. } = reconcile;
    let (namespace, name) = place(&**object);
    let api = context.api(&namespace);
    let found = within("read the resource", api.get_metadata_opt(&name)).await?;
    Ok(found.is_some_and(|found| {
        found.metadata.uid == object.meta().uid && found.metadata.deletion_timestamp.is_none()
    }))
}
