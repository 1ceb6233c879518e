//! The calls of instance profiles.

use kraken_aws::prelude::*;

use super::{
    api::{self, Change, Desired},
    observed::InstanceProfile,
};
use crate::{
    iam::{IamClients as _, to_sdk},
    named::{self, NOT_FOUND, Named, PAGE, if_exists, name_of},
};

const CREATE: &str = "failed to create the instance profile";

/// The kind InstanceProfile.
pub(crate) struct InstanceProfiles;

impl Named for InstanceProfile {
    const ARN_PART: &'static str = ":instance-profile/";
    // A list has no tags: reading each costs one call less.
    const FEW: usize = usize::MAX;

    fn name(&self) -> &str {
        &self.instance_profile_name
    }

    async fn get(aws: &Aws, arn: &str) -> Result<Option<Self>, Failure> {
        let call = aws.iam().get_instance_profile().instance_profile_name(name_of(arn));
        let read = aws.call("GetInstanceProfile", "failed to read the instance profile", call.send()).await;
        let found = if_exists(read)?.and_then(|read| read.instance_profile).map(Self::from);
        Ok(found.filter(|profile| profile.arn == arn))
    }

    async fn list(aws: &Aws) -> Result<Vec<Self>, Failure> {
        let pages = aws.iam().list_instance_profiles().max_items(PAGE).into_paginator().send();
        let action = "failed to list instance profiles";
        aws.items("ListInstanceProfiles", action, pages, |page| Some(page.instance_profiles)).await
    }

    async fn completed(self, aws: &Aws) -> Result<Option<Self>, Failure> {
        Self::get(aws, &self.arn).await
    }
}

impl AwsResource for InstanceProfiles {
    type Kind = api::InstanceProfile;
    /// By its name, which is unique in the account.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    named::calls!(
        InstanceProfile,
        instance_profile_name,
        tag_instance_profile = "TagInstanceProfile",
        untag_instance_profile = "UntagInstanceProfile"
    );

    async fn create(
        aws: &Aws,
        desired: &Desired,
        creation: &Creation<'_>,
    ) -> Result<InstanceProfile, Failure> {
        // The role is added by a change.
        let Desired { name, path, role: _ } = desired;
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        let call = aws
            .iam_once()
            .create_instance_profile()
            .instance_profile_name(&name)
            .set_path(exposed(path.as_ref()))
            .set_tags(Some(to_sdk(creation.tags)));
        let made = aws.call("CreateInstanceProfile", CREATE, call.send()).await;
        let made = named::created::<InstanceProfile, _>(aws, &name, creation, made).await?;
        let tags = creation.tags.clone();
        Ok(made.instance_profile.map(|made| InstanceProfile { tags, ..made.into() }).unwrap_or_default())
    }

    /// The new role is read first: if it does not exist, instances keep the old one.
    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        profile: &InstanceProfile,
    ) -> Result<(), Failure> {
        let Change::Role = change;
        let wanted = name_of(desired.role.expose());
        if !profile.roles.is_empty() {
            let call = aws.iam().get_role().role_name(wanted);
            aws.call("GetRole", "failed to read the role", call.send()).await?;
        }
        remove_roles(aws, profile).await?;
        let call = aws.iam().add_role_to_instance_profile();
        let call = call.instance_profile_name(&profile.instance_profile_name).role_name(wanted);
        let action = "failed to add the role to the instance profile";
        aws.call("AddRoleToInstanceProfile", action, call.send()).await.map(drop)
    }

    async fn delete(aws: &Aws, profile: &InstanceProfile) -> Result<(), Failure> {
        remove_roles(aws, profile).await?;
        let call = aws.iam().delete_instance_profile().instance_profile_name(&profile.instance_profile_name);
        let action = "failed to delete the instance profile";
        aws.call("DeleteInstanceProfile", action, call.send()).await.map(drop)
    }
}

async fn remove_roles(aws: &Aws, profile: &InstanceProfile) -> Result<(), Failure> {
    for role in &profile.roles {
        let call = aws.iam().remove_role_from_instance_profile();
        let call = call.instance_profile_name(&profile.instance_profile_name).role_name(&role.role_name);
        let action = "failed to remove the role from the instance profile";
        let answer = aws.call("RemoveRoleFromInstanceProfile", action, call.send()).await;
        ignore_codes(answer, &[NOT_FOUND])?;
    }
    Ok(())
}
