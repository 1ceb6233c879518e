//! Step 3: performs the action. Client required.
//!
//! Every request has the UID and version of the observed object as a precondition. If the object changed in the meantime,
//! the API server rejects the request, and the object is observed again.

mod error;
mod former;
mod replace;

use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kraken_api::ConfigExport;
use kraken_runtime::{
    coverage,
    patch::{ApiError, json_patch, within},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ObjectMeta, PostParams, Preconditions},
    core::PartialObjectMeta,
};
use serde_json::{Value, json};

use crate::{
    exports::{
        decide::{Action, Exporter, NOT_CREATED, Observed, decide, is_left_behind, observed},
        labels::{Labelling, MANAGED_BY, Since},
        resolve::Content,
        target::{OPAQUE, Target},
    },
    store::dependents::export::reported,
    store::index::{Class, ObjectRef},
    store::version::Version,
};

pub(crate) use error::WriteError;

/// The maximum number of attempts after conflicts in one reconcile.
const ROUNDS: usize = 4;

/// The result of reconciling the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// It is in place.
    InPlace(Version),
    /// It does not exist, or is not owned by this export.
    Absent,
    /// It is not owned by this export: its owner, as a phrase.
    Foreign(String),
    /// Wait for its deletion, and recreate it.
    Terminating,
}

/// An observed target.
struct Found {
    observed: Observed,
    /// Its metadata.
    meta: ObjectMeta,
    /// The operations that set what differs of its content, labels, annotations and owner.
    changes: Vec<Value>,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("export", &self.export.name_any()).finish_non_exhaustive()
    }
}

/// Writes targets of one ConfigExport.
pub(crate) struct Writer<'a> {
    /// The client.
    pub(crate) client: Client,
    /// The field manager.
    pub(crate) manager: &'static str,
    /// The export.
    pub(crate) export: &'a ConfigExport,
    /// With `rotate`, for the current target: since when it is that.
    pub(crate) since: Option<Since>,
}

