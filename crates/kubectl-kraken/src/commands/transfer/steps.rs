//! The steps of a transfer, each of which can be repeated. Client required.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use kraken_api::RECONCILE_REQUESTED_ANNOTATION;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::successor::{Record, completed};
use crate::{
    cluster::Cluster,
    discovery::Kind,
    failure::explain,
    graph::Node,
    print::{clean, out},
    resource::{Ready, Resource},
};

/// The name under which fields are written.
const MANAGER: &str = "kubectl-kraken";
/// How often the state is read.
const EVERY: Duration = Duration::from_millis(500);
/// The reason of a successor whose object has another owner.
const REFUSED: &str = "AdoptionRefused";
/// How long an adoption may be refused: longer than the visibility window of a controller (90 s), in which it remembers who adopted
/// the object before.
const PATIENCE: Duration = Duration::from_secs(150);

/// The resources of one kind in the namespace, and how long to wait for their controller.
pub(super) struct Steps<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) api: Api<DynamicObject>,
    pub(super) kind: String,
    pub(super) limit: Duration,
}

impl<'a> Steps<'a> {
    /// Those of this kind, in the one namespace that `command` requires.
    pub(super) fn of(cluster: &'a Cluster, kind: &Kind, command: &str, timeout: u64) -> Result<Self> {
        let Some(namespace) = &cluster.scope else {
            bail!("{command} requires one namespace: use -n instead of -A")
        };
        Ok(Self {
            cluster,
            api: cluster.api(kind, Some(namespace)),
            kind: kind.resource.kind.clone(),
            limit: Duration::from_secs(timeout),
        })
    }

    pub(super) async fn live(&self, name: &str) -> Result<Option<DynamicObject>> {
        let live = self.api.get_opt(name).await;
        let doing = format!("get {}/{name} in namespace {}", self.kind, self.cluster.namespace);
        live.map_err(|error| explain(error, &doing, &self.cluster.server))
    }

    /// Whether the API server would accept the successor.
    pub(super) async fn try_out(&self, successor: &Value) -> Result<()> {
        self.post(successor, true).await.map(drop)
    }

    /// Creates the successor. If it exists, it must be that of the same transfer.
    pub(super) async fn create(&self, successor: &Value) -> Result<()> {
        self.post(successor, false).await.map(drop)
    }

    async fn post(&self, successor: &Value, dry_run: bool) -> Result<DynamicObject> {
        let mut object: DynamicObject = serde_json::from_value(successor.clone())?;
        let name = object.metadata.name.clone().unwrap_or_default();
        let named = format!("{}/{name}", self.kind);
        if dry_run {
            // The former resource may still have the name.
            object.metadata.name = None;
            object.metadata.generate_name = Some("transfer-".to_owned());
        }
        let params = PostParams { dry_run, field_manager: Some(MANAGER.to_owned()) };
        match self.api.create(&params, &object).await {
            Ok(created) => Ok(created),
            Err(kube::Error::Api(status)) if status.code == 409 && !dry_run => {
                let wanted = Record::read(&object);
                let other = self.live(&name).await?.filter(|other| Record::read(other) == wanted);
                other.ok_or_else(|| {
                    anyhow!("{named} was created by somebody else meanwhile, and is left as it is")
                })
            }
            Err(kube::Error::Api(status)) if status.message.contains("being terminated") => bail!(
                "namespace {} is being deleted, so that nothing can be created in it: to keep the remote object, set \
                 lifecycle.deletion of {named} to Retain",
                self.cluster.namespace
            ),
            Err(error) => Err(explain(error, &format!("create {named}"), &self.cluster.server)),
        }
    }

    /// Makes the deletion of the former resource leave its object in the cloud. Nothing if it is gone.
    pub(super) async fn release(&self, record: &Record) -> Result<()> {
        // What holds back a deletion is taken off. The UID is a precondition.
        let patch = json!({"metadata": {"uid": record.uid},
            "spec": {"lifecycle": {"deletion": "Retain", "protect": false, "paused": false}}});
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let patched = self.api.patch(&record.from, &params, &Patch::Merge(patch)).await;
        let named = format!("{}/{}", self.kind, record.from);
        match patched {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            // Another UID is a conflict, or an edit of an immutable field.
            Err(kube::Error::Api(status))
                if status.code == 409 || status.message.contains("metadata.uid") =>
            {
                bail!("{named} was created again meanwhile: look at it first (kubectl describe)")
            }
            Err(error) => Err(explain(error, &format!("patch {named}"), &self.cluster.server)),
        }
    }

