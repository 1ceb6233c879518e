//! `kubectl kraken reconcile`, `pause` and `resume`: one patch for each resource, as the documentation describes it.

use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp;
use kraken_api::RECONCILE_REQUESTED_ANNOTATION;
use kube::api::{Patch, PatchParams, ValidationDirective};
use serde_json::{Value, json};

use crate::{
    cluster::Cluster,
    failure::explain,
    print::{clean, out},
    target,
};

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Reconcile,
    Pause,
    Resume,
}

impl Change {
    fn patch(self, now: Timestamp) -> Value {
        match self {
            Self::Reconcile => {
                json!({"metadata": {"annotations": {RECONCILE_REQUESTED_ANNOTATION: now.to_string()}}})
            }
            Self::Pause => json!({"spec": {"lifecycle": {"paused": true}}}),
            Self::Resume => json!({"spec": {"lifecycle": {"paused": false}}}),
        }
    }

    /// The past participle, as kubectl prints it.
    fn done(self) -> &'static str {
        match self {
            Self::Reconcile => "reconcile requested",
            Self::Pause => "paused",
            Self::Resume => "resumed",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Reconcile => "request a reconcile of",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

pub(super) async fn run(cluster: &Cluster, words: &[String], change: Change) -> Result<ExitCode> {
    // All of them are checked before the first is changed.
    let targets = target::parse(words)?;
    let mut found = vec![];
    for target in &targets {
        found.push((cluster.get(target).await?.0, target));
    }
    let params = PatchParams {
        // A kind without a lifecycle is an error and not ignored.
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    };
    for (kind, target) in found {
        let named = format!("{}/{}", kind.resource.kind, target.name);
        let patch = Patch::Merge(change.patch(Timestamp::now()));
        let changed = cluster.api(kind, Some(&cluster.namespace)).patch(&target.name, &params, &patch).await;
        let doing = format!("{} {named} in namespace {}", change.verb(), cluster.namespace);
        changed.map_err(|error| explain(error, &doing, &cluster.server))?;
        out(&format!("{} {}\n", clean(&named), change.done()))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_changes_only_what_the_documentation_names() {
        let now = Timestamp::from_second(0).unwrap();
        let annotation =
            &Change::Reconcile.patch(now)["metadata"]["annotations"][RECONCILE_REQUESTED_ANNOTATION];
        assert_eq!(*annotation, "1970-01-01T00:00:00Z");
        assert_eq!(Change::Pause.patch(now), json!({"spec": {"lifecycle": {"paused": true}}}));
        assert_eq!(Change::Resume.patch(now), json!({"spec": {"lifecycle": {"paused": false}}}));
    }
}
