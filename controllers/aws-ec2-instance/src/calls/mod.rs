//! The calls of EC2 instances.

mod disruption;
mod launch;
mod profile;
mod update;
mod user_data;

use kraken_aws::{
    Aws, AwsResource, Tags, claim,
    ec2::{operation::terminate_instances::TerminateInstancesOutput, types::InstanceStateChange},
    errors::terminal,
    fields::listed,
    items::in_order,
    missing::for_existing,
    release::{self, filter},
    resource::{
        self, Creation, DescribeQuery, Group, Phase, RemoteObject, remove_tags_of_all, set_tags_of_all,
    },
    tags::UID,
};
use kraken_kind::{Difference, Edit, Failure, FailureClass, Features, Identity, runtime::hash::HashSet};

use crate::{
    api::{Change, Desired, EC2Instance, EC2InstanceSpec},
    import,
    instance::Instance,
    mark::{self, Mark},
    stops,
};

const LAUNCH: &str = "failed to launch instances";

/// The kind EC2Instance. A resource has several instances: each call is made for all of them at once, where AWS has such a call.
pub(crate) struct Instances;

impl AwsResource for Instances {
    type Kind = EC2Instance;
    const FEATURES: Features =
        Features { is_idempotent: true, shows_deleted: true, disrupts: true, ..Features::NONE };
    /// What needs one call per instance is user data, which is not imported.
    const IMPORTS_DEEP: bool = false;

    fn edit_of(before: &EC2InstanceSpec, after: &EC2InstanceSpec, field: &str) -> Edit {
        after.edit_of_instances(before, field)
    }

    fn remedies(
        desired: &Desired,
        kept: &[&Instance],
        differences: Vec<Group<'_, Instance, Change>>,
    ) -> Vec<Difference<resource::Change<Change>>> {
        stops::remedies(desired, kept, differences)
    }

    fn describe_change(change: &Change, ids: &[String]) -> Option<String> {
        let ids = listed(ids);
        match change {
            Change::Stop => Some(format!("stopped {ids} for a change")),
            Change::Start => Some(format!("started {ids}")),
            Change::Mark(mark) if mark.stop => Some(format!("marked {ids} to be stopped for a change")),
            Change::Mark(_) => Some(format!("{ids} is running again: removed its mark")),
            _ => None,
        }
    }

    fn disrupted(living: &[&Instance]) -> (Vec<String>, bool) {
        let marked = living.iter().copied().filter(|instance| Mark::of(&instance.tags).stop);
        let (stopped, others): (Vec<_>, Vec<_>) = marked.partition(|instance| instance.is("stopped"));
        if !stopped.is_empty() {
            return (ids(&stopped), true);
        }
        (ids(others.iter().filter(|instance| instance.is("stopping"))), false)
    }

    fn not_importable(instance: &Instance) -> Option<String> {
        import::not_importable(instance)
    }

    fn import_notes(_: &Instance) -> Vec<String> {
        vec![import::USER_DATA.to_owned()]
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Instance>, Failure> {
        // AWS rejects MaxResults together with ids, and may return pages anyway.
        let page_size = query.filters.is_some().then_some(1000);
        let call = aws.ec2().describe_instances().set_instance_ids(query.ids).set_filters(query.filters);
        let pages = call.set_max_results(page_size).into_paginator().send();
        let pages = aws.pages("DescribeInstances", "failed to describe instances", pages).await?;
        let reservations = pages.into_iter().flat_map(|page| page.reservations.unwrap_or_default());
        Ok(reservations.flat_map(|reservation| in_order(reservation.instances)).collect())
    }

    /// Reads user data, which DescribeInstances does not return, of running and stopped instances: that of others is not needed
    /// yet.
    async fn complete(aws: &Aws, instance: &mut Instance, deep: bool) -> Result<(), Failure> {
        if deep && instance.phase() == Phase::Available {
            instance.user_data = user_data::read(aws, &instance.instance_id).await?;
        }
        Ok(())
    }

    /// Launches all instances and returns the first one.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Instance, Failure> {
        let launched = Self::create_all(aws, desired, creation, 0).await?;
        launched.into_iter().next().ok_or_else(|| terminal(LAUNCH, "the spec has no instances"))
    }

