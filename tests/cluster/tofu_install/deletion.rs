//! Deletions that delete all Secrets at once, and with them the journals, while the objects still exist.

use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kraken_tofu::journal::{JOURNAL_FINALIZER, SECRET_TYPE};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PropagationPolicy},
};
use serde_json::json;
use tokio::time::sleep;

use super::{KIND, host::hosted};

/// The time in which Kubernetes deletes what it would delete.
const COLLECTED: Duration = Duration::from_secs(3);

#[tokio::test]
async fn journals_outlive_a_deletion_of_dependents_first_and_of_the_namespace() -> Result<()> {
    let h = hosted().await?;
    let namespace = h.s.test_env.ns.name.clone();
    let secrets: Api<Secret> = Api::namespaced(h.s.client(), &namespace);
    let journals = async || -> Result<Vec<Secret>> {
        let all = secrets.list(&ListParams::default()).await?.items;
        Ok(all.into_iter().filter(|secret| secret.type_.as_deref() == Some(SECRET_TYPE)).collect())
    };
    h.s.apply("a", &json!({"name": {"value": "a"}})).await?;
    h.s.apply("b", &json!({"name": {"value": "b"}})).await?;
    h.s.test_env.ready(KIND, "a").await?;
    h.s.test_env.ready(KIND, "b").await?;
    assert_eq!((journals().await?.len(), h.s.objects().len()), (2, 2));

    // As Argo CD prunes.
    h.kill_controller().await?;
    let first =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Foreground), ..DeleteParams::default() };
    h.s.test_env.api(KIND).delete("a", &first).await?;
    // The garbage collector gets to know a new kind within half a minute.
    let mut all = journals().await?;
    for _ in 0..900 {
        if all.len() < 2 || all.iter().any(|secret| secret.metadata.deletion_timestamp.is_some()) {
            break;
        }
        sleep(Duration::from_millis(100)).await;
        all = journals().await?;
    }
    h.start_controller().await?;
    assert_eq!(all.len(), 2, "it is needed to delete the object");
    assert!(all.iter().any(|secret| secret.metadata.deletion_timestamp.is_some()), "it was to be deleted");
    h.s.test_env.gone(KIND, "a").await?;
    assert_eq!((journals().await?.len(), h.s.objects().len()), (1, 1));

    h.kill_controller().await?;
    let namespaces: Api<Namespace> = Api::all(h.s.client());
    namespaces.delete(&namespace, &DeleteParams::default()).await?;
    sleep(COLLECTED).await;
    let left = (journals().await?.len(), h.s.objects().len());
    h.start_controller().await?;
    assert_eq!(left, (1, 1));
    for _ in 0..600 {
        if namespaces.get_opt(&namespace).await?.is_none() {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    assert!(
        namespaces.get_opt(&namespace).await?.is_none(),
        "{:?}",
        namespaces.get(&namespace).await?.status
    );
    assert_eq!(h.s.objects().len(), 0);
    h.s.uninstall().await?;
    h.s.uninstalled().await
}

#[tokio::test]
async fn a_journal_of_a_resource_whose_finalizer_was_removed_is_not_kept() -> Result<()> {
    let h = hosted().await?;
    let secrets: Api<Secret> = Api::namespaced(h.s.client(), &h.s.test_env.ns.name);
    h.s.apply("c", &json!({"name": {"value": "c"}})).await?;
    h.s.test_env.ready(KIND, "c").await?;
    let journals = async || -> Result<usize> {
        let all = secrets.list(&ListParams::default()).await?.items;
        let is_held = |secret: &&Secret| {
            secret.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == JOURNAL_FINALIZER)
        };
        Ok(all.iter().filter(is_held).count())
    };
    assert_eq!(journals().await?, 1);
    // So that the controller does not delete the object.
    h.s.test_env.patch(KIND, "c", json!({"spec": {"lifecycle": {"paused": true}}})).await?;
    h.s.test_env.delete(KIND, "c").await?;
    h.s.test_env.patch(KIND, "c", json!({"metadata": {"finalizers": null}})).await?;
    h.s.test_env.gone(KIND, "c").await?;
    for _ in 0..300 {
        if journals().await? == 0 {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!((journals().await?, h.s.objects().len()), (0, 1));
    h.s.uninstall().await?;
    h.s.uninstalled().await
}

#[tokio::test]
async fn a_finalizer_of_others_stays_on_a_journal() -> Result<()> {
    const OTHER: &str = "example.com/backup";
    let h = hosted().await?;
    let secrets: Api<Secret> = Api::namespaced(h.s.client(), &h.s.test_env.ns.name);
    h.s.apply("d", &json!({"name": {"value": "d"}})).await?;
    h.s.test_env.ready(KIND, "d").await?;
    let journal = async || -> Result<Secret> {
        let all = secrets.list(&ListParams::default()).await?.items;
        all.into_iter()
            .find(|secret| secret.type_.as_deref() == Some(SECRET_TYPE))
            .context("there is no journal")
    };
    let set = async |finalizers: &[&str]| -> Result<()> {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
        secrets.patch(&journal().await?.name_any(), &PatchParams::default(), &patch).await?;
        Ok(())
    };
    set(&[OTHER, JOURNAL_FINALIZER]).await?;
    h.s.test_env.patch(KIND, "d", json!({"spec": {"size": {"value": 7}}})).await?;
    h.s.test_env.ready(KIND, "d").await?;
    assert_eq!(journal().await?.finalizers(), [OTHER, JOURNAL_FINALIZER]);
    h.s.test_env.delete(KIND, "d").await?;
    h.s.test_env.gone(KIND, "d").await?;
    assert_eq!((journal().await?.finalizers(), h.s.objects().len()), (&[OTHER.to_owned()][..], 0));
    set(&[]).await?;
    h.s.uninstall().await?;
    h.s.uninstalled().await
}
