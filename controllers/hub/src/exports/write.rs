//! Step 3: carries a decision out. Client required.
//!
//! Every request names the very object and version that was looked at, so that an object which changed hands meanwhile is
//! refused by the API server and looked at again.

use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kraken_api::{ConfigExport, EXPORTED_BY_ANNOTATION};
use kraken_runtime::{
    coverage,
    metrics::Metrics,
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
        decide::{Action, Observed, decide, observed},
        labels::{Labelling, MANAGED_BY},
        resolve::Content,
        target::{OPAQUE, Target},
    },
    index::{Class, Named},
    names::words,
    world::Version,
};

/// How often a target that changes under our hands is looked at again in one reconcile.
const ROUNDS: usize = 4;

/// A target could not be brought into its wanted state.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It could not be read.
    #[error("failed to read {named}: {}", words(.source))]
    Read {
        /// Which one.
        named: String,
        /// What the API server said.
        source: ApiError,
    },
    /// It could not be created.
    #[error("failed to create {named}: {}", words(.source))]
    Create {
        /// Which one.
        named: String,
        /// What the API server said.
        source: ApiError,
    },
    /// It could not be changed.
    #[error("failed to update {named}: {}", words(.source))]
    Update {
        /// Which one.
        named: String,
        /// What the API server said.
        source: ApiError,
    },
    /// It could not be deleted.
    #[error("failed to delete {named}: {}", words(.source))]
    Delete {
        /// Which one.
        named: String,
        /// What the API server said.
        source: ApiError,
    },
}

/// How the target is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It holds what is wanted; which version.
    InPlace(Version),
    /// There is none of ours.
    Absent,
    /// It is somebody else's: who, as a phrase.
    Foreign(String),
    /// It is made anew when it is gone.
    Leaving,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("export", &self.export.name_any()).finish_non_exhaustive()
    }
}

/// Writes targets of one ConfigExport.
pub struct Writer<'a> {
    /// The client to write with.
    pub client: Client,
    /// Where writes are counted.
    pub metrics: Metrics,
    /// The field manager.
    pub manager: &'static str,
    /// For whom.
    pub export: &'a ConfigExport,
}

