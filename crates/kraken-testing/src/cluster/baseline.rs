//! A control plane as it was before a test used it: what a test left behind is removed from etcd, and what it changed or deleted is put
//! back. The API server and the controllers learn it as they learn every change, by their watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{ControlPlane, etcd};
use crate::audit;

/// Everything that Kubernetes stores.
const ALL: (&str, &str) = ("/registry/", "/registry0");
/// What the programs of the control plane write for themselves, and have in memory.
const OF_PROGRAMS: [&str; 6] = [
    "/registry/leases/kube-system/",
    "/registry/masterleases/",
    "/registry/ranges/",
    "/registry/flowschemas/",
    "/registry/prioritylevelconfigurations/",
    "/registry/apiregistration.k8s.io/",
];
/// What the API server builds its handlers from. That they follow an edit at once is not promised, but a kind that was added can be removed.
const KINDS: &str = "/registry/apiextensions.k8s.io/";
const AFTER_KINDS: &str = "/registry/apiextensions.k8s.io0"; // `0` follows `/` in ASCII
/// How long the content must not change to be a baseline. After an installation, controllers combine roles, for example.
const STABLE: Duration = Duration::from_millis(500);
const STABLE_WITHIN: Duration = Duration::from_secs(20);
/// The number of changes of one transaction; etcd accepts 128.
const CHANGES: usize = 100;

/// The keys of etcd, with the revision of the last change of each.
type Revisions = BTreeMap<Vec<u8>, u64>;

/// The content of etcd at some time.
#[derive(Debug)]
pub(super) struct Baseline {
    revisions: Revisions,
    values: BTreeMap<Vec<u8>, ByteString>,
    /// The resources that the API server served: `group/version/plural`.
    resources: BTreeSet<String>,
}

impl ControlPlane {
    /// Notes the content, once it does not change by itself any more, for [`ControlPlane::reset`].
    pub(crate) async fn note_baseline(&self) -> Result<()> {
        let deadline = Instant::now() + STABLE_WITHIN;
        let mut before = self.revisions().await?;
        let revisions = loop {
            tokio::time::sleep(STABLE).await;
            let revisions = self.revisions().await?;
            if revisions == before {
                break revisions;
            }
            if Instant::now() > deadline {
                bail!("the content of etcd still changes: {:?}", difference(&before, &revisions));
            }
            before = revisions;
        };
        let mut values = BTreeMap::new();
        for (start, end) in [(ALL.0, KINDS), (AFTER_KINDS, ALL.1)] {
            let page = etcd::range(&self.etcd_url, start.as_bytes(), end, &[]).await?;
            values.extend(page.kvs.into_iter().map(|pair| (pair.key.0, pair.value)));
        }
        *self.baseline.lock().await =
            Some(Baseline { revisions, values, resources: self.resources().await? });
        Ok(())
    }

    /// Makes the content what it was at [`ControlPlane::note_baseline`].
    ///
    /// # Errors
    /// If a CRD that it had was changed or deleted, or etcd does not respond. It should not be used again then.
    pub(crate) async fn reset(&self) -> Result<()> {
        let mut baseline = self.baseline.lock().await;
        let Some(baseline) = baseline.as_mut() else { bail!("its content was not noted") };
        let changed = difference(&baseline.revisions, &self.revisions().await?);
        let is_kind = |key: &&Vec<u8>| key.starts_with(KINDS.as_bytes());
        if let Some(kind) = changed.iter().filter(is_kind).find(|kind| baseline.revisions.contains_key(*kind))
        {
            bail!("{} was changed", String::from_utf8_lossy(kind));
        }
        let added = changed.iter().any(|key| is_kind(&key));
        for keys in changed.chunks(CHANGES) {
            let changes: Vec<Value> = keys
                .iter()
                .map(|key| match baseline.values.get(key) {
                    Some(value) => json!({"request_put": {"key": ByteString(key.clone()), "value": value}}),
                    None => json!({"request_delete_range": {"key": ByteString(key.clone())}}),
                })
                .collect();
            etcd::call(&self.etcd_url, "txn", &json!({"success": changes})).await?;
        }
        if added {
            self.until_served(&baseline.resources).await?;
            // Its garbage collector would look for them.
            self.restart_controller_manager().await?;
        }
        baseline.revisions = self.revisions().await?;
        if let Some(log) = &self.audit_log {
            self.audited_before.store(audit::lines(log)?, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The resources that the API server serves.
    async fn resources(&self) -> Result<BTreeSet<String>> {
        let groups = self.client().await?.list_api_groups_aggregated().await?;
        let mut all = BTreeSet::new();
        for group in groups.items {
            let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
            for version in group.versions {
                let (resources, version) = (version.resources, version.version.unwrap_or_default());
                all.extend(
                    resources.into_iter().map(|resource| {
                        format!("{name}/{version}/{}", resource.resource.unwrap_or_default())
                    }),
                );
            }
        }
        Ok(all)
    }

    /// Waits until the API server serves these resources and no others.
    async fn until_served(&self, resources: &BTreeSet<String>) -> Result<()> {
        let deadline = Instant::now() + STABLE_WITHIN;
        loop {
            let served = self.resources().await?;
            if served == *resources {
                return Ok(());
            }
            if Instant::now() > deadline {
                let differ: Vec<_> = served.symmetric_difference(resources).collect();
                bail!("other resources than before are served: {differ:?}");
            }
            tokio::time::sleep(STABLE / 5).await;
        }
    }

    /// All keys but those of the control plane's own programs.
    async fn revisions(&self) -> Result<Revisions> {
        let page =
            etcd::range(&self.etcd_url, ALL.0.as_bytes(), ALL.1, &[("keys_only", true.into())]).await?;
        let of_programs = |key: &[u8]| OF_PROGRAMS.iter().any(|prefix| key.starts_with(prefix.as_bytes()));
        let others = page.kvs.into_iter().filter(|pair| !of_programs(&pair.key.0));
        Ok(others.map(|pair| (pair.key.0, pair.mod_revision)).collect())
    }
}

/// The keys that only one of both has, or with another revision.
fn difference(one: &Revisions, other: &Revisions) -> Vec<Vec<u8>> {
    let changed = one.iter().filter(|(key, revision)| other.get(*key) != Some(revision)).map(|(key, _)| key);
    let added = other.keys().filter(|key| !one.contains_key(*key));
    changed.chain(added).cloned().collect()
}
