//! Changes in place. All are idempotent, so that they can be repeated after a crash or a lost response.

use std::collections::BTreeMap;

use kraken_aws::{
    Aws,
    ec2::{
        primitives::Blob,
        types::{
            AttributeBooleanValue, AttributeValue, HttpTokensState, InstanceMetadataEndpointState,
            SecureBlobAttributeValue,
        },
    },
    fields::{NOT_SHOWN, shown},
    missing::for_existing,
    resolved::exposed,
    tag_memory,
    tags::{MEMORY, Tags},
};
use kraken_spoke::{Failure, FailureClass};

use super::{
    disruption, profile,
    tag_calls::{create_tags, delete_tag},
};
use crate::{
    api::Desired,
    change::Change,
    instance::Observed,
    mark::{Mark, refusal},
};

/// Performs one change on each of its instances. If AWS accepts one instance per call, a failure leaves the rest to the
/// next reconcile.
pub(super) async fn update(
    aws: &Aws,
    change: &Change,
    desired: &Desired,
    observed: &Observed,
) -> Result<(), Failure> {
    match change {
        // Needs the identity: see `External::update`.
        Change::Terminate(_) => Ok(()),
        Change::SetTag { key, ids } => {
            // The record is written by the same call, so that a tag never exists without it.
            for (memory, ids) in by_memory(observed, ids, |memory| tag_memory::remember(memory, key)) {
                let value = desired.tags.get(key).cloned().unwrap_or_default();
                let tags = Tags::from([(key.clone(), value), (MEMORY.to_owned(), memory)]);
                create_tags(aws, &ids, &tags).await?;
            }
            Ok(())
        }
        Change::RemoveTag { key, ids } => {
            // In this order: a crash in between leaves a superfluous record, and not a tag that is never removed.
            delete_tag(aws, ids, key).await?;
            for (memory, ids) in by_memory(observed, ids, |memory| tag_memory::forget(memory, key)) {
                create_tags(aws, &ids, &Tags::from([(MEMORY.to_owned(), memory)])).await?;
            }
            Ok(())
        }
        Change::Monitoring(ids) => monitoring(aws, ids, desired).await,
        Change::Start(ids) => start(aws, ids).await,
        Change::Stop(id) => disruption::stop(aws, id).await,
        Change::Mark { id, mark } => disruption::mark(aws, id, mark, desired, observed).await,
        Change::InstanceProfile(ids) => {
            let wanted = exposed(desired.iam_instance_profile.as_ref()).unwrap_or_default();
            for id in ids {
                profile::change(aws, id, &wanted).await?;
            }
            Ok(())
        }
        Change::MetadataOptions(ids) => {
            for id in ids {
                metadata_options(aws, id, desired).await?;
            }
            Ok(())
        }
        Change::SecurityGroups(ids) => {
            for id in ids {
                modify(aws, change, id, desired).await?;
            }
            Ok(())
        }
        Change::InstanceType(ids) => {
            modify_stopped(
                aws,
                change,
                ("instanceType", &shown(&desired.instance_type)),
                ids,
                desired,
                observed,
            )
            .await
        }
        Change::EbsOptimized(ids) => {
            let want = desired.ebs_optimized.as_ref().map(shown).unwrap_or_default();
            modify_stopped(aws, change, ("ebsOptimized", &want), ids, desired, observed).await
        }
        Change::UserData(ids) => {
            modify_stopped(aws, change, ("userData", NOT_SHOWN), ids, desired, observed).await
        }
    }
}

/// A change of stopped instances. A value that AWS rejects is recorded on the instance, so that it is started
/// unchanged.
async fn modify_stopped(
    aws: &Aws,
    change: &Change,
    (path, want): (&str, &str),
    ids: &[String],
    desired: &Desired,
    observed: &Observed,
) -> Result<(), Failure> {
    for id in ids {
        let Err(failure) = modify(aws, change, id, desired).await else { continue };
        let instance = observed.instances.iter().find(|instance| instance.instance_id == *id);
        if let (FailureClass::Terminal, Some(instance)) = (failure.class, instance) {
            let mark = Mark { refused: Some(refusal(path, want)), ..Mark::of(&instance.tags) };
            disruption::write(aws, id, &mark).await?;
        }
        return Err(failure);
    }
    Ok(())
}