impl Writer<'_> {
    /// Brings an object into its wanted state; without content, that is not to exist.
    ///
    /// # Errors
    /// Which request failed.
    pub async fn bring(&self, named: &Named, content: Option<&Content>) -> Result<Done, WriteError> {
        match named.class {
            Class::Secret => self.bring_kind::<Secret>(named, content).await,
            // A state is nobody's target.
            Class::ConfigMap | Class::State => self.bring_kind::<ConfigMap>(named, content).await,
        }
    }

    async fn bring_kind<T: Target>(
        &self,
        named: &Named,
        content: Option<&Content>,
    ) -> Result<Done, WriteError> {
        let mut round = 0;
        loop {
            round += 1;
            let observed = match content {
                Some(content) => self.look::<T>(named, content).await,
                None => self.glance::<T>(named).await.map(|observed| (observed, vec![])),
            };
            let (observed, metadata) =
                observed.map_err(|source| WriteError::Read { named: named.to_string(), source })?;
            match self.act::<T>(named, content, decide(content.is_some(), observed), metadata).await {
                Err(error) if round < ROUNDS && error.is_race() => {}
                ended => return ended,
            }
        }
    }

    /// What is in the target's place, and the operations that give it its labels and annotations.
    async fn look<T: Target>(
        &self,
        named: &Named,
        content: &Content,
    ) -> Result<(Observed, Vec<Value>), ApiError> {
        let found = within("read", self.api::<T>(named).get_opt(&named.key.name)).await?;
        Ok(found.map_or((Observed::Absent, vec![]), |object| {
            let metadata = self.labelling().changes(object.meta());
            let is_of_type = object.is_of(self.secret_type());
            // Kubernetes does not change the type of a Secret.
            let immutable = if is_of_type { object.immutable() } else { Some(true) };
            let matches = is_of_type && object.holds(content) && metadata.is_empty();
            (observed(object.meta(), &self.uid(), self.is_recorded(named), matches, immutable), metadata)
        }))
    }

    /// The metadata is enough to delete.
    async fn glance<T: Target>(&self, named: &Named) -> Result<Observed, ApiError> {
        let found: Option<PartialObjectMeta<T>> =
            within("read", self.api::<T>(named).get_metadata_opt(&named.key.name)).await?;
        Ok(found.map_or(Observed::Absent, |object| {
            observed(&object.metadata, &self.uid(), self.is_recorded(named), false, None)
        }))
    }

    async fn act<T: Target>(
        &self,
        named: &Named,
        content: Option<&Content>,
        action: Action,
        metadata: Vec<Value>,
    ) -> Result<Done, WriteError> {
        coverage::note("export action", action.verb());
        tracing::debug!(target = %named, action = action.verb(), "decided");
        match (action, content) {
            (Action::Create, Some(content)) => self.create::<T>(named, content).await,
            (Action::Update(version), Some(content)) => {
                self.update::<T>(named, content, &version, metadata).await
            }
            (Action::Replace(version), Some(content)) => {
                self.delete::<T>(named, version).await?;
                self.create::<T>(named, content).await
            }
            (Action::Delete(version), _) => self.delete::<T>(named, version).await,
            (Action::Keep(version), _) => Ok(Done::InPlace(version)),
            (Action::Refuse(owner), _) => Ok(Done::Foreign(owner)),
            (Action::AwaitDeletion, _) => Ok(Done::Leaving),
            (Action::None | Action::Create | Action::Update(_) | Action::Replace(_), _) => Ok(Done::Absent),
        }
    }

    async fn create<T: Target>(&self, named: &Named, content: &Content) -> Result<Done, WriteError> {
        let object = T::new(self.metadata(named), self.secret_type(), content);
        let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
        let made = within("create", self.api::<T>(named).create(&params, &object)).await;
        let made = made.map_err(|source| WriteError::Create { named: named.to_string(), source })?;
        Ok(in_place(&made))
    }

    async fn update<T: Target>(
        &self,
        named: &Named,
        content: &Content,
        version: &Version,
        metadata: Vec<Value>,
    ) -> Result<Done, WriteError> {
        let mut operations = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": version.uid}),
            json!({"op": "test", "path": "/metadata/resourceVersion", "value": version.resource_version}),
        ];
        operations.extend(T::changes(content));
        operations.extend(metadata);
        let changed =
            json_patch(&self.api::<T>(named), self.manager, &named.key.name, operations.into()).await;
        let changed = changed.map_err(|source| WriteError::Update { named: named.to_string(), source })?;
        Ok(in_place(&changed))
    }

    async fn delete<T: Target>(&self, named: &Named, version: Version) -> Result<Done, WriteError> {
        let Version { uid, resource_version } = version;
        let preconditions = Preconditions { uid: Some(uid), resource_version: Some(resource_version) };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match within("delete", self.api::<T>(named).delete(&named.key.name, &params)).await {
            Ok(_) => Ok(Done::Absent),
            Err(error) if error.is_not_found() => Ok(Done::Absent),
            Err(source) => Err(WriteError::Delete { named: named.to_string(), source }),
        }
    }

    /// Of the very object that is named, wherever it is.
    fn api<T: Target>(&self, named: &Named) -> Api<T> {
        Api::namespaced(self.client.clone(), &named.key.namespace)
    }

    fn secret_type(&self) -> &str {
        self.export.spec.secret_type.as_deref().unwrap_or(OPAQUE)
    }

    /// Whether the status says that the export wrote this object.
    fn is_recorded(&self, named: &Named) -> bool {
        let kind = match named.class {
            Class::ConfigMap => "ConfigMap",
            Class::Secret => "Secret",
            Class::State => return false,
        };
        let target = self.export.status.as_ref().and_then(|status| status.target.as_deref());
        target.and_then(|target| target.split_once('/')) == Some((kind, &*named.key.name))
    }

    fn uid(&self) -> String {
        self.export.uid().unwrap_or_default()
    }

    /// Its owner is the export, so that Kubernetes removes it with the export.
    fn metadata(&self, named: &Named) -> ObjectMeta {
        let owner = OwnerReference {
            api_version: ConfigExport::api_version(&()).into_owned(),
            kind: ConfigExport::kind(&()).into_owned(),
            name: self.export.name_any(),
            uid: self.uid(),
            controller: Some(true),
            block_owner_deletion: None,
        };
        let (mut labels, mut annotations) = self.labelling().of_new();
        labels.insert(MANAGED_BY.to_owned(), self.manager.to_owned());
        annotations.insert(EXPORTED_BY_ANNOTATION.to_owned(), self.uid());
        ObjectMeta {
            name: Some(named.key.name.to_string()),
            namespace: Some(named.key.namespace.to_string()),
            annotations: Some(annotations),
            labels: Some(labels),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        }
    }

    fn labelling(&self) -> Labelling<'_> {
        Labelling::of(&self.export.spec.config_metadata)
    }
}

impl WriteError {
    /// Somebody else was faster: the target is looked at again. What the API server really refuses is refused again then.
    fn is_race(&self) -> bool {
        match self {
            Self::Read { .. } => false,
            Self::Create { source, .. } => source.is_conflict() && !source.is_invalid(),
            Self::Update { source, .. } | Self::Delete { source, .. } => {
                source.is_conflict() || source.is_not_found()
            }
        }
    }
}

fn in_place(object: &impl ResourceExt) -> Done {
    Done::InPlace(Version {
        uid: object.uid().unwrap_or_default(),
        resource_version: object.resource_version().unwrap_or_default(),
    })
}
