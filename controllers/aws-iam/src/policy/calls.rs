//! The calls of policies.

use kraken_aws::prelude::*;

use super::{
    api::{self, Change, Desired},
    observed::Policy,
    versions,
};
use crate::{
    document::decoded,
    iam::{
        self, IamClients as _, to_sdk,
        types::{EntityType, Tag},
    },
    named::{self, Named, PAGE, if_exists},
};

const CREATE: &str = "failed to create the policy";

/// The kind Policy.
pub(crate) struct Policies;

impl Named for Policy {
    const ARN_PART: &'static str = ":policy/";
    // A policy costs two calls; in a list of all, a thousand cost one, and one more for the tags of each.
    const FEW: usize = 8;

    fn name(&self) -> &str {
        &self.policy_name
    }

    async fn get(aws: &Aws, arn: &str) -> Result<Option<Self>, Failure> {
        let call = aws.iam().get_policy().policy_arn(arn);
        let found = if_exists(aws.call("GetPolicy", "failed to read the policy", call.send()).await)?;
        let Some(mut policy) = found.and_then(|found| found.policy).map(Self::from) else { return Ok(None) };
        let call = aws.iam().get_policy_version().policy_arn(arn).version_id(&policy.default_version_id);
        let read =
            aws.call("GetPolicyVersion", "failed to read the document of the policy", call.send()).await;
        // A version that was deleted since is not the default any more: the next observation reads the new one.
        let version = if_exists(read)?.and_then(|read| read.policy_version);
        policy.document = decoded(version.and_then(|version| version.document));
        Ok(Some(policy))
    }

    async fn list(aws: &Aws) -> Result<Vec<Self>, Failure> {
        let call = aws.iam().get_account_authorization_details().filter(EntityType::LocalManagedPolicy);
        let (action, pages) = ("failed to read all policies", call.max_items(PAGE).into_paginator().send());
        aws.items("GetAccountAuthorizationDetails", action, pages, |page| page.policies).await
    }

    async fn completed(self, aws: &Aws) -> Result<Option<Self>, Failure> {
        let pages = aws.iam().list_policy_tags().policy_arn(&self.arn).into_paginator().send();
        let action = "failed to read the tags of the policy";
        let tags: Result<Vec<Tag>, Failure> =
            aws.items("ListPolicyTags", action, pages, |page| Some(page.tags)).await;
        Ok(if_exists(tags)?.map(|tags| Self { tags: iam::tags(Some(tags)), ..self }))
    }
}

impl AwsResource for Policies {
    type Kind = api::Policy;
    /// By its name, which is unique in the account.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    named::calls!(Policy, policy_arn, tag_policy = "TagPolicy", untag_policy = "UntagPolicy");

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Policy, Failure> {
        let Desired { name, path, description, document } = desired;
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        let call = aws
            .iam_once()
            .create_policy()
            .policy_name(&name)
            .set_path(exposed(path.as_ref()))
            .set_description(exposed(description.as_ref()).filter(|text| !text.is_empty()))
            .policy_document(document.expose().text())
            .set_tags(Some(to_sdk(creation.tags)));
        let made = aws.call("CreatePolicy", CREATE, call.send()).await;
        let made = named::created::<Policy, _>(aws, &name, creation, made).await?;
        Ok(made
            .policy
            .map(|policy| Policy { tags: creation.tags.clone(), ..policy.into() })
            .unwrap_or_default())
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, policy: &Policy) -> Result<(), Failure> {
        let Change::Version = change;
        versions::create(aws, policy, &desired.document.expose().text()).await
    }

    async fn delete(aws: &Aws, policy: &Policy) -> Result<(), Failure> {
        versions::delete_policy(aws, policy).await
    }
}
