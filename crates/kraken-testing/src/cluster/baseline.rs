//! A control plane as it was before a test used it: what a test left behind is removed from etcd, and what it changed or deleted is put
//! back. The API server and the controllers learn it as they learn every change, by their watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use k8s_openapi::ByteString;
use kube::Client;

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
/// What each control plane has of its own: a start writes it, and what identifies a cluster differs between two of them.
const OF_CLUSTER: [&str; 2] = ["/registry/namespaces/kube-system", "/registry/configmaps/kube-system/"];

/// The keys of etcd, with the revision of the last change of each.
type Revisions = BTreeMap<Vec<u8>, u64>;

/// What is installed on a control plane, with which others start: the API server then reads all kinds at once, and does not build its
/// documents again after each.
#[derive(Debug)]
pub(crate) struct Seed {
    values: Vec<(Vec<u8>, ByteString)>,
    resources: BTreeSet<String>,
}

impl Seed {
    /// Writes it to an etcd without content.
    pub(super) async fn write(&self, etcd_url: &str) -> Result<()> {
        etcd::change(etcd_url, self.values.iter().map(|(key, value)| (key, Some(value)))).await
    }

    /// Waits until the API server serves all of its kinds.
    pub(super) async fn until_served(&self, client: &Client) -> Result<()> {
        until_served(client, &self.resources).await
    }
}

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
        let resources = resources(&self.client().await?).await?;
        *self.baseline.lock().await = Some(Baseline { revisions, values, resources });
        Ok(())
    }

    /// What others can start with to be as this one at [`ControlPlane::note_baseline`].
    pub(crate) async fn seed(&self) -> Result<Seed> {
        let kinds = etcd::range(&self.etcd_url, KINDS.as_bytes(), AFTER_KINDS, &[]).await?;
        let kinds = kinds.kvs.into_iter().map(|pair| (pair.key.0, pair.value));
        let baseline = self.baseline.lock().await;
        let Some(baseline) = baseline.as_ref() else { bail!("its content was not noted") };
        let others = baseline.values.iter().map(|(key, value)| (key.clone(), value.clone()));
        let is_own = |key: &[u8]| is_below(key, &OF_PROGRAMS) || is_below(key, &OF_CLUSTER);
        let values = kinds.chain(others).filter(|(key, _)| !is_own(key)).collect();
        Ok(Seed { values, resources: baseline.resources.clone() })
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
        etcd::change(&self.etcd_url, changed.iter().map(|key| (key, baseline.values.get(key)))).await?;
        if added {
            until_served(&self.client().await?, &baseline.resources).await?;
            // Its garbage collector would look for them.
            self.restart_controller_manager().await?;
        }
        baseline.revisions = self.revisions().await?;
        if let Some(log) = &self.audit_log {
            self.audited_before.store(audit::lines(log)?, Ordering::Relaxed);
        }
        Ok(())
    }

    /// All keys but those of the control plane's own programs.
    async fn revisions(&self) -> Result<Revisions> {
        let page =
            etcd::range(&self.etcd_url, ALL.0.as_bytes(), ALL.1, &[("keys_only", true.into())]).await?;
        let others = page.kvs.into_iter().filter(|pair| !is_below(&pair.key.0, &OF_PROGRAMS));
        Ok(others.map(|pair| (pair.key.0, pair.mod_revision)).collect())
    }
}

/// The keys that only one of both has, or with another revision.
fn difference(one: &Revisions, other: &Revisions) -> Vec<Vec<u8>> {
    let changed = one.iter().filter(|(key, revision)| other.get(*key) != Some(revision)).map(|(key, _)| key);
    let added = other.keys().filter(|key| !one.contains_key(*key));
    changed.chain(added).cloned().collect()
}

fn is_below(key: &[u8], prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| key.starts_with(prefix.as_bytes()))
}

/// The resources that the API server serves: `group/version/plural`.
async fn resources(client: &Client) -> Result<BTreeSet<String>> {
    let groups = client.list_api_groups_aggregated().await?;
    let mut all = BTreeSet::new();
    for group in groups.items {
        let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
        for version in group.versions {
            let (resources, version) = (version.resources, version.version.unwrap_or_default());
            all.extend(
                resources
                    .into_iter()
                    .map(|resource| format!("{name}/{version}/{}", resource.resource.unwrap_or_default())),
            );
        }
    }
    Ok(all)
}

/// Waits until the API server serves these resources and no others.
async fn until_served(client: &Client, wanted: &BTreeSet<String>) -> Result<()> {
    let deadline = Instant::now() + STABLE_WITHIN;
    loop {
        let served = resources(client).await?;
        if served == *wanted {
            return Ok(());
        }
        if Instant::now() > deadline {
            let differ: Vec<_> = served.symmetric_difference(wanted).collect();
            bail!("other resources than before are served: {differ:?}");
        }
        tokio::time::sleep(STABLE / 5).await;
    }
}
