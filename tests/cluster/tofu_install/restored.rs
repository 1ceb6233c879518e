//! Backups in Velero's form: what is restored has another UID, and the objects of the provider still exist.

use anyhow::{Context as _, Result};
use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kraken_kind::api::FINALIZER;
use kraken_tofu::journal::SECRET_TYPE;
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::{DynamicObject, ObjectMeta},
};
use serde_json::{Value, json};

use super::{
    KIND,
    host::{Hosted, hosted},
};

/// What a backup keeps of metadata.
fn saved(meta: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        name: meta.name.clone(),
        labels: meta.labels.clone(),
        annotations: meta.annotations.clone(),
        ..ObjectMeta::default()
    }
}

struct Backup {
    resource: DynamicObject,
    status: Value,
    journal: Secret,
}

impl Backup {
    /// Saves a resource and its journal, while the controller is down, and loses both.
    async fn of_lost(h: &Hosted, name: &str) -> Result<Self> {
        let secrets: Api<Secret> = Api::namespaced(h.s.client(), &h.s.test_env.ns.name);
        let all = secrets.list(&ListParams::default()).await?.items;
        let is_it = |secret: &&Secret| {
            let is_owner = |owner: &OwnerReference| owner.name == name;
            secret.type_.as_deref() == Some(SECRET_TYPE) && secret.owner_references().iter().any(is_owner)
        };
        let journal = all.iter().find(is_it).context("there is no journal")?.clone();
        let resources = h.s.test_env.api(KIND);
        let resource = resources.get(name).await?;
        let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        resources.patch(name, &PatchParams::default(), &release).await?;
        secrets.patch(&journal.name_any(), &PatchParams::default(), &release).await?;
        resources.delete(name, &DeleteParams::default()).await?;
        secrets.delete(&journal.name_any(), &DeleteParams::default()).await?;
        let mut resource = DynamicObject { metadata: saved(&resource.metadata), ..resource };
        let status = resource.data["status"].take();
        Ok(Self { resource, status, journal: Secret { metadata: saved(&journal.metadata), ..journal } })
    }
}

#[tokio::test]
async fn restored_resources_take_over_their_objects_and_make_no_second_ones() -> Result<()> {
    let h = hosted().await?;
    let secrets: Api<Secret> = Api::namespaced(h.s.client(), &h.s.test_env.ns.name);
    let resources = h.s.test_env.api(KIND);
    for name in ["with", "without"] {
        h.s.apply(name, &json!({"name": {"value": name}})).await?;
        h.s.test_env.ready(KIND, name).await?;
    }
    let objects = h.s.objects();
    let id = resources.get("with").await?.data["status"]["externalIds"].clone();

    h.kill_controller().await?;
    let with = Backup::of_lost(&h, "with").await?;
    let without = Backup::of_lost(&h, "without").await?;
    secrets.create(&PostParams::default(), &with.journal).await?;
    resources.create(&PostParams::default(), &with.resource).await?;
    // Its Secrets are not in the backup, and its status is.
    resources.create(&PostParams::default(), &without.resource).await?;
    let status = Patch::Merge(json!({"status": without.status}));
    resources.patch_status("without", &PatchParams::default(), &status).await?;
    h.start_controller().await?;

    h.s.test_env.ready(KIND, "with").await?;
    let restored = resources.get("with").await?;
    assert_eq!(restored.data["status"]["externalIds"], id);
    let journal = secrets.get(&with.journal.name_any()).await?;
    assert_eq!(journal.owner_references()[0].uid, restored.uid().context("it has no UID")?);
    let message = h.s.test_env.not_ready(KIND, "without", "CreationUnknown").await?;
    assert!(message.contains(&without.journal.name_any()), "{message}");
    assert_eq!(h.s.objects(), objects);

    // As the message says: the Secret is restored, too.
    secrets.create(&PostParams::default(), &without.journal).await?;
    h.s.test_env.ready(KIND, "without").await?;
    assert_eq!(h.s.objects(), objects);

    // YAML that was saved with its finalizers, and is applied again after a complete deletion, is a new resource.
    h.s.test_env.delete(KIND, "with").await?;
    h.s.test_env.gone(KIND, "with").await?;
    let mut again = with.resource.clone();
    again.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    resources.create(&PostParams::default(), &again).await?;
    h.s.test_env.ready(KIND, "with").await?;
    assert_eq!(h.s.objects().len(), objects.len());
    h.end(&["with", "without"], 0).await
}
