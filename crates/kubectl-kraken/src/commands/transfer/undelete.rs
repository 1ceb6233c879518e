//! `kubectl kraken undelete`: keeps the object of a resource that is being deleted, and creates the resource again.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kraken_api::names::{owned_name, owner_kind};
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, ObjectMeta, PostParams},
};
use serde_json::Value;

use super::{
    Consent,
    steps::Steps,
    successor::{Record, successor},
};
use crate::{
    cluster::Cluster,
    commands::answer,
    failure::explain,
    print::{Lines, out},
    resource::Resource,
    target,
};

/// The key of the ConfigMap with the successor.
const SUCCESSOR: &str = "successor.json";
/// The key with the record.
const RECORD: &str = "record.json";

pub(in crate::commands) async fn run(
    cluster: &Cluster,
    words: &[String],
    consent: Consent,
) -> Result<ExitCode> {
    let target = target::one(words)?;
    let kind = cluster.kind(&target.kind)?;
    let steps = Steps::of(cluster, kind, "undelete", consent.timeout)?;
    let namespace = &cluster.namespace;
    let owned = owned_name(&owner_kind(&kind.resource.kind, &kind.resource.group), &target.name);
    let journal = Journal {
        cluster,
        api: Api::namespaced(cluster.client.clone(), namespace),
        name: format!(
            "undelete.{}",
            owned.chars().take(240).collect::<String>().trim_end_matches(['.', '-'])
        ),
    };
    let named = format!("{}/{}", steps.kind, target.name);
    let live = steps.live(&target.name).await?.map(|live| kind.typed(live));
    let begun = journal.read().await?;
    let is_created = live.as_ref().is_some_and(|live| Record::read(live).is_some());
    let (record, successor) = match (live, begun) {
        (Some(live), _) if is_created => {
            let Some(record) = Record::read(&live) else { bail!("the record of {named} cannot be read") };
            if record.from != target.name {
                bail!("{named} takes over the object of {}: continue with kubectl kraken mv", record.from);
            }
            (record, None)
        }
        (Some(live), begun) if live.metadata.deletion_timestamp.is_none() => {
            // Only the end of an undelete may be missing.
            if begun.is_some_and(|(record, _)| live.metadata.uid.as_deref() != Some(&record.uid)) {
                journal.remove().await?;
            }
            bail!("{named} in namespace {namespace} is not being deleted");
        }
        (Some(live), Some((record, successor))) if live.metadata.uid.as_deref() == Some(&record.uid) => {
            (record, Some(successor))
        }
        (Some(live), _) => {
            let record = Record::of(&live).with_context(|| format!("{named} cannot be undeleted"))?;
            let successor = successor_of(&live, &record)?;
            steps.try_out(&successor).await?;
            out(&plan(&live, &record, &journal.name))?;
            if !consent.yes {
                let nobody = "nobody answered, nothing was changed: use --yes to do it without a question";
                let line = answer("Continue? [y/N] ", nobody)?;
                if !matches!(line.trim().to_lowercase().as_str(), "y" | "yes") {
                    out("Nothing was changed.\n")?;
                    return Ok(ExitCode::FAILURE);
                }
            }
            journal.write(&record, &successor).await?;
            (record, Some(successor))
        }
        (None, Some((record, successor))) => (record, Some(successor)),
        (None, None) => {
            bail!(
                "{named} does not exist in namespace {namespace}, and no undelete of it was begun: apply its file"
            )
        }
    };
    // Without a successor to create, it exists.
    if let Some(successor) = successor {
        steps.release(&record).await?;
        steps.gone(&record).await?;
        steps.create(&successor).await?;
    }
    let is_complete = steps.complete(&target.name, &record).await?;
    if is_complete {
        journal.remove().await?;
        out(&format!("{named} manages {} again.\n", record.id))?;
    }
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn successor_of(live: &DynamicObject, record: &Record) -> Result<Value> {
    successor(live, &record.from, record)
}

/// What will be done.
fn plan(live: &DynamicObject, record: &Record, journal: &str) -> String {
    let Record { from, id, .. } = record;
    let mut text = Lines::default();
    if let Some(resource) = Resource::of(live.clone()) {
        text.line(format!("{} is being deleted ({}: {})", resource.node, resource.reason, resource.message));
        let adopted = resource.status.adopted.contains(id);
        let as_before = if adopted { "adopted" } else { "created by Kraken" };
        text.line(format!("  1. {id} is kept: lifecycle.deletion becomes Retain, and {from} is released"));
        text.line(format!(
            "  2. {from} is created with the same spec, and takes {id} back; it still counts as {as_before}"
        ));
        text.line("  3. its lifecycle becomes what it was");
        text.line(format!(
            "ConfigMap {journal} has the resource meanwhile. After an interruption, run the command again."
        ));
    }
    text.finish()
}

/// The ConfigMap with the resource, from before it is released until its successor is complete.
struct Journal<'a> {
    cluster: &'a Cluster,
    api: Api<ConfigMap>,
    name: String,
}

impl Journal<'_> {
    async fn read(&self) -> Result<Option<(Record, Value)>> {
        let found = self.api.get_opt(&self.name).await.map_err(|error| self.explained(error, "get"))?;
        let Some(data) = found.and_then(|map| map.data) else { return Ok(None) };
        let text = |key: &str| data.get(key).map_or("", String::as_str);
        let record = serde_json::from_str(text(RECORD));
        let successor = serde_json::from_str(text(SUCCESSOR));
        let broken =
            || format!("ConfigMap {} is no record of an undelete: delete it, or use another name", self.name);
        Ok(Some((record.with_context(broken)?, successor.with_context(broken)?)))
    }

    /// Replaces one of an earlier deletion.
    async fn write(&self, record: &Record, successor: &Value) -> Result<()> {
        self.remove().await?;
        let data = [(RECORD, serde_json::to_string(record)?), (SUCCESSOR, successor.to_string())];
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                labels: Some(
                    [("app.kubernetes.io/managed-by".to_owned(), "kubectl-kraken".to_owned())].into(),
                ),
                ..ObjectMeta::default()
            },
            data: Some(data.map(|(key, text)| (key.to_owned(), text)).into()),
            ..ConfigMap::default()
        };
        let created = self.api.create(&PostParams::default(), &map).await;
        created.map(drop).map_err(|error| self.explained(error, "create"))
    }

    async fn remove(&self) -> Result<()> {
        match self.api.delete(&self.name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(self.explained(error, "delete")),
        }
    }

    fn explained(&self, error: kube::Error, verb: &str) -> anyhow::Error {
        explain(error, &format!("{verb} ConfigMap {}", self.name), &self.cluster.server)
    }
}