    async fn create_all(
        aws: &Aws,
        desired: &Desired,
        creation: &Creation<'_>,
        existing: usize,
    ) -> Result<Vec<Instance>, Failure> {
        let live = i32::try_from(existing).unwrap_or(i32::MAX);
        if live >= *desired.max_count.expose() {
            return Ok(vec![]);
        }
        let root_device = match &desired.root_volume {
            Some(_) => Some(launch::root_device(aws, desired).await?),
            None => None,
        };
        let call = launch::input(creation, desired, live, root_device.as_deref()).send_with(aws.ec2_once());
        let answer = aws.call("RunInstances", LAUNCH, call).await?;
        let mut launched: Vec<Instance> = in_order(answer.instances);
        for instance in &mut launched {
            // A response may omit the requested tags.
            instance.tags.extend(creation.tags.clone());
        }
        Ok(launched)
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        instance: &Instance,
    ) -> Result<(), Failure> {
        Self::update_all(aws, change, desired, &[instance]).await
    }

    async fn update_all(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        instances: &[&Instance],
    ) -> Result<(), Failure> {
        match change {
            Change::Monitoring => return update::monitoring(aws, &ids(instances), desired).await,
            Change::Start => return Self::start(aws, instances).await,
            _ => {}
        }
        // AWS accepts one instance per call. A failure leaves the rest to the next reconcile.
        for instance in instances {
            match change {
                Change::Stop => disruption::stop(aws, &instance.instance_id).await?,
                Change::Mark(mark) => disruption::mark(aws, instance, mark, desired).await?,
                Change::InstanceProfile => profile::change(aws, instance, desired).await?,
                Change::MetadataOptions => update::metadata_options(aws, instance, desired).await?,
                _ => update::modify(aws, change, desired, instance).await?,
            }
        }
        Ok(())
    }

    async fn start(aws: &Aws, instances: &[&Instance]) -> Result<(), Failure> {
        let call = |ids| {
            let call = aws.ec2().start_instances().set_instance_ids(Some(ids));
            aws.call("StartInstances", "failed to start instances", call.send())
        };
        for_existing(&ids(instances), call).await.map(drop)
    }

    async fn delete(aws: &Aws, instance: &Instance) -> Result<(), Failure> {
        Self::delete_all(aws, &[instance]).await.map(drop)
    }

    async fn delete_all(aws: &Aws, instances: &[&Instance]) -> Result<Vec<String>, Failure> {
        let call = |ids| {
            let call = aws.ec2().terminate_instances().set_instance_ids(Some(ids));
            aws.call("TerminateInstances", "failed to terminate instances", call.send())
        };
        let mut unknown = ids(instances);
        let answers = for_existing(&unknown, call).await.map_err(protected)?;
        let found = answers.iter().flat_map(TerminateInstancesOutput::terminating_instances);
        let found: HashSet<&str> = found.filter_map(InstanceStateChange::instance_id).collect();
        unknown.retain(|id| !found.contains(id.as_str()));
        Ok(unknown)
    }

    async fn set_tags_of_all(aws: &Aws, instances: &[&Instance], tags: &Tags) -> Result<(), Failure> {
        set_tags_of_all(aws, &ids(instances), tags).await
    }

    async fn remove_tag_of_all(aws: &Aws, instances: &[&Instance], key: &str) -> Result<(), Failure> {
        remove_tags_of_all(aws, &ids(instances), &[key], "failed to remove a tag").await
    }

    async fn claim_all(aws: &Aws, instances: &[&Instance], tags: &Tags) -> Result<(), Failure> {
        claim::claim(aws, ids(instances), tags).await
    }

    async fn release_all(aws: &Aws, identity: &Identity, instances: &[&Instance]) -> Result<(), Failure> {
        let marked = instances.iter().filter(|instance| instance.tags.contains_key(mark::KEY));
        disruption::remove(aws, &ids(marked)).await?;
        // A replacement releases adopted instances while the resource has others, which keep their volumes.
        let with_uid = filter(&format!("tag:{UID}"), vec![identity.uid.clone()]);
        let others = Self::read(aws, DescribeQuery { ids: None, filters: Some(vec![with_uid]) }).await?;
        let released = ids(instances);
        let others = others.iter().filter(|instance| !released.contains(&instance.instance_id));
        let kept: Vec<_> = others.flat_map(Instance::volumes).collect();
        release::release(aws, identity, &released, &["volume"], &kept).await
    }
}

/// AWS uses this code for other errors too.
pub(crate) fn protected(failure: Failure) -> Failure {
    if failure.code != "OperationNotPermitted" || !failure.message.contains("disableApiTermination") {
        return failure;
    }
    let message = format!(
        "{}: the instance is protected in AWS and not by Kraken; turn its termination protection off there",
        failure.message
    );
    Failure { class: FailureClass::Protected, message, ..failure }
}

fn ids<'a>(instances: impl IntoIterator<Item = &'a &'a Instance>) -> Vec<String> {
    instances.into_iter().map(|instance| instance.instance_id.clone()).collect()
}
