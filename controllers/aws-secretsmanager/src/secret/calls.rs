//! The calls of secrets.

use std::borrow::Cow;

use kraken_aws::{
    Tags,
    errors::undecided,
    lookup_kind::passing,
    missing::{existing, or_nothing},
    prelude::*,
};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired, SecretSpec},
    holder::{CREATE, Holder, is_scheduled, is_taken, whose},
    observed::Secret,
    value,
};
use crate::secrets::{AT_ONCE, SecretsClients as _, to_sdk};

/// The maximum page size.
const PAGE: i32 = 100;

/// The kind SecretsManagerSecret.
pub(crate) struct Secrets;

impl AwsResource for Secrets {
    type Kind = api::SecretsManagerSecret;
    /// By its token, and by its name: a call with another value or name is not that of the token.
    const FEATURES: Features =
        Features { is_idempotent: true, idempotent_by_name: true, shows_deleted: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    fn contains(spec: &SecretSpec) -> Cow<'static, str> {
        spec.contains()
    }

    fn not_importable(secret: &Secret) -> Option<String> {
        if let Some(service) = &secret.owning_service {
            return Some(format!("it is managed by {service}"));
        }
        let region = secret.primary_region.as_ref().filter(|region| *region != secret.region())?;
        Some(format!("it is a replica of a secret in {region}, which manages it"))
    }

