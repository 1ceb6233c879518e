//! Stops instances for a change, with checks that prevent unnecessary downtime.

use kraken_aws::{
    Aws, Tags,
    ec2::types::LocationType,
    errors::terminal,
    release::filter,
    resource::{remove_tags_of_all, set_tags_of_all},
};
use kraken_kind::Failure;

use crate::{
    api::Desired,
    instance::Instance,
    mark::{KEY, Mark},
};

const CHECK: &str = "failed to check the instance type";

/// Sets or removes a mark. Before an instance is marked for a stop, its new type is validated, so that a typo does not
/// stop a running instance.
pub(super) async fn mark(
    aws: &Aws,
    instance: &Instance,
    mark: &Mark,
    desired: &Desired,
) -> Result<(), Failure> {
    let wanted = desired.instance_type.expose();
    if mark.stop && instance.instance_type.as_ref() != Some(wanted) {
        check_type(aws, instance, wanted).await?;
    }
    write(aws, &instance.instance_id, mark).await
}

/// Sets a mark.
pub(super) async fn write(aws: &Aws, id: &str, mark: &Mark) -> Result<(), Failure> {
    let ids = [id.to_owned()];
    match mark.value() {
        Some(value) => set_tags_of_all(aws, &ids, &Tags::from([(KEY.to_owned(), value)])).await,
        None => remove(aws, &ids).await,
    }
}

/// Removes the marks.
pub(super) async fn remove(aws: &Aws, ids: &[String]) -> Result<(), Failure> {
    remove_tags_of_all(aws, ids, &[KEY], "failed to remove the mark of a disruption").await
}

/// Stops an instance.
pub(super) async fn stop(aws: &Aws, id: &str) -> Result<(), Failure> {
    let call = aws.ec2().stop_instances().instance_ids(id).send();
    aws.call("StopInstances", "failed to stop an instance for a change", call).await.map(drop)
}

/// Whether the instance supports this type: AWS validates this only after the stop, or at the start.
async fn check_type(aws: &Aws, instance: &Instance, wanted: &str) -> Result<(), Failure> {
    let call = aws.ec2().describe_instance_types().instance_types(wanted.into()).send();
    let answer = aws.call("DescribeInstanceTypes", CHECK, call).await?;
    let processor = answer.instance_types().first().and_then(|found| found.processor_info());
    if let (Some(processor), Some(architecture)) = (processor, &instance.architecture) {
        let supported = processor.supported_architectures();
        if !supported.is_empty() && !supported.iter().any(|one| one.as_str() == architecture) {
            return Err(refused(format!(
                "its processors do not support {architecture}, the architecture of the image of {}",
                instance.instance_id
            )));
        }
    }
    let Some(zone) = instance.placement.as_ref().and_then(|place| place.availability_zone.clone()) else {
        return Ok(());
    };
    let call = aws
        .ec2()
        .describe_instance_type_offerings()
        .location_type(LocationType::AvailabilityZone)
        .filters(filter("location", vec![zone.clone()]))
        .filters(filter("instance-type", vec![wanted.to_owned()]));
    let answer = aws.call("DescribeInstanceTypeOfferings", CHECK, call.send()).await?;
    if answer.instance_type_offerings().is_empty() {
        return Err(refused(format!("AWS does not offer it in {zone}, where {} runs", instance.instance_id)));
    }
    Ok(())
}

/// A failure before any change, which requires an edit.
fn refused(message: String) -> Failure {
    terminal("the instance type cannot be changed to the one in the spec", message)
}
