//! `kubectl kraken import`: YAML that adopts what exists in the cloud.
//!
//! [`ask`] puts the question to the controllers, which have the credentials. The rest is pure: [`set`] names the objects, [`references`]
//! turns ids into references, [`yaml`] writes, and [`mod@report`] says what is not written.

mod ask;
mod names;
mod references;
mod report;
mod selection;
mod set;
mod yaml;

use std::{collections::BTreeSet, process::ExitCode, time::Duration};

use anyhow::{Result, bail};
use kube::ResourceExt as _;

pub(crate) use selection::Selection;

use self::{report::report, set::Set};
use crate::{cluster::Cluster, discovery::Kind, print::out};

/// Runs the command. The YAML is on standard output, everything else on standard error.
pub(super) async fn run(cluster: &Cluster, selection: &Selection) -> Result<ExitCode> {
    if cluster.scope.is_none() {
        bail!("an import is for one namespace: use -n instead of -A");
    }
    let kinds: Vec<&Kind> = cluster.kinds.users().filter(|kind| kind.is_importable).collect();
    if kinds.is_empty() {
        bail!("the controllers of this cluster are older than import: install this version of them first");
    }
    let timeout = Duration::from_secs(selection.timeout);
    let (answers, taken) =
        futures::try_join!(ask::ask(cluster, &kinds, selection, timeout), taken(cluster, &kinds))?;
    let set = Set::of(answers, &taken, |kind| is_ambiguous(cluster, kind));
    if !set.items.is_empty() {
        out(&yaml::documents(&set, selection))?;
    }
    let namespace = cluster.is_chosen.then_some(cluster.namespace.as_str());
    eprint!("{}", report(&set, selection, namespace));
    Ok(ExitCode::from(u8::from(!set.problems.is_empty())))
}

/// The names that exist in the namespace: another object must not get one of them, because applying it would edit that resource.
async fn taken(cluster: &Cluster, kinds: &[&Kind]) -> Result<BTreeSet<(String, String)>> {
    let listed = cluster.list(kinds).await?;
    if !listed.forbidden.is_empty() {
        bail!(
            "you may not list {}: ask for the ClusterRole edit in the namespace",
            listed.forbidden.join(", ")
        );
    }
    let name = |object: &kube::api::DynamicObject| {
        (object.types.as_ref().map(|types| types.kind.clone()).unwrap_or_default(), object.name_any())
    };
    Ok(listed.objects.iter().map(name).collect())
}

/// Whether several groups have a kind of this name, so that a reference must say which.
fn is_ambiguous(cluster: &Cluster, kind: &str) -> bool {
    cluster.kinds.of_reference(kind).count() > 1
}