    fn import_notes(_: &Secret) -> Vec<String> {
        vec!["secretString: the value is not read; while it is not set, it is not managed".to_owned()]
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Secret>, Failure> {
        let found = if let Some(arns) = query.ids {
            let each = arns.into_iter().filter(|arn| Secret::is_arn(arn)).map(|arn| async move {
                let found = described(aws, &arn).await?;
                // AWS accepts the beginning of an ARN, too.
                Ok::<_, Failure>(found.filter(|secret| secret.arn == arn))
            });
            existing(AT_ONCE, each).await?
        } else {
            let call = aws.secrets().list_secrets().include_planned_deletion(true).max_results(PAGE);
            let (action, pages) = ("failed to list secrets", call.into_paginator().send());
            aws.items("ListSecrets", action, pages, |page| page.secret_list).await?
        };
        Ok(passing(query.filters.as_deref(), found))
    }

    async fn complete(aws: &Aws, secret: &mut Secret, deep: bool) -> Result<(), Failure> {
        if deep {
            let call = aws.secrets().get_resource_policy().secret_id(&secret.arn).send();
            let answer =
                aws.call("GetResourcePolicy", "failed to read the policy of the secret", call).await?;
            secret.policy = Some(answer.resource_policy.unwrap_or_default());
        }
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Secret, Failure> {
        let Desired { name, description, kms_key_id, secret_string, policy: _ } = desired; // the policy follows
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        let token = &creation.launch.token;
        let version = value::version(desired, &name, token).unwrap_or_else(|| token.clone());
        let call = aws
            .secrets_once()
            .create_secret()
            .name(&name)
            .client_request_token(&version)
            .set_description(exposed(description.as_ref()).filter(|text| !text.is_empty()))
            .set_kms_key_id(exposed(kms_key_id.as_ref()))
            .set_secret_string(exposed(secret_string.as_ref()))
            .set_tags(Some(to_sdk(creation.tags)));
        match aws.call("CreateSecret", CREATE, call.send()).await {
            Err(failure) if failure.class == FailureClass::TokenUsed || is_scheduled(&failure) => {
                Box::pin(own_or_taken(aws, failure, &name, creation)).await
            }
            made => {
                let made = made?;
                Ok(Secret {
                    arn: made.arn.unwrap_or_default(),
                    name,
                    description: exposed(description.as_ref()).unwrap_or_default(),
                    kms_key_id: exposed(kms_key_id.as_ref()),
                    version: made.version_id,
                    tags: creation.tags.clone(),
                    ..Secret::default()
                })
            }
        }
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, secret: &Secret) -> Result<(), Failure> {
        let (secrets, id) = (aws.secrets(), &secret.arn);
        match change {
            Change::Description => {
                let call = secrets.update_secret().secret_id(id);
                let call = call.set_description(exposed(desired.description.as_ref())).send();
                aws.call("UpdateSecret", "failed to change the description of the secret", call)
                    .await
                    .map(drop)
            }
            Change::Key => {
                let call = secrets.update_secret().secret_id(id);
                let call = call.set_kms_key_id(exposed(desired.kms_key_id.as_ref())).send();
                aws.call("UpdateSecret", "failed to change the key of the secret", call).await.map(drop)
            }
            Change::Value => {
                let before = secret.version.as_deref().unwrap_or_default();
                let call = secrets
                    .put_secret_value()
                    .secret_id(id)
                    .set_client_request_token(value::version(desired, &secret.name, before))
                    .set_secret_string(exposed(desired.secret_string.as_ref()))
                    .send();
                aws.call("PutSecretValue", "failed to change the value of the secret", call).await.map(drop)
            }
            Change::Policy => {
                let action = "failed to change the policy of the secret";
                let policy = desired.policy.as_ref().filter(|policy| !policy.expose().is_empty());
                if let Some(policy) = policy {
                    let call = secrets.put_resource_policy().secret_id(id);
                    let call = call.resource_policy(policy.expose().text()).send();
                    return aws.call("PutResourcePolicy", action, call).await.map(drop);
                }
                let call = secrets.delete_resource_policy().secret_id(id).send();
                aws.call("DeleteResourcePolicy", action, call).await.map(drop)
            }
        }
    }

    fn to_delete(spec: &SecretSpec, secret: &mut Secret) {
        secret.recovery_window_days = spec.recovery_window_days();
    }

    async fn delete(aws: &Aws, secret: &Secret) -> Result<(), Failure> {
        let days = i64::from(secret.recovery_window_days);
        let call = aws.secrets().delete_secret().secret_id(&secret.arn);
        let call = if days == 0 {
            call.force_delete_without_recovery(true)
        } else {
            call.recovery_window_in_days(days)
        };
        match aws.call("DeleteSecret", "failed to delete the secret", call.send()).await {
            // By a former attempt.
            Err(failure) if is_scheduled(&failure) => Ok(()),
            answer => answer.map(drop),
        }
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        let call = aws.secrets().tag_resource().secret_id(id).set_tags(Some(to_sdk(tags))).send();
        aws.call("TagResource", "failed to set tags", call).await.map(drop)
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let call = aws.secrets().untag_resource().secret_id(id).set_tag_keys(Some(keys)).send();
        aws.call("UntagResource", "failed to remove tags", call).await.map(drop)
    }
}

/// The secret with the name that is in use: the one of this launch; or one of a former resource of the name, taken back; else why not.
async fn own_or_taken(
    aws: &Aws,
    failure: Failure,
    name: &str,
    creation: &Creation<'_>,
) -> Result<Secret, Failure> {
    let Some(holder) = described(aws, name).await? else {
        // It was deleted in between, or its deletion is not complete.
        return Err(Failure { class: FailureClass::NotYet, ..failure });
    };
    match whose(&holder, creation) {
        Holder::Launch => Ok(holder),
        Holder::Deleted => {
            let call = aws.secrets().restore_secret().secret_id(&holder.arn).send();
            aws.call("RestoreSecret", "failed to restore the secret", call).await?;
            claimed(aws, holder, creation).await
        }
        Holder::Former => claimed(aws, holder, creation).await,
        Holder::Other => Err(is_taken(failure, name, holder, creation)),
    }
}

/// The secret, with the tags of this launch. A crash before leaves one of a former resource, which the next attempt takes.
async fn claimed(aws: &Aws, secret: Secret, creation: &Creation<'_>) -> Result<Secret, Failure> {
    Secrets::set_tags(aws, &secret.arn, creation.tags).await.map_err(undecided)?;
    let mut tags = secret.tags;
    tags.extend(creation.tags.clone());
    Ok(Secret { tags, deleted_date: None, ..secret })
}

/// The secret with this ARN or name, also if it is scheduled for deletion; none if it does not exist.
async fn described(aws: &Aws, id: &str) -> Result<Option<Secret>, Failure> {
    let call = aws.secrets().describe_secret().secret_id(id).send();
    let answer = aws.call("DescribeSecret", "failed to describe the secret", call).await;
    or_nothing(answer.map(|answer| Some(Secret::from(answer))))
}