impl Writer<'_> {
    /// Reconciles an object with the desired content; without content, it is deleted.
    ///
    /// # Errors
    /// The failed request.
    pub(crate) async fn reconcile_target(
        &self,
        named: &ObjectRef,
        content: Option<&Content>,
    ) -> Result<Done, WriteError> {
        match named.class {
            Class::Secret => self.reconcile_kind::<Secret>(named, content).await,
            // A StateDeclaration is never a target.
            Class::ConfigMap | Class::State => self.reconcile_kind::<ConfigMap>(named, content).await,
        }
    }

    async fn reconcile_kind<T: Target>(
        &self,
        named: &ObjectRef,
        content: Option<&Content>,
    ) -> Result<Done, WriteError> {
        let mut round = 0;
        loop {
            round += 1;
            let observed = match content {
                Some(content) => self.observe::<T>(named, content).await,
                None => self.get_metadata::<T>(named).await.map(Found::of),
            };
            let mut found =
                observed.map_err(|source| WriteError::Read { named: named.to_string(), source })?;
            let observed = std::mem::replace(&mut found.observed, Observed::Absent);
            let action = decide(content.is_some(), observed);
            match self.act::<T>(named, content, action, found).await {
                Err(error) if round < ROUNDS && error.is_race() => {}
                ended => return ended,
            }
        }
    }

    /// The observed target.
    async fn observe<T: Target>(&self, named: &ObjectRef, content: &Content) -> Result<Found, ApiError> {
        let found = within("read", self.api::<T>(named).get_opt(&named.key.name)).await?;
        let Some(object) = found else { return Ok(Found::of(Observed::Absent)) };
        let mut changes = self.metadata_changes(object.meta());
        let is_of_type = object.is_of(self.secret_type());
        let has_content = is_of_type && object.matches(content);
        // The type of a Secret is immutable. The metadata never is.
        let immutable = match (is_of_type, has_content) {
            (false, _) => Some(true),
            (true, true) => Some(false),
            (true, false) => object.immutable(),
        };
        if !has_content {
            // The content that an immutable target already has cannot be written, not even unchanged.
            changes.splice(0..0, T::changes(content));
        }
        if self.export.spec.rotate && object.immutable() != Some(true) {
            // Somebody created it again.
            changes.push(json!({"op": "add", "path": "/immutable", "value": true}));
        }
        let observed = self.classify(named, object.meta(), changes.is_empty(), immutable).await?;
        Ok(Found { observed, changes, meta: object.meta().clone() })
    }

    /// A deletion only needs the metadata.
    async fn get_metadata<T: Target>(&self, named: &ObjectRef) -> Result<Observed, ApiError> {
        let found: Option<PartialObjectMeta<T>> =
            within("read", self.api::<T>(named).get_metadata_opt(&named.key.name)).await?;
        let (uid, name) = (self.uid(), self.export.name_any());
        let exporter = Exporter { uid: &uid, name: &name };
        Ok(found.map_or(Observed::Absent, |object| {
            if is_left_behind(&object.metadata, exporter) {
                // It is taken over when its content is known, and not deleted before.
                return Observed::Foreign(NOT_CREATED.to_owned());
            }
            observed(&object.metadata, exporter, self.is_recorded(named), false, None)
        }))
    }

    async fn act<T: Target>(
        &self,
        named: &ObjectRef,
        content: Option<&Content>,
        action: Action,
        Found { meta, changes, .. }: Found,
    ) -> Result<Done, WriteError> {
        coverage::note("export action", action.verb());
        tracing::debug!(target = %named, action = action.verb(), "decided");
        match (action, content) {
            (Action::Create, Some(content)) => self.create::<T>(named, content, &meta).await,
            (Action::Update(version), Some(_)) => self.update::<T>(named, &version, changes).await,
            (Action::Replace(version), Some(content)) => {
                self.replace::<T>(named, content, version, &meta).await
            }
            (Action::Delete(version), _) => self.delete::<T>(named, version).await,
            (Action::Keep(version), _) => Ok(Done::InPlace(version)),
            (Action::Refuse(owner), _) => Ok(Done::Foreign(owner)),
            (Action::AwaitDeletion, _) => Ok(Done::Terminating),
            (Action::None | Action::Create | Action::Update(_) | Action::Replace(_), _) => Ok(Done::Absent),
        }
    }

    /// `former`: the metadata of the object that it replaces, whose labels and annotations of others it gets.
    async fn create<T: Target>(
        &self,
        named: &ObjectRef,
        content: &Content,
        former: &ObjectMeta,
    ) -> Result<Done, WriteError> {
        let object =
            T::new(self.metadata(named, former), self.secret_type(), content, self.export.spec.rotate);
        let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
        let made = within("create", self.api::<T>(named).create(&params, &object)).await;
        let made = made.map_err(|source| WriteError::Create { named: named.to_string(), source })?;
        Ok(in_place(&made))
    }

    async fn update<T: Target>(
        &self,
        named: &ObjectRef,
        version: &Version,
        changes: Vec<Value>,
    ) -> Result<Done, WriteError> {
        let mut operations = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": version.uid}),
            json!({"op": "test", "path": "/metadata/resourceVersion", "value": version.resource_version}),
        ];
        operations.extend(changes);
        let changed =
            json_patch(&self.api::<T>(named), self.manager, &named.key.name, operations.into()).await;
        let changed = changed.map_err(|source| WriteError::Update { named: named.to_string(), source })?;
        Ok(in_place(&changed))
    }

    async fn delete<T: Target>(&self, named: &ObjectRef, version: Version) -> Result<Done, WriteError> {
        let Version { uid, resource_version } = version;
        let preconditions = Preconditions { uid: Some(uid), resource_version: Some(resource_version) };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match within("delete", self.api::<T>(named).delete(&named.key.name, &params)).await {
            Ok(_) => Ok(Done::Absent),
            Err(error) if error.is_not_found() => Ok(Done::Absent),
            Err(source) => Err(WriteError::Delete { named: named.to_string(), source }),
        }
    }

    /// The API for the named object, in its namespace.
    fn api<T: Target>(&self, named: &ObjectRef) -> Api<T> {
        Api::namespaced(self.client.clone(), &named.key.namespace)
    }

    fn secret_type(&self) -> &str {
        self.export.spec.secret_type.as_deref().unwrap_or(OPAQUE)
    }

    /// Whether the status names this object as the target.
    fn is_recorded(&self, named: &ObjectRef) -> bool {
        let target = self.export.status.as_ref().and_then(|status| status.target.as_ref());
        target.is_some_and(|target| *target == reported(named))
    }

    fn uid(&self) -> String {
        self.export.uid().unwrap_or_default()
    }

    /// Its owner is the export, so that Kubernetes garbage-collects it with the export.
    fn metadata(&self, named: &ObjectRef, former: &ObjectMeta) -> ObjectMeta {
        let (uid, name) = (self.uid(), self.export.name_any());
        let (mut labels, annotations) = self.labelling().marked(&uid, &name).of(former);
        labels.insert(MANAGED_BY.to_owned(), self.manager.to_owned());
        ObjectMeta {
            name: Some(named.key.name.to_string()),
            namespace: Some(named.key.namespace.to_string()),
            annotations: Some(annotations),
            labels: Some(labels),
            owner_references: Some(self.owners(former)),
            ..ObjectMeta::default()
        }
    }

    /// The export as the controlling owner, and the owners that others added.
    fn owners(&self, former: &ObjectMeta) -> Vec<OwnerReference> {
        let own = OwnerReference {
            api_version: ConfigExport::api_version(&()).into_owned(),
            kind: ConfigExport::kind(&()).into_owned(),
            name: self.export.name_any(),
            uid: self.uid(),
            controller: Some(true),
            block_owner_deletion: None,
        };
        let of_others = former.owner_references.iter().flatten();
        let of_others = of_others.filter(|owner| owner.controller != Some(true) && owner.uid != own.uid);
        let of_others: Vec<_> = of_others.cloned().collect();
        [vec![own], of_others].concat()
    }

    fn labelling(&self) -> Labelling<'_> {
        Labelling::new(&self.export.spec.config_metadata).current(self.since)
    }
}

impl Found {
    fn of(observed: Observed) -> Self {
        Self { observed, meta: ObjectMeta::default(), changes: vec![] }
    }
}

fn in_place(object: &impl ResourceExt) -> Done {
    Done::InPlace(Version {
        uid: object.uid().unwrap_or_default(),
        resource_version: object.resource_version().unwrap_or_default(),
    })
}
