//! Implements [`External`] for EC2Instance. Only this module and its submodules use the SDK.

mod disruption;
mod launch;
mod profile;
mod read;
mod tag_calls;
mod terminate;
mod update;

use kraken_aws::{
    Aws,
    account::ACCOUNTS,
    claim,
    fields::{ABSENT, SECRET, listed, shown},
    lookup::{self, Source as _},
    release, tag_memory,
    tags::{self, Tags},
};
use kraken_spoke::{
    Adopt, Candidate, Comparison, External, Failure, FromContext, Identity, Ignored, Launch, Location,
    ObserveRequest, Resolver,
    account::{AccountKind, Connection, OnChange, Refusal},
};
use serde_json::{Value, json};

use crate::{
    api::{Desired, EC2Instance, EC2InstanceSpec, MetadataOptions},
    change::Change,
    compare,
    instance::{Instance, Observed},
    mark::{self, Mark},
    state,
};
use tag_calls::create_tags;
use terminate::{owned, terminate};

/// The kind EC2Instance.
#[derive(Clone, Debug)]
pub(crate) struct Instances {
    aws: Aws,
}

impl FromContext<Aws> for Instances {
    fn from_context(aws: &Aws) -> Self {
        Self { aws: aws.clone() }
    }
}

impl External for Instances {
    type Kind = EC2Instance;
    type Desired = Desired;
    type Observed = Observed;
    type Change = Change;
    const DRIFT_PATHS: &[&str] = &["state"];
    const DISRUPTS: bool = true;
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = EC2InstanceSpec::SECRET_FIELD_PATHS;
    const SUMMARY: &[(&str, &str)] = EC2InstanceSpec::SUMMARY;
    const MISSING_PATH: &str = "maxCount";
    const ACCOUNTS: Option<AccountKind> = Some(ACCOUNTS);

    async fn connect(
        &self,
        namespace: &str,
        account: Option<&str>,
    ) -> Result<Option<Connection<Self>>, Refusal> {
        self.aws.connect_account(namespace, account).await
    }

    fn on_account_change(&self, on_change: OnChange) {
        self.aws.on_account_change(on_change);
    }

    fn desired(spec: &EC2InstanceSpec, values: &mut Resolver<'_>) -> Option<Desired> {
        spec.desired(values)
    }

    fn compare(desired: &Desired, observed: &Observed) -> Comparison<Change> {
        compare::compare(desired, observed)
    }

    fn ids(observed: &Observed) -> Vec<String> {
        observed.live_ids()
    }

    fn shown(observed: &Observed) -> Vec<String> {
        observed.instances.iter().map(|instance| instance.instance_id.clone()).collect()
    }

    fn select(observed: Observed, ids: &[String]) -> (Observed, Observed) {
        let Observed { instances, user_data } = observed;
        let (selected, others) =
            instances.into_iter().partition(|instance| ids.contains(&instance.instance_id));
        (
            Observed { instances: selected, user_data: user_data.clone() },
            Observed { instances: others, user_data },
        )
    }

    fn max_objects(desired: &Desired) -> usize {
        desired.count()
    }

    fn replicas(observed: &Observed) -> Option<i32> {
        i32::try_from(observed.live().len()).ok()
    }

    fn is_gone(observed: &Observed) -> bool {
        observed.instances.iter().all(|instance| instance.state.is_terminated())
    }

    fn disrupted(observed: &Observed) -> (Vec<String>, bool) {
        let (stopped, stopping) = stopped_by_kraken(observed);
        if stopped.is_empty() { (stopping, false) } else { (stopped, true) }
    }

    fn untagged(observed: &Observed) -> Vec<String> {
        let live = observed.live();
        let untagged = live.into_iter().filter(|instance| tags::is_untagged(&instance.tags));
        untagged.map(|instance| instance.instance_id.clone()).collect()
    }

    fn epoch(observed: &Observed) -> i64 {
        observed.instances.iter().map(|instance| tags::epoch(&instance.tags)).max().unwrap_or(0)
    }