    /// Deletes the former resource, unless it is another one by now.
    pub(super) async fn delete(&self, record: &Record) -> Result<()> {
        let preconditions = Preconditions { uid: Some(record.uid.clone()), resource_version: None };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let named = format!("{}/{}", self.kind, record.from);
        match self.api.delete(&record.from, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(explain(error, &format!("delete {named}"), &self.cluster.server)),
        }
    }

    /// Waits until the former resource is gone, and prints what it waits for.
    pub(super) async fn gone(&self, record: &Record) -> Result<()> {
        let started = Instant::now();
        let mut printed = String::new();
        loop {
            let live = self.live(&record.from).await?;
            let former = live.filter(|live| live.metadata.uid.as_deref() == Some(&record.uid));
            let Some(resource) = former.and_then(|former| self.resource(former)) else { return Ok(()) };
            self.say(&resource, &mut printed)?;
            if started.elapsed() >= self.limit {
                bail!(
                    "{}/{} is not gone after {} s ({}); run the command again to continue",
                    self.kind,
                    record.from,
                    self.limit.as_secs(),
                    clean(&resource.message)
                );
            }
            sleep(EVERY).await;
        }
    }

    /// Waits until the successor manages the object, and completes it. `false` if a person must act first.
    pub(super) async fn complete(&self, name: &str, record: &Record) -> Result<bool> {
        let started = Instant::now();
        let (mut printed, mut refused_since, mut is_requested) = (String::new(), None, false);
        loop {
            let Some(live) = self.live(name).await? else {
                bail!(
                    "{}/{name} was deleted meanwhile; {} is in the cloud without a resource",
                    self.kind,
                    record.id
                );
            };
            if Record::read(&live).is_none() {
                return Ok(true);
            }
            let Some(resource) = self.resource(live.clone()) else {
                bail!("{}/{name} cannot be read", self.kind)
            };
            if resource.reason == REFUSED && !is_requested {
                // It was refused while the former resource had the object: there is no need to wait for the next attempt.
                self.request(name).await?;
                is_requested = true;
            } else {
                self.say(&resource, &mut printed)?;
            }
            let has_it = resource.status.external_ids.contains(&record.id);
            if has_it && resource.ready == Ready::Yes {
                self.restore(name, &live, record).await?;
                return Ok(true);
            }
            let needs_person = resource.ready == Ready::No
                && !has_it
                && matches!(resource.reason.as_str(), REFUSED | "AwaitingApproval" | "InvalidSpec");
            refused_since = if needs_person { refused_since.or(Some(Instant::now())) } else { None };
            let is_stuck = refused_since.is_some_and(|since: Instant| since.elapsed() >= PATIENCE);
            if is_stuck || started.elapsed() >= self.limit {
                eprintln!(
                    "{}/{name} does not manage {} yet: {}",
                    self.kind,
                    record.id,
                    clean(&resource.message)
                );
                if let Some(remedy) = resource.remedy() {
                    eprintln!("{}", clean(&remedy));
                }
                eprintln!("Then run the command again, which restores the lifecycle.");
                return Ok(false);
            }
            sleep(EVERY).await;
        }
    }

    /// Requests a reconcile, as `kubectl kraken reconcile` does.
    async fn request(&self, name: &str) -> Result<()> {
        let now = jiff::Timestamp::now().to_string();
        let patch = json!({"metadata": {"annotations": {RECONCILE_REQUESTED_ANNOTATION: now}}});
        let patched = self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        let doing = format!("request a reconcile of {}/{name}", self.kind);
        patched.map(drop).map_err(|error| explain(error, &doing, &self.cluster.server))
    }

    async fn restore(&self, name: &str, live: &DynamicObject, record: &Record) -> Result<()> {
        let patch: json_patch::Patch = serde_json::from_value(completed(live, record))?;
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let patched = self.api.patch(name, &params, &Patch::<DynamicObject>::Json(patch)).await;
        let doing = format!("restore the lifecycle of {}/{name}", self.kind);
        patched.map(drop).map_err(|error| explain(error, &doing, &self.cluster.server))
    }

    fn resource(&self, object: DynamicObject) -> Option<Resource> {
        let kind = self.cluster.kind(&self.kind).ok()?;
        Resource::of(kind.typed(object))
    }

    fn say(&self, resource: &Resource, printed: &mut String) -> Result<()> {
        let Node { kind, name, .. } = &resource.node;
        let line =
            format!("{}\n", clean(&format!("{kind}/{name}  {}  {}", resource.reason, resource.message)));
        if *printed != line {
            out(&line)?;
            *printed = line;
        }
        Ok(())
    }
}
