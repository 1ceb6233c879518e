//! The actions for instances, images and tags.

mod attributes;
mod describe;
mod describe_tags;
mod instance;
mod named;
mod profiles;
mod run;
mod states;
mod tags;

use super::answer::Handler;

pub(super) use profiles::association as profile_of;

/// The implementation of an action.
pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "RunInstances" => run::run,
        "DescribeInstances" => |cloud, form| describe::instances(cloud, form),
        "DescribeInstanceTypes" => |cloud, form| describe::instance_types(cloud, form),
        "DescribeInstanceTypeOfferings" => |cloud, form| describe::offerings(cloud, form),
        "AssociateIamInstanceProfile" => profiles::associate,
        "ReplaceIamInstanceProfileAssociation" => profiles::replace,
        "DisassociateIamInstanceProfile" => profiles::disassociate,
        "DescribeIamInstanceProfileAssociations" => |cloud, form| profiles::describe(cloud, form),
        "DescribeTags" => |cloud, form| describe_tags::describe(cloud, form),
        "DescribeImages" => |cloud, form| describe::images(cloud, form),
        "CreateTags" => tags::create,
        "DeleteTags" => tags::delete,
        "TerminateInstances" => states::terminate,
        "StartInstances" => states::start,
        "StopInstances" => states::stop,
        "MonitorInstances" => |cloud, form| attributes::monitor(cloud, form, true),
        "UnmonitorInstances" => |cloud, form| attributes::monitor(cloud, form, false),
        "ModifyInstanceAttribute" => attributes::modify,
        "ModifyInstanceMetadataOptions" => attributes::metadata,
        "DescribeInstanceAttribute" => |cloud, form| attributes::describe(cloud, form),
        _ => return None,
    };
    Some(handler)
}
