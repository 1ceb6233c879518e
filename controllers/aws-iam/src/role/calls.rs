//! The calls of roles.

use std::collections::BTreeMap;

use kraken_aws::{errors::terminal, prelude::*};

use super::{
    api::{self, Change, Desired},
    deletion, import,
    observed::{Role, arns},
};
use crate::{
    document::decoded,
    iam::{
        IamClients as _, to_sdk,
        types::{EntityType, RoleDetail},
    },
    named::{self, NOT_FOUND, Named, PAGE, if_exists, name_of},
};

const CREATE: &str = "failed to create the role";

/// The kind Role.
pub(crate) struct Roles;

impl Named for Role {
    const ARN_PART: &'static str = ":role/";
    // A role costs three calls, and one more for each inline policy; a list of all costs two for a thousand.
    const FEW: usize = 8;

    fn name(&self) -> &str {
        &self.role_name
    }

    async fn get(aws: &Aws, arn: &str) -> Result<Option<Self>, Failure> {
        if_exists(role(aws, name_of(arn)).await).map(|role| role.filter(|role| role.arn == arn))
    }

    /// The description is only in one answer, and policies and tags are only in the other.
    async fn list(aws: &Aws) -> Result<Vec<Self>, Failure> {
        let pages = aws.iam().list_roles().max_items(PAGE).into_paginator().send();
        let roles: Vec<Self> =
            aws.items("ListRoles", "failed to list roles", pages, |page| Some(page.roles)).await?;
        let call = aws.iam().get_account_authorization_details().filter(EntityType::Role).max_items(PAGE);
        let (action, pages) = ("failed to read the policies of all roles", call.into_paginator().send());
        let details: Vec<RoleDetail> =
            aws.items("GetAccountAuthorizationDetails", action, pages, |page| page.role_detail_list).await?;
        let mut details: BTreeMap<_, _> =
            details.into_iter().map(|detail| (detail.arn.clone().unwrap_or_default(), detail)).collect();
        let with_details = |role: Self| Some((details.remove(&role.arn)?, role));
        Ok(roles
            .into_iter()
            .filter_map(with_details)
            .map(|(detail, role)| role.with_details(detail))
            .collect())
    }

    async fn completed(self, _: &Aws) -> Result<Option<Self>, Failure> {
        Ok(Some(self))
    }
}

impl AwsResource for Roles {
    type Kind = api::Role;
    /// By its name, which is unique in the account.
    const FEATURES: Features = Features {
        is_idempotent: true,
        idempotent_by_name: true,
        ordered_fields: &["inlinePolicies"],
        ..Features::NONE
    };
    const IN_VPC: &'static str = "";

    named::calls!(Role, role_name, tag_role = "TagRole", untag_role = "UntagRole");

