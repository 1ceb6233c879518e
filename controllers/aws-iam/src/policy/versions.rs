//! The versions of a policy, of which IAM keeps at most five, and its deletion, which requires that there is only the default one.

use kraken_aws::{Aws, fields::listed, missing::ignore_codes};
use kraken_kind::Failure;

use super::observed::Policy;
use crate::{
    iam::{
        IamClients as _,
        types::{PolicyGroup, PolicyRole, PolicyUser, PolicyVersion},
    },
    named::{NOT_FOUND, not_yet},
};

/// The maximum number of versions.
const MAX_VERSIONS: usize = 5;
const CREATE: &str = "failed to create a version of the policy";
const DELETE: &str = "failed to delete the policy";

/// The ids of the versions that are not the default, the oldest first.
fn others(versions: Vec<PolicyVersion>) -> Vec<String> {
    let not_default = versions.into_iter().filter(|version| !version.is_default_version);
    let mut ids: Vec<String> = not_default.filter_map(|version| version.version_id).collect();
    // They are numbered: v1 to v12.
    ids.sort_by_key(|id| id.trim_start_matches('v').parse::<u64>().unwrap_or_default());
    ids
}

async fn versions(aws: &Aws, arn: &str) -> Result<Vec<PolicyVersion>, Failure> {
    let pages = aws.iam().list_policy_versions().policy_arn(arn).into_paginator().send();
    aws.items("ListPolicyVersions", "failed to list the versions of the policy", pages, |page| page.versions)
        .await
}

async fn delete_version(aws: &Aws, arn: &str, id: &str) -> Result<(), Failure> {
    let call = aws.iam().delete_policy_version().policy_arn(arn).version_id(id);
    let answer =
        aws.call("DeletePolicyVersion", "failed to delete a version of the policy", call.send()).await;
    ignore_codes(answer, &[NOT_FOUND])
}

/// Creates a new default version, after deleting the oldest other one if there are as many as IAM keeps.
/// A stale observation must not lead to more versions.
pub(super) async fn create(aws: &Aws, policy: &Policy, document: &str) -> Result<(), Failure> {
    let arn = policy.arn.as_str();
    let all = versions(aws, arn).await?;
    let is_observed = |version: &PolicyVersion| version.version_id() == Some(&policy.default_version_id);
    if !all.iter().filter(|version| version.is_default_version).all(is_observed) {
        return Err(not_yet(CREATE, "it has another default version since it was read".to_owned()));
    }
    if all.len() >= MAX_VERSIONS
        && let Some(oldest) = others(all).first()
    {
        delete_version(aws, arn, oldest).await?;
    }
    let call = aws.iam_once().create_policy_version().policy_arn(arn).policy_document(document);
    aws.call("CreatePolicyVersion", CREATE, call.set_as_default(true).send()).await.map(drop)
}

/// A policy in use keeps its versions, and the failure names its users.
pub(super) async fn delete_policy(aws: &Aws, policy: &Policy) -> Result<(), Failure> {
    let users = users(aws, &policy.arn).await?;
    if !users.is_empty() {
        return Err(not_yet(DELETE, format!("it is in use by {}", listed(&users))));
    }
    for id in others(versions(aws, &policy.arn).await?) {
        delete_version(aws, &policy.arn, &id).await?;
    }
    let call = aws.iam().delete_policy().policy_arn(&policy.arn);
    aws.call("DeletePolicy", DELETE, call.send()).await.map(drop)
}

/// Roles, users and groups to which the policy is attached, and those whose permissions boundary it is.
async fn users(aws: &Aws, arn: &str) -> Result<Vec<String>, Failure> {
    let pages = aws.iam().list_entities_for_policy().policy_arn(arn).into_paginator().send();
    let action = "failed to list the users of the policy";
    let mut named = vec![];
    for page in aws.pages("ListEntitiesForPolicy", action, pages).await? {
        let role = |role: &PolicyRole| Some(format!("role {}", role.role_name()?));
        let user = |user: &PolicyUser| Some(format!("user {}", user.user_name()?));
        let group = |group: &PolicyGroup| Some(format!("group {}", group.group_name()?));
        named.extend(page.policy_roles().iter().filter_map(role));
        named.extend(page.policy_users().iter().filter_map(user));
        named.extend(page.policy_groups().iter().filter_map(group));
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_version_that_is_not_the_default_is_first() {
        let version = |id: &str, is_default| {
            PolicyVersion::builder().version_id(id).is_default_version(is_default).build()
        };
        let all =
            vec![version("v10", false), version("v12", false), version("v2", true), version("v9", false)];
        assert_eq!(others(all), ["v9", "v10", "v12"]);
    }
}
