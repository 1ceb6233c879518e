//! Orphans: remote objects with this cluster's tags that no resource owns.
//!
//! The provider is listed first and the cluster second, so that an object created in between is not treated as an
//! orphan. Orphans are reported; they are deleted only if that is enabled, only if two consecutive sweeps found them,
//! and only a few at a time.

use std::collections::BTreeMap;

use kraken_runtime::hash::HashSet;

use kraken_runtime::{Manager, patch::within, watch::RawObject};
use kube::{Api, ResourceExt, api::ListParams};
use tracing::{info, warn};

use crate::{
    Identity,
    args::OrphanArgs,
    dynamic::{DynExternal, DynKind, Observed},
    model::ids::listed,
};

/// Sweeps until shutdown; called only on the leader.
pub(crate) async fn run(manager: Manager, args: OrphanArgs, of: &dyn DynKind, external: &dyn DynExternal) {
    let kind = of.info().name;
    if args.orphan_interval.is_zero() {
        return;
    }
    let mut before = HashSet::default();
    while manager.shutdown.run_until_cancelled(tokio::time::sleep(args.orphan_interval)).await.is_some() {
        match sweep(&manager, &args, of, external, &before).await {
            Ok(found) => before = found,
            Err(error) => warn!(kind, error, "the orphan sweep failed; retrying at the next sweep"),
        }
    }
}

/// One sweep; returns the UIDs whose remote objects are orphans.
async fn sweep(
    manager: &Manager,
    args: &OrphanArgs,
    of: &dyn DynKind,
    external: &dyn DynExternal,
    before: &HashSet<String>,
) -> Result<HashSet<String>, String> {
    let kind = of.info().name;
    let in_the_cloud = external.survey(&manager.cluster_id).await.map_err(|failure| failure.to_string())?;
    let api: Api<RawObject> = Api::all_with(manager.client.clone(), &of.info().resource);
    // All namespaces, regardless of what this process watches: an object that another process manages is not an orphan.
    let listed_objects = within("list the resources", api.list_metadata(&ListParams::default())).await;
    let objects = listed_objects.map_err(|error| error.to_string())?;
    let owners: HashSet<String> = objects.items.iter().filter_map(ResourceExt::uid).collect();

    let orphans = orphans(of, in_the_cloud, &owners);
    manager.metrics.orphans(kind, orphans.len());
    let mut removed = 0;
    for (uid, (identity, observed)) in &orphans {
        let ids = listed(&of.ids(observed));
        if !args.remove_orphans || !before.contains(uid) || removed >= args.orphan_limit {
            warn!(
                kind,
                owner = identity.owner,
                ids,
                "orphans: remote objects with this cluster's tags that no resource owns"
            );
            continue;
        }
        removed += 1;
        match external.delete(identity, observed).await {
            Ok(()) => info!(kind, owner = identity.owner, ids, "deleted orphans"),
            Err(failure) => warn!(kind, owner = identity.owner, ids, %failure, "failed to delete orphans"),
        }
    }
    Ok(orphans.into_keys().collect())
}

/// Objects that are not being deleted and are owned by a UID that the cluster does not have.
fn orphans(
    of: &dyn DynKind,
    in_the_cloud: Vec<(Identity, Observed)>,
    owners: &HashSet<String>,
) -> BTreeMap<String, (Identity, Observed)> {
    in_the_cloud
        .into_iter()
        .filter(|(identity, observed)| !owners.contains(&identity.uid) && !of.ids(observed).is_empty())
        .map(|(identity, observed)| (identity.uid.clone(), (identity, observed)))
        .collect()
}
