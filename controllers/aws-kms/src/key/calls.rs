//! The calls of keys.

use std::borrow::Cow;

use kraken_aws::{
    AwsSpec as _, Tags,
    errors::{invisible, undecided},
    lookup_kind::{passes, tag},
    missing::{existing, or_nothing},
    observed::WithTags as _,
    prelude::*,
    resource::{Phase, RemoteObject as _},
    tags::{UID, epoch},
};

use super::{
    api::{self, Change, Desired, KeySpec},
    observed::{Key, Settings},
};
use crate::kms::{self, AT_ONCE, KmsClients as _, permitted, to_sdk};

const CREATE: &str = "failed to create the key";
/// The only policy of a key.
const POLICY: &str = "default";

/// The kind Key.
pub(crate) struct Keys;

impl AwsResource for Keys {
    type Kind = api::Key;
    /// The call has no token, and a key no name: a creation without a known result is waited for, and searched by its tags.
    const FEATURES: Features = Features {
        shows_deleted: true,
        // A disabled key cannot be rotated.
        ordered_fields: &["enableKeyRotation", "rotationPeriodDays", "enabled"],
        ..Features::NONE
    };
    const IN_VPC: &'static str = "";

    fn contains(spec: &KeySpec) -> Cow<'static, str> {
        spec.contains()
    }

    fn not_importable(key: &Key) -> Option<String> {
        if key.is_of_aws {
            return Some("it is a key of AWS".to_owned());
        }
        key.is_replica.then(|| "it is a replica of a key in another region".to_owned())
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Key>, Failure> {
        if let Some(arns) = query.ids {
            let each = arns.into_iter().filter(|arn| Key::is_arn(arn)).map(|arn| async move {
                let Some(key) = described(aws, &arn).await? else { return Ok(None) };
                let tags = kms::tags_of(aws, &arn).await?;
                Ok::<_, Failure>(tags.map(|tags| key.with_tags(tags)))
            });
            return existing(AT_ONCE, each).await;
        }
        let filters = query.filters.unwrap_or_default();
        let mut all = kms::tags_of_all(aws).await?;
        all.retain(|(_, tags)| passes(&filters, |name| tag(tags, name)));
        let each = all.into_iter().map(|(id, tags)| async move {
            let key = permitted(described(aws, &id).await)?;
            Ok::<_, Failure>(key.map(|key| key.with_tags(tags)))
        });
        let mut found: Vec<Key> = existing(AT_ONCE, each).await?;
        found.retain(|key| !key.is_of_aws);
        Ok(found)
    }

    async fn complete(aws: &Aws, key: &mut Key, deep: bool) -> Result<(), Failure> {
        if deep {
            let call = aws.kms().get_key_policy().key_id(&key.key_id).policy_name(POLICY).send();
            let policy = aws.call("GetKeyPolicy", "failed to read the policy of the key", call).await?.policy;
            let mut settings = Settings { policy: policy.unwrap_or_default(), ..Settings::default() };
            if key.can_rotate() {
                let call = aws.kms().get_key_rotation_status().key_id(&key.key_id).send();
                let action = "failed to read the rotation of the key";
                let answer = aws.call("GetKeyRotationStatus", action, call).await?;
                settings.is_rotated = answer.key_rotation_enabled;
                settings.rotation_period_days =
                    answer.rotation_period_in_days.filter(|_| answer.key_rotation_enabled);
            }
            key.settings = Some(settings);
        }
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Key, Failure> {
        let Desired {
            description,
            key_spec,
            key_usage,
            multi_region,
            policy,
            enable_key_rotation: _, // these follow
            rotation_period_days: _,
            enabled: _,
        } = desired;
        // The first launch of a resource has no former key.
        if creation.launch.epoch > 1
            && let Some(key) = Box::pin(former(aws, desired, creation)).await?
        {
            return Box::pin(restored(aws, key, desired, creation)).await;
        }
        let call = aws
            .kms_once()
            .create_key()
            .set_description(exposed(description.as_ref()))
            .set_key_spec(exposed(key_spec.as_ref()).map(|spec| spec.as_str().into()))
            .set_key_usage(exposed(key_usage.as_ref()).map(|usage| usage.as_str().into()))
            .set_multi_region(exposed(multi_region.as_ref()))
            .set_policy(policy.as_ref().map(|policy| policy.expose().text()))
            .set_tags(Some(to_sdk(creation.tags)));
        let made = aws.call("CreateKey", CREATE, call.send()).await?.key_metadata;
        Ok(made.map(Key::from).unwrap_or_default().with_tags(creation.tags.clone()))
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, key: &Key) -> Result<(), Failure> {
        let (client, id) = (aws.kms(), &key.key_id);
        match change {
            Change::Description => {
                let text = exposed(desired.description.as_ref()).unwrap_or_default();
                let call = client.update_key_description().key_id(id).description(text).send();
                let action = "failed to change the description of the key";
                aws.call("UpdateKeyDescription", action, call).await.map(drop)
            }
            Change::Policy => {
                let policy = desired.policy.as_ref().map(|policy| policy.expose().text());
                let call = client.put_key_policy().key_id(id).policy_name(POLICY).set_policy(policy).send();
                aws.call("PutKeyPolicy", "failed to change the policy of the key", call).await.map(drop)
            }
            Change::Rotation => {
                let action = "failed to change the rotation of the key";
                if exposed(desired.enable_key_rotation.as_ref()) == Some(false) {
                    let call = client.disable_key_rotation().key_id(id).send();
                    return aws.call("DisableKeyRotation", action, call).await.map(drop);
                }
                let days = exposed(desired.rotation_period_days.as_ref());
                let call = client.enable_key_rotation().key_id(id).set_rotation_period_in_days(days).send();
                aws.call("EnableKeyRotation", action, call).await.map(drop)
            }
            Change::Enabled if exposed(desired.enabled.as_ref()) == Some(false) => {
                let call = client.disable_key().key_id(id).send();
                aws.call("DisableKey", "failed to disable the key", call).await.map(drop)
            }
            Change::Enabled => enable(aws, id).await,
        }
    }

    fn to_delete(spec: &KeySpec, key: &mut Key) {
        key.deletion_window_days = spec.deletion_window_days();
    }

    async fn delete(aws: &Aws, key: &Key) -> Result<(), Failure> {
        let call = aws.kms().schedule_key_deletion().key_id(&key.key_id);
        let call = call.pending_window_in_days(key.deletion_window_days).send();
        match aws.call("ScheduleKeyDeletion", "failed to schedule the deletion of the key", call).await {
            // By a former attempt.
            Err(failure) if failure.message.contains("pending deletion") => Ok(()),
            answer => answer.map(drop),
        }
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        kms::set_tags(aws, id, tags).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        kms::remove_tags(aws, id, keys).await
    }
}

/// The key with this ARN or id, without tags; none if it does not exist.
async fn described(aws: &Aws, key: &str) -> Result<Option<Key>, Failure> {
    let call = aws.kms().describe_key().key_id(key).send();
    let answer = aws.call("DescribeKey", "failed to describe the key", call).await;
    or_nothing(answer.map(|answer| answer.key_metadata.map(Key::from)))
}

async fn enable(aws: &Aws, id: &str) -> Result<(), Failure> {
    let call = aws.kms().enable_key().key_id(id).send();
    aws.call("EnableKey", "failed to enable the key", call).await.map(drop)
}

/// The last key of this resource whose deletion can be cancelled, if it is as the spec says: somebody else requested its deletion, and what it
/// encrypted would be lost with it. A key that was replaced has another immutable field.
async fn former(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Option<Key>, Failure> {
    let uid = creation.tags.get(UID).map_or("", String::as_str);
    let found = Keys::read(aws, DescribeQuery::with(&format!("tag:{UID}"), uid)).await?;
    let found = found.into_iter().filter(|key| creation.is_own(&key.tags) && is_restorable(desired, key));
    Ok(found.max_by_key(|key| epoch(&key.tags)))
}

pub(super) fn is_restorable(desired: &Desired, key: &Key) -> bool {
    let differences = KeySpec::differences(desired, key);
    let is_other = differences.iter().any(|one| matches!(one.remedy, Remedy::Immutable(_)));
    key.phase() == Phase::Deleted && !key.is_replica && !is_other
}

/// The key, with the tags of this launch. AWS accepts no tags before the deletion is cancelled, and leaves the key disabled then.
async fn restored(aws: &Aws, key: Key, desired: &Desired, creation: &Creation<'_>) -> Result<Key, Failure> {
    let call = aws.kms().cancel_key_deletion().key_id(&key.key_id).send();
    aws.call("CancelKeyDeletion", "failed to cancel the deletion of the key", call).await?;
    if exposed(desired.enabled.as_ref()) != Some(false) {
        enable(aws, &key.key_id).await.map_err(undecided)?;
    }
    kms::set_tags(aws, &key.key_id, creation.tags).await.map_err(undecided)?;
    let found = described(aws, &key.key_id).await.map_err(undecided)?;
    let invisible = || invisible(CREATE, "the key");
    let mut tags = key.tags;
    tags.extend(creation.tags.clone());
    Ok(found.ok_or_else(invisible)?.with_tags(tags))
}
