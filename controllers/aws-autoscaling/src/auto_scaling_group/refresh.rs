//! Instance refreshes: AWS replaces the instances of a group, some at a time.

use kraken_aws::{errors::terminal, prelude::*};
use kraken_kind::FailureClass;

use super::{
    api::{Desired, DesiredInstanceRefresh},
    observed::Group,
};
use crate::autoscaling::{
    AutoscalingClients as _,
    types::{
        DesiredConfiguration, InstanceRefresh, InstanceRefreshStatus as Status, LaunchTemplateSpecification,
        RefreshPreferences,
    },
};

const ACTION: &str = "failed to replace the instances of the group";

/// What follows from the latest instance refresh of a group.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    Start,
    /// One is in progress, in words.
    Wait(String),
    /// One for the same version failed, in words. Another one would replace the same instances again.
    Stop(String),
}

/// Starts an instance refresh, unless one is in progress or one for this version failed.
pub(super) async fn refresh(aws: &Aws, desired: &Desired, group: &Group) -> Result<(), Failure> {
    let name = &group.auto_scaling_group_name;
    let call = aws.autoscaling().describe_instance_refreshes().auto_scaling_group_name(name).max_records(1);
    let action = "failed to describe the instance refreshes of the group";
    let found = aws.call("DescribeInstanceRefreshes", action, call.send()).await?;
    match next(found.instance_refreshes.as_ref().and_then(|all| all.first()), group) {
        Next::Start => start(aws, desired.instance_refresh.as_ref(), group).await,
        Next::Wait(message) => {
            Err(Failure { class: FailureClass::NotYet, ..terminal("waiting for new instances", message) })
        }
        Next::Stop(message) => Err(terminal(ACTION, message)),
    }
}

pub(super) fn next(latest: Option<&InstanceRefresh>, group: &Group) -> Next {
    let Some(latest) = latest else { return Next::Start };
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let (id, reason) = (text(latest.instance_refresh_id()), text(latest.status_reason()));
    let template = latest.desired_configuration().and_then(|configuration| configuration.launch_template());
    let is_same = template.is_some_and(|template| {
        template.launch_template_id() == group.template_id().map(String::as_str)
            && template.version() == group.template_version().map(String::as_str)
    });
    match latest.status() {
        Some(
            status @ (Status::Cancelled
            | Status::Failed
            | Status::RollbackFailed
            | Status::RollbackSuccessful),
        ) if is_same => Next::Stop(format!(
            "the instance refresh {id} for this version ended as {status}: {reason} Start another one in AWS, or set another version"
        )),
        None
        | Some(
            Status::Successful
            | Status::Cancelled
            | Status::Failed
            | Status::RollbackFailed
            | Status::RollbackSuccessful,
        ) => Next::Start,
        Some(status) => {
            let done = latest.percentage_complete().unwrap_or_default();
            let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            Next::Wait(format!("the instance refresh {id} is {status}, {done}% complete{reason}"))
        }
    }
}

/// With the version, by which a failed refresh is recognized.
async fn start(aws: &Aws, wanted: Option<&DesiredInstanceRefresh>, group: &Group) -> Result<(), Failure> {
    let wanted = wanted.cloned().unwrap_or_default();
    let preferences = RefreshPreferences::builder()
        .skip_matching(true)
        .set_min_healthy_percentage(exposed(wanted.min_healthy_percentage.as_ref()))
        .set_max_healthy_percentage(exposed(wanted.max_healthy_percentage.as_ref()))
        .set_instance_warmup(exposed(wanted.instance_warmup_seconds.as_ref()));
    let template = LaunchTemplateSpecification::builder()
        .set_launch_template_id(group.template_id().cloned())
        .set_version(group.template_version().cloned());
    let call = aws
        .autoscaling_once()
        .start_instance_refresh()
        .auto_scaling_group_name(&group.auto_scaling_group_name)
        .desired_configuration(DesiredConfiguration::builder().launch_template(template.build()).build())
        .preferences(preferences.build());
    aws.call("StartInstanceRefresh", ACTION, call.send()).await.map(drop)
}