    fn not_importable(role: &Role) -> Option<String> {
        import::not_importable(role)
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Role, Failure> {
        // Policies are attached by changes.
        let Desired {
            name,
            path,
            description,
            trust_policy,
            managed_policy_arns: _,
            inline_policies: _,
            permissions_boundary,
            max_session_duration_seconds,
        } = desired;
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        let call = aws
            .iam_once()
            .create_role()
            .role_name(&name)
            .set_path(exposed(path.as_ref()))
            .set_description(exposed(description.as_ref()).filter(|text| !text.is_empty()))
            .assume_role_policy_document(trust_policy.expose().text())
            .set_permissions_boundary(exposed(permissions_boundary.as_ref()).filter(|arn| !arn.is_empty()))
            .set_max_session_duration(exposed(max_session_duration_seconds.as_ref()))
            .set_tags(Some(to_sdk(creation.tags)));
        let made = aws.call("CreateRole", CREATE, call.send()).await;
        let made = named::created::<Role, _>(aws, &name, creation, made).await?;
        Ok(made.role.map(|role| Role { tags: creation.tags.clone(), ..role.into() }).unwrap_or_default())
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, role: &Role) -> Result<(), Failure> {
        let (iam, name) = (aws.iam(), role.role_name.as_str());
        match change {
            Change::Settings => {
                let description = exposed(desired.description.as_ref());
                let duration = exposed(desired.max_session_duration_seconds.as_ref());
                let call = iam
                    .update_role()
                    .role_name(name)
                    .description(description.unwrap_or_else(|| role.description.clone()))
                    .set_max_session_duration(duration.or(role.max_session_duration));
                aws.call("UpdateRole", "failed to change the role", call.send()).await.map(drop)
            }
            Change::TrustPolicy => {
                let document = desired.trust_policy.expose().text();
                let call = iam.update_assume_role_policy().role_name(name).policy_document(document);
                let action = "failed to change the trust policy";
                aws.call("UpdateAssumeRolePolicy", action, call.send()).await.map(drop)
            }
            Change::Attach(arn) => {
                let call = iam.attach_role_policy().role_name(name).policy_arn(arn);
                aws.call("AttachRolePolicy", "failed to attach a policy", call.send()).await.map(drop)
            }
            Change::Detach(arn) => deletion::detach(aws, name, arn).await,
            Change::PutInline(policy) => {
                let document = desired.inline_policies.as_ref().and_then(|all| all.get(policy));
                let action = "failed to set an inline policy";
                let document =
                    document.ok_or_else(|| terminal(action, format!("{policy} is not in the spec")))?;
                let call = iam.put_role_policy().role_name(name).policy_name(policy);
                let call = call.policy_document(document.expose().text());
                aws.call("PutRolePolicy", action, call.send()).await.map(drop)
            }
            Change::DeleteInline(policy) => deletion::delete_inline(aws, name, policy).await,
            Change::Boundary => boundary(aws, name, exposed(desired.permissions_boundary.as_ref())).await,
        }
    }

    async fn delete(aws: &Aws, role: &Role) -> Result<(), Failure> {
        deletion::delete(aws, role).await
    }
}

async fn boundary(aws: &Aws, name: &str, arn: Option<String>) -> Result<(), Failure> {
    if let Some(arn) = arn.filter(|arn| !arn.is_empty()) {
        let call = aws.iam().put_role_permissions_boundary().role_name(name).permissions_boundary(arn);
        let action = "failed to set the permissions boundary";
        return aws.call("PutRolePermissionsBoundary", action, call.send()).await.map(drop);
    }
    let call = aws.iam().delete_role_permissions_boundary().role_name(name);
    let action = "failed to remove the permissions boundary";
    ignore_codes(aws.call("DeleteRolePermissionsBoundary", action, call.send()).await, &[NOT_FOUND])
}

/// One role with its policies.
async fn role(aws: &Aws, name: &str) -> Result<Role, Failure> {
    let call = aws.iam().get_role().role_name(name);
    let found = aws.call("GetRole", "failed to read the role", call.send()).await?;
    let mut role = found.role.map(Role::from).unwrap_or_default();
    let pages = aws.iam().list_attached_role_policies().role_name(name).into_paginator().send();
    let action = "failed to list the attached policies";
    role.attached_policies = arns(Some(
        aws.items("ListAttachedRolePolicies", action, pages, |page| page.attached_policies).await?,
    ));
    let pages = aws.iam().list_role_policies().role_name(name).into_paginator().send();
    let action = "failed to list the inline policies";
    let names: Vec<String> =
        aws.items("ListRolePolicies", action, pages, |page| Some(page.policy_names)).await?;
    for policy in names {
        let call = aws.iam().get_role_policy().role_name(name).policy_name(&policy);
        let read = aws.call("GetRolePolicy", "failed to read an inline policy", call.send()).await;
        if let Some(read) = if_exists(read)? {
            role.inline_policies.insert(policy, decoded(Some(read.policy_document)));
        }
    }
    Ok(role)
}