    fn split(observed: Observed, epoch: i64) -> (Observed, Observed) {
        let Observed { instances, user_data } = observed;
        let (since, before) =
            instances.into_iter().partition(|instance| tags::epoch(&instance.tags) >= epoch);
        (Observed { instances: before, ..Observed::default() }, Observed { instances: since, user_data })
    }

    /// DescribeInstances does not return user data: it requires one call per instance.
    fn needs_deep_observation(desired: &Desired) -> bool {
        desired.user_data.is_some()
    }

    /// One call sets all settings of the metadata service, without ignored ones.
    fn without_ignored(desired: &Desired, _: &Observed, ignored: &Ignored) -> Option<Desired> {
        let options = desired.metadata_options.as_ref()?;
        let is_ignored = |name: &str| ignored.covers(&format!("metadataOptions.{name}"));
        let kept = options.map(|options| MetadataOptions {
            tokens: options.tokens.filter(|_| !is_ignored("httpTokens")),
            hop_limit: options.hop_limit.filter(|_| !is_ignored("httpPutResponseHopLimit")),
            endpoint: options.endpoint.filter(|_| !is_ignored("httpEndpoint")),
        });
        (kept != *options).then(|| Desired { metadata_options: Some(kept), ..desired.clone() })
    }

    /// The fields that AWS does not return, or not in a comparable form. A removed key is one of them, because absent
    /// fields are not compared.
    fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
        let key = if desired.key_name.is_some() { "" } else { ABSENT };
        let public = desired.associate_public_ip_address.as_ref().map(shown);
        let volume = desired.root_volume.as_ref().map(|volume| {
            volume.public().map_or_else(|| SECRET.to_owned(), |volume| json!(volume).to_string())
        });
        vec![
            ("keyName", key.to_owned()),
            ("associatePublicIPAddress", public.unwrap_or_default()),
            ("rootVolume", volume.unwrap_or_default()),
        ]
    }

    fn what_is_done(change: &Change) -> Option<String> {
        match change {
            Change::Stop(id) => Some(format!("stopped {id} for a change")),
            Change::Start(ids) => Some(format!("started {}", listed(ids))),
            Change::Mark { id, mark } if mark.stop => Some(format!("marked {id} to be stopped for a change")),
            Change::Mark { id, .. } => Some(format!("{id} is running again: removed its mark")),
            _ => None,
        }
    }

    fn state(desired: &Desired, observed: &Observed) -> Value {
        state::state(desired, observed)
    }

    async fn location(&self) -> Result<Option<Location>, Failure> {
        self.aws.location().await.map(Some)
    }

    async fn observe(&self, requests: &[ObserveRequest]) -> Result<Vec<Observed>, Failure> {
        let found = lookup::observe(&read::Reader(&self.aws), requests).await?;
        let mut observed: Vec<Observed> = found.into_iter().map(Observed::new).collect();
        let deep = requests.iter().zip(&mut observed).filter(|(request, _)| request.deep);
        let mut deep: Vec<&mut Observed> = deep.map(|(_, observed)| observed).collect();
        let ids = deep.iter().flat_map(|observed| observed.ids_at_rest()).collect();
        let user_data = read::user_data(&self.aws, ids).await?;
        for observed in &mut deep {
            let known = |id: String| user_data.get(&id).map(|data| (id, data.clone()));
            observed.user_data = observed.ids_at_rest().into_iter().filter_map(known).collect();
        }
        Ok(observed)
    }

    async fn create(
        &self,
        identity: &Identity,
        launch: &Launch,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<Observed, Failure> {
        launch::launch(&self.aws, identity, launch, desired, observed).await
    }

    async fn update(
        &self,
        identity: &Identity,
        change: &Change,
        desired: &Desired,
        observed: &Observed,
    ) -> Result<(), Failure> {
        match change {
            Change::Terminate(ids) => {
                let owned = owned(identity, observed);
                let ids: Vec<String> = ids.iter().filter(|id| owned.contains(id)).cloned().collect();
                terminate(&self.aws, &ids).await
            }
            other => update::update(&self.aws, other, desired, observed).await,
        }
    }

    async fn resume(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        let (stopped, _) = stopped_by_kraken(observed);
        let owned = owned(identity, observed);
        let ids: Vec<String> = stopped.into_iter().filter(|id| owned.contains(id)).collect();
        update::start(&self.aws, &ids).await
    }

    async fn delete(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        terminate(&self.aws, &owned(identity, observed)).await
    }

    async fn survey(&self, cluster: &str) -> Result<Vec<(Identity, Observed)>, Failure> {
        let found = lookup::survey(&read::Reader(&self.aws), cluster).await?;
        Ok(found.into_iter().map(|(owner, instances)| (owner, Observed::new(instances))).collect())
    }

    async fn find(&self, wanted: &Adopt) -> Result<Vec<Candidate<Observed>>, Failure> {
        let found = lookup::find(&read::Reader(&self.aws), wanted).await?;
        Ok(found
            .into_iter()
            .map(|candidate| candidate.map(|instance| Observed::new(vec![instance])))
            .collect())
    }

    async fn claim(&self, identity: &Identity, epoch: i64, found: &Observed) -> Result<(), Failure> {
        claim::claim(&self.aws, identity, epoch, &found.live_ids()).await
    }

    async fn reclaim(
        &self,
        identity: &Identity,
        epoch: i64,
        desired: Option<&Desired>,
        bare: &Observed,
    ) -> Result<(), Failure> {
        for instance in bare.live() {
            let lost = desired.and_then(|desired| tag_memory::lost(&desired.tags, &instance.tags));
            if let Some((key, memory)) = lost {
                let ids = [instance.instance_id.clone()];
                create_tags(&self.aws, &ids, &Tags::from([(key, memory)])).await?;
            }
        }
        self.claim(identity, epoch, bare).await
    }

    async fn release(&self, identity: &Identity, observed: &Observed) -> Result<(), Failure> {
        let marked = |id: &String| {
            let mut of_id = observed.instances.iter().filter(|instance| instance.instance_id == *id);
            of_id.any(|instance| instance.tags.contains_key(mark::KEY))
        };
        let owned = owned(identity, observed);
        disruption::remove(&self.aws, &owned.iter().filter(|id| marked(id)).cloned().collect::<Vec<_>>())
            .await?;
        // A replacement releases adopted instances while the resource has others, which keep their volumes.
        let with_uid = vec![(tags::UID.to_owned(), vec![identity.uid.clone()])];
        let others = read::Reader(&self.aws).by_tags(with_uid).await?;
        let kept = volumes(others.iter().filter(|instance| !owned.contains(&instance.instance_id)));
        release::release(&self.aws, identity, &owned, &["volume"], &kept).await
    }
}

/// The ids of the volumes that are attached to these instances.
fn volumes<'a>(instances: impl Iterator<Item = &'a Instance>) -> Vec<String> {
    let mappings = instances.flat_map(|instance| &instance.block_device_mappings);
    mappings.filter_map(|mapping| mapping.ebs.as_ref()?.volume_id.clone()).collect()
}

/// The instances that Kraken has stopped and not started again, and those that it is stopping.
fn stopped_by_kraken(observed: &Observed) -> (Vec<String>, Vec<String>) {
    let marked = observed.live().into_iter().filter(|instance| Mark::of(&instance.tags).stop);
    let is_down = |instance: &&Instance| instance.state.is_stopped() || instance.state.is_stopping();
    let (stopped, stopping): (Vec<_>, Vec<_>) =
        marked.filter(is_down).partition(|instance| instance.state.is_stopped());
    let ids = |instances: Vec<&Instance>| instances.into_iter().map(|one| one.instance_id.clone()).collect();
    (ids(stopped), ids(stopping))
}

#[cfg(test)]
mod tests;