/// One attribute of one instance. AWS accepts a single attribute per call.
async fn modify(aws: &Aws, change: &Change, id: &str, desired: &Desired) -> Result<(), Failure> {
    let call = aws.ec2().modify_instance_attribute().instance_id(id);
    let (call, action) = match change {
        Change::SecurityGroups(_) => (
            call.set_groups(exposed(desired.security_group_ids.as_ref())),
            "failed to change security groups",
        ),
        Change::InstanceType(_) => {
            let value = AttributeValue::builder().value(desired.instance_type.expose()).build();
            (call.instance_type(value), "failed to change the instance type")
        }
        Change::EbsOptimized(_) => {
            let value = AttributeBooleanValue::builder().set_value(exposed(desired.ebs_optimized.as_ref()));
            (call.ebs_optimized(value.build()), "failed to change EBS optimization")
        }
        _ => {
            // The SDK encodes it here, unlike at launch.
            let text = exposed(desired.user_data.as_ref()).unwrap_or_default();
            let value = SecureBlobAttributeValue::builder().value(Blob::new(text)).build();
            (call.user_data(value), "failed to change user data")
        }
    };
    aws.call("ModifyInstanceAttribute", action, call.send()).await?;
    Ok(())
}

async fn metadata_options(aws: &Aws, id: &str, desired: &Desired) -> Result<(), Failure> {
    let wanted = desired.metadata();
    let endpoint = wanted.endpoint.map(|endpoint| InstanceMetadataEndpointState::from(endpoint.as_str()));
    let mut call = aws.ec2().modify_instance_metadata_options().instance_id(id).set_http_endpoint(endpoint);
    if !desired.without_metadata() {
        call = call
            .set_http_tokens(wanted.tokens.map(|tokens| HttpTokensState::from(tokens.as_str())))
            .set_http_put_response_hop_limit(wanted.hop_limit);
    }
    aws.call("ModifyInstanceMetadataOptions", "failed to change the metadata service", call.send()).await?;
    Ok(())
}

async fn monitoring(aws: &Aws, ids: &[String], desired: &Desired) -> Result<(), Failure> {
    const ACTION: &str = "failed to change monitoring";
    if exposed(desired.monitoring.as_ref()).unwrap_or_default() {
        for_existing(ids, |ids| {
            aws.call(
                "MonitorInstances",
                ACTION,
                aws.ec2().monitor_instances().set_instance_ids(Some(ids)).send(),
            )
        })
        .await?;
    } else {
        for_existing(ids, |ids| {
            let call = aws.ec2().unmonitor_instances().set_instance_ids(Some(ids));
            aws.call("UnmonitorInstances", ACTION, call.send())
        })
        .await?;
    }
    Ok(())
}

/// Starts instances.
pub(super) async fn start(aws: &Aws, ids: &[String]) -> Result<(), Failure> {
    for_existing(ids, |ids| {
        let call = aws.ec2().start_instances().set_instance_ids(Some(ids));
        aws.call("StartInstances", "failed to start instances", call.send())
    })
    .await?;
    Ok(())
}

/// The instances by the desired record of tags: usually one group, and therefore one call.
fn by_memory(
    observed: &Observed,
    ids: &[String],
    change: impl Fn(&str) -> String,
) -> BTreeMap<String, Vec<String>> {
    let mut groups = BTreeMap::<String, Vec<String>>::new();
    for instance in observed.instances.iter().filter(|instance| ids.contains(&instance.instance_id)) {
        let memory = change(tag_memory::read(&instance.tags));
        groups.entry(memory).or_default().push(instance.instance_id.clone());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::tests::instance;

    #[test]
    fn instances_with_the_same_record_share_a_call() {
        let mut other = instance("i-3");
        other.tags.insert(MEMORY.into(), tag_memory::of(&["Name".to_owned()]));
        let observed = Observed::new(vec![instance("i-1"), instance("i-2"), other, instance("i-4")]);
        let ids = ["i-1", "i-2", "i-3"].map(str::to_owned);
        let groups = by_memory(&observed, &ids, |memory| tag_memory::remember(memory, "Team"));
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.sort();
        assert_eq!(groups, [vec!["i-1", "i-2"], vec!["i-3"]]);
    }
}
