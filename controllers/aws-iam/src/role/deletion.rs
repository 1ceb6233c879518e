//! The deletion of a role, which AWS rejects as long as it has policies or is in an instance profile.

use kraken_aws::{Aws, Tags, fields::listed, missing::ignore_codes, tags};
use kraken_kind::Failure;

use super::observed::Role;
use crate::{
    iam::{self, IamClients as _, types},
    named::{NOT_FOUND, not_yet},
};

const DELETE: &str = "failed to delete the role";

/// Policies in and attachments of a role are part of it. An instance profile is not: instances use it. A role that is in one keeps its
/// permissions.
pub(super) async fn delete(aws: &Aws, role: &Role) -> Result<(), Failure> {
    let name = role.role_name.as_str();
    let profiles = profiles(aws, name).await?;
    if !profiles.is_empty() {
        return Err(not_yet(DELETE, format!("it is in instance profiles: {}", listed(&profiles))));
    }
    for arn in &role.attached_policies {
        detach(aws, name, arn).await?;
    }
    for policy in role.inline_policies.keys() {
        delete_inline(aws, name, policy).await?;
    }
    let call = aws.iam().delete_role().role_name(name);
    aws.call("DeleteRole", DELETE, call.send()).await.map(drop)
}

/// The instance profiles with the role, with their owners.
async fn profiles(aws: &Aws, name: &str) -> Result<Vec<String>, Failure> {
    let pages = aws.iam().list_instance_profiles_for_role().role_name(name).into_paginator().send();
    let action = "failed to list the instance profiles of the role";
    let pages = aws.items("ListInstanceProfilesForRole", action, pages, |page| Some(page.instance_profiles));
    let profiles: Vec<types::InstanceProfile> = pages.await?;
    let mut named = vec![];
    for profile in profiles {
        // A list has no tags.
        let call = aws.iam().get_instance_profile().instance_profile_name(&profile.instance_profile_name);
        let read = aws.call("GetInstanceProfile", action, call.send()).await;
        let tags = read.ok().and_then(|read| read.instance_profile).map(|read| iam::tags(read.tags));
        named.push(format!("{} ({})", profile.arn, owner(&tags.unwrap_or_default())));
    }
    Ok(named)
}

fn owner(tags: &Tags) -> String {
    tags::owner(tags).map_or_else(|| "not managed by Kraken".to_owned(), |owner| owner.owner)
}

pub(super) async fn detach(aws: &Aws, role: &str, arn: &str) -> Result<(), Failure> {
    let call = aws.iam().detach_role_policy().role_name(role).policy_arn(arn);
    ignore_codes(aws.call("DetachRolePolicy", "failed to detach a policy", call.send()).await, &[NOT_FOUND])
}

pub(super) async fn delete_inline(aws: &Aws, role: &str, policy: &str) -> Result<(), Failure> {
    let call = aws.iam().delete_role_policy().role_name(role).policy_name(policy);
    let answer = aws.call("DeleteRolePolicy", "failed to delete an inline policy", call.send()).await;
    ignore_codes(answer, &[NOT_FOUND])
}
