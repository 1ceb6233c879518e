//! The calls of repositories.

use futures::try_join;
use kraken_aws::{
    Tags,
    errors::terminal,
    lookup_kind::passing,
    missing::{existing, or_nothing},
    observed::WithTags as _,
    prelude::*,
};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired, RepositorySpec},
    observed::{Policies, Repository},
};
use crate::ecr::{
    self, AT_ONCE, EcrClients as _, to_sdk,
    types::{EncryptionConfiguration, ImageScanningConfiguration},
};

const CREATE: &str = "failed to create the repository";
/// The maximum number of repositories in one call.
const PAGE: usize = 100;

/// The kind Repository.
pub(crate) struct Repositories;

impl AwsResource for Repositories {
    type Kind = api::Repository;
    /// By its name, which is unique in the account and region: AWS rejects a second one, whatever its settings are.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Repository>, Failure> {
        let mut found = vec![];
        match query.ids {
            Some(names) => {
                for some in names.chunks(PAGE) {
                    found.extend(described(aws, Some(some.to_vec())).await?);
                }
            }
            None => found = described(aws, None).await?,
        }
        let each = found.into_iter().map(|repository| with_tags(aws, repository));
        Ok(passing(query.filters.as_deref(), existing(AT_ONCE, each).await?))
    }

    async fn complete(aws: &Aws, repository: &mut Repository, deep: bool) -> Result<(), Failure> {
        if deep {
            repository.policies = Some(Box::pin(policies(aws, &repository.repository_name)).await?);
        }
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Repository, Failure> {
        let Desired {
            name,
            image_tag_mutability,
            scan_on_push,
            encryption_type,
            kms_key_id,
            lifecycle_policy: _, // policies follow
            policy: _,
        } = desired;
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        let encryption = exposed(encryption_type.as_ref()).map(|encryption| {
            let encryption = EncryptionConfiguration::builder().encryption_type(encryption.as_str().into());
            encryption.set_kms_key(exposed(kms_key_id.as_ref())).build()
        });
        let encryption = encryption.transpose().map_err(|error| terminal(CREATE, error.to_string()))?;
        let mutability = exposed(image_tag_mutability.as_ref());
        let call = aws
            .ecr_once()
            .create_repository()
            .repository_name(&name)
            .set_image_tag_mutability(mutability.map(|mutability| mutability.as_str().into()))
            .set_image_scanning_configuration(exposed(scan_on_push.as_ref()).map(scanning))
            .set_encryption_configuration(encryption)
            .set_tags(Some(to_sdk(creation.tags)));
        match aws.call("CreateRepository", CREATE, call.send()).await {
            Err(failure) if failure.class == FailureClass::TokenUsed => {
                let mut holders = Self::read(aws, DescribeQuery::of(&name)).await?;
                match holders.pop() {
                    Some(own) if creation.has_created(&own.tags) => Ok(own),
                    holder => Err(creation.is_taken(failure, &format!("the name {name}"), holder.as_slice())),
                }
            }
            made => {
                let made = made?.repository.map(Repository::from).unwrap_or_default();
                Ok(made.with_tags(creation.tags.clone()))
            }
        }
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        repository: &Repository,
    ) -> Result<(), Failure> {
        let (ecr, name) = (aws.ecr(), &repository.repository_name);
        match change {
            Change::Mutability => {
                let mutability = exposed(desired.image_tag_mutability.as_ref());
                let call = ecr.put_image_tag_mutability().repository_name(name);
                let call = call.set_image_tag_mutability(mutability.map(|one| one.as_str().into())).send();
                let action = "failed to change the mutability of tags";
                aws.call("PutImageTagMutability", action, call).await.map(drop)
            }
            Change::Scanning => {
                let call = ecr.put_image_scanning_configuration().repository_name(name);
                let scanning = exposed(desired.scan_on_push.as_ref()).map(scanning);
                let call = call.set_image_scanning_configuration(scanning).send();
                let action = "failed to change the scanning of the repository";
                aws.call("PutImageScanningConfiguration", action, call).await.map(drop)
            }
            Change::Lifecycle => {
                let action = "failed to change the lifecycle policy";
                let policy = desired.lifecycle_policy.as_ref().map(Resolved::expose);
                if let Some(policy) = policy.filter(|policy| !policy.is_empty()) {
                    let text = serde_json::json!(policy).to_string();
                    let call = ecr.put_lifecycle_policy().repository_name(name).lifecycle_policy_text(text);
                    return aws.call("PutLifecyclePolicy", action, call.send()).await.map(drop);
                }
                let call = ecr.delete_lifecycle_policy().repository_name(name).send();
                let answer = aws.call("DeleteLifecyclePolicy", action, call).await;
                ignore_codes(answer, &["LifecyclePolicyNotFoundException"])
            }
            Change::Policy => {
                let action = "failed to change the repository policy";
                let policy = desired.policy.as_ref().filter(|policy| !policy.expose().is_empty());
                if let Some(policy) = policy {
                    let call = ecr.set_repository_policy().repository_name(name);
                    let call = call.policy_text(policy.expose().text()).send();
                    return aws.call("SetRepositoryPolicy", action, call).await.map(drop);
                }
                let call = ecr.delete_repository_policy().repository_name(name).send();
                let answer = aws.call("DeleteRepositoryPolicy", action, call).await;
                ignore_codes(answer, &["RepositoryPolicyNotFoundException"])
            }
        }
    }

    fn to_delete(spec: &RepositorySpec, repository: &mut Repository) {
        repository.is_emptied = spec.empty_on_deletion == Some(true);
    }

    async fn delete(aws: &Aws, repository: &Repository) -> Result<(), Failure> {
        let call = aws.ecr().delete_repository().repository_name(&repository.repository_name);
        let call = call.force(repository.is_emptied).send();
        let answer = aws.call("DeleteRepository", "failed to delete the repository", call).await;
        answer.map(drop).map_err(not_empty)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        let call = aws.ecr().tag_resource().resource_arn(id).set_tags(Some(to_sdk(tags))).send();
        aws.call("TagResource", "failed to set tags", call).await.map(drop)
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let call = aws.ecr().untag_resource().resource_arn(id).set_tag_keys(Some(keys)).send();
        aws.call("UntagResource", "failed to remove tags", call).await.map(drop)
    }
}

