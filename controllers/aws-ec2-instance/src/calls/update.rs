//! Changes in place. All are idempotent, so that they can be repeated after a crash or a lost response.

use kraken_aws::{
    Aws, AwsSpec,
    ec2::{
        primitives::Blob,
        types::{AttributeBooleanValue, AttributeValue, SecureBlobAttributeValue},
    },
    missing::for_existing,
    resolved::exposed,
};
use kraken_kind::{Difference, Failure, FailureClass, Remedy};

use super::disruption;
use crate::{
    api::{Change, Desired, EC2InstanceSpec},
    instance::Instance,
    mark::Mark,
    refusal::refusal,
};

/// One attribute of one instance: AWS accepts a single attribute per call. A value that AWS rejects on a stopped instance is
/// recorded on it, so that it is started unchanged.
pub(super) async fn modify(
    aws: &Aws,
    change: &Change,
    desired: &Desired,
    instance: &Instance,
) -> Result<(), Failure> {
    let call = aws.ec2().modify_instance_attribute().instance_id(&instance.instance_id);
    let (call, action) = match change {
        Change::SecurityGroups => (
            call.set_groups(exposed(desired.security_group_ids.as_ref())),
            "failed to change security groups",
        ),
        Change::InstanceType => {
            let value = AttributeValue::builder().value(desired.instance_type.expose()).build();
            (call.instance_type(value), "failed to change the instance type")
        }
        Change::EbsOptimized => {
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
    let Err(failure) = aws.call("ModifyInstanceAttribute", action, call.send()).await else { return Ok(()) };
    let mut differences = EC2InstanceSpec::differences(desired, instance).into_iter();
    let is_for_it =
        |found: &Difference<Change>| matches!(&found.remedy, Remedy::Disruptive(one, _) if one == change);
    if failure.class == FailureClass::Terminal
        && let Some(Difference { field, .. }) = differences.find(is_for_it)
        && let refused @ Some(_) = refusal(&field.path, desired)
    {
        let mark = Mark { refused, ..Mark::of(&instance.tags) };
        disruption::write(aws, &instance.instance_id, &mark).await?;
    }
    Err(failure)
}

pub(super) async fn metadata_options(
    aws: &Aws,
    instance: &Instance,
    desired: &Desired,
) -> Result<(), Failure> {
    let wanted = desired.metadata();
    let call = aws
        .ec2()
        .modify_instance_metadata_options()
        .instance_id(&instance.instance_id)
        .set_http_endpoint(wanted.endpoint.map(|endpoint| endpoint.as_str().into()))
        .set_http_tokens(wanted.tokens.map(|tokens| tokens.as_str().into()))
        .set_http_put_response_hop_limit(wanted.hop_limit)
        .send();
    aws.call("ModifyInstanceMetadataOptions", "failed to change the metadata service", call).await.map(drop)
}

/// Enables or disables detailed monitoring.
pub(super) async fn monitoring(aws: &Aws, ids: &[String], desired: &Desired) -> Result<(), Failure> {
    const ACTION: &str = "failed to change monitoring";
    let is_on = exposed(desired.monitoring.as_ref()).unwrap_or_default();
    let call = |ids| async move {
        if is_on {
            let call = aws.ec2().monitor_instances().set_instance_ids(Some(ids));
            aws.call("MonitorInstances", ACTION, call.send()).await.map(drop)
        } else {
            let call = aws.ec2().unmonitor_instances().set_instance_ids(Some(ids));
            aws.call("UnmonitorInstances", ACTION, call.send()).await.map(drop)
        }
    };
    for_existing(ids, call).await.map(drop)
}
