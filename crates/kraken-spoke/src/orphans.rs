//! Orphans: things in the cloud that carry this cluster's tags and that no resource owns.
//!
//! The cloud is listed first and the cluster second, so that what is created meanwhile is not taken for an orphan. They
//! are reported; they are removed only when that is switched on, only if two sweeps in a row saw them, and only a few at a time.

use std::{collections::BTreeMap, time::Duration};

use kraken_runtime::hash::HashSet;

use kraken_runtime::{Shell, patch::within, watch::RawObject};
use kube::{
    Api, ResourceExt,
    api::ListParams,
};
use tracing::{info, warn};

use crate::{
    Identity,
    args::duration,
    dynamic::{DynExternal, DynKind, Observed},
    outcome::listed,
};

/// Flags of the orphan sweep.
#[derive(Clone, Debug, clap::Args)]
pub struct OrphanArgs {
    /// How often things that no resource owns are looked for; 0 turns it off
    #[arg(long, env = "KRAKEN_ORPHAN_INTERVAL", value_name = "DURATION", default_value = "1h", value_parser = duration)]
    pub orphan_interval: Duration,

    /// Remove what two sweeps in a row found, instead of only reporting it
    #[arg(long, env = "KRAKEN_REMOVE_ORPHANS", default_value_t = false, action = clap::ArgAction::Set,
          num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub remove_orphans: bool,

    /// How many resources' orphans one sweep may remove at most
    #[arg(long, env = "KRAKEN_ORPHAN_LIMIT", value_name = "NUMBER", default_value_t = 10)]
    pub orphan_limit: usize,
}

impl Default for OrphanArgs {
    /// The defaults of the flags, whatever the environment says.
    fn default() -> Self {
        Self { orphan_interval: Duration::from_hours(1), remove_orphans: false, orphan_limit: 10 }
    }
}

/// Sweeps until shutdown; only the leader comes here.
pub(crate) async fn run(shell: Shell, args: OrphanArgs, of: &dyn DynKind, external: &dyn DynExternal) {
    let kind = of.info().name;
    if args.orphan_interval.is_zero() {
        return;
    }
    let mut before = HashSet::default();
    while shell.shutdown.run_until_cancelled(tokio::time::sleep(args.orphan_interval)).await.is_some() {
        match sweep(&shell, &args, of, external, &before).await {
            Ok(found) => before = found,
            Err(error) => warn!(kind, error, "the sweep for orphans failed; the next one tries again"),
        }
    }
}

/// One sweep; returns the UIDs whose things are orphans.
async fn sweep(
    shell: &Shell,
    args: &OrphanArgs,
    of: &dyn DynKind,
    external: &dyn DynExternal,
    before: &HashSet<String>,
) -> Result<HashSet<String>, String> {
    let kind = of.info().name;
    let in_the_cloud = external.survey(&shell.cluster_id).await.map_err(|failure| failure.to_string())?;
    let api: Api<RawObject> = Api::all_with(shell.client.clone(), &of.info().resource);
    // All namespaces, whatever this process watches: what another one manages is no orphan.
    let listed_objects = within("list the resources", api.list_metadata(&ListParams::default())).await;
    let objects = listed_objects.map_err(|error| error.to_string())?;
    let owners: HashSet<String> = objects.items.iter().filter_map(ResourceExt::uid).collect();

    let orphans = orphans(of, in_the_cloud, &owners);
    shell.metrics.orphans(kind, orphans.len());
    let mut removed = 0;
    for (uid, (identity, observed)) in &orphans {
        let ids = listed(&of.ids(observed));
        if !args.remove_orphans || !before.contains(uid) || removed >= args.orphan_limit {
            warn!(
                kind,
                owner = identity.owner,
                ids,
                "orphan: these carry our tags and no resource owns them"
            );
            continue;
        }
        removed += 1;
        match external.delete(identity, observed).await {
            Ok(()) => info!(kind, owner = identity.owner, ids, "removed an orphan"),
            Err(failure) => warn!(kind, owner = identity.owner, ids, %failure, "failed to remove an orphan"),
        }
    }
    Ok(orphans.into_keys().collect())
}

/// What is not on its way out and belongs to a UID that the cluster does not have.
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