fn scanning(scan_on_push: bool) -> ImageScanningConfiguration {
    ImageScanningConfiguration::builder().scan_on_push(scan_on_push).build()
}

/// AWS's error for the deletion of a repository with images.
pub(super) fn not_empty(failure: Failure) -> Failure {
    if failure.code != "RepositoryNotEmptyException" {
        return failure;
    }
    let message = format!(
        "{}: delete its images, or set spec.emptyOnDeletion to true, so that AWS deletes them with it",
        failure.message.trim_end_matches('.')
    );
    Failure { class: FailureClass::Protected, message, ..failure }
}

/// The repositories with these names, or all, without tags. AWS rejects the call for a name that does not exist.
async fn described(aws: &Aws, names: Option<Vec<String>>) -> Result<Vec<Repository>, Failure> {
    let call = aws.ecr().describe_repositories().set_repository_names(names);
    let (action, pages) = ("failed to describe repositories", call.into_paginator().send());
    aws.items("DescribeRepositories", action, pages, |page| page.repositories).await
}

/// The repository with its tags; none if it was deleted in between.
async fn with_tags(aws: &Aws, repository: Repository) -> Result<Option<Repository>, Failure> {
    let call = aws.ecr().list_tags_for_resource().resource_arn(&repository.repository_arn).send();
    let answer = aws.call("ListTagsForResource", "failed to read the tags of the repository", call).await;
    or_nothing(answer.map(|answer| Some(repository.with_tags(ecr::tags(answer.tags)))))
}

async fn policies(aws: &Aws, name: &str) -> Result<Policies, Failure> {
    let (ecr, action) = (aws.ecr(), "failed to read the policies of the repository");
    let lifecycle = ecr.get_lifecycle_policy().repository_name(name).send();
    let policy = ecr.get_repository_policy().repository_name(name).send();
    let (lifecycle, policy) = try_join!(
        async {
            let answer = aws.call("GetLifecyclePolicy", action, lifecycle).await;
            unless(answer.map(|answer| answer.lifecycle_policy_text), "LifecyclePolicyNotFoundException")
        },
        async {
            let answer = aws.call("GetRepositoryPolicy", action, policy).await;
            unless(answer.map(|answer| answer.policy_text), "RepositoryPolicyNotFoundException")
        },
    )?;
    Ok(Policies::new(lifecycle.as_deref(), policy))
}

/// Nothing, if AWS has no such policy.
fn unless(answer: Result<Option<String>, Failure>, code: &str) -> Result<Option<String>, Failure> {
    match answer {
        Err(failure) if failure.code == code => Ok(None),
        answer => answer,
    }
}
