//! The calls of buckets.

mod contents;
mod read;
mod rules;

use kraken_aws::{
    Tags,
    errors::{invisible, terminal, undecided},
    prelude::*,
};
use kraken_kind::FailureClass;

use self::read::region;
#[cfg(test)]
pub(super) use self::{contents::not_empty, rules::to_sdk as rule_to_sdk};
use super::{
    api::{self, Change, Desired, DesiredEncryption},
    lifecycle::Rule,
    observed::Bucket,
};
use crate::s3::{
    S3Clients as _,
    types::{
        BucketLifecycleConfiguration, CreateBucketConfiguration, PublicAccessBlockConfiguration,
        ServerSideEncryptionByDefault, ServerSideEncryptionConfiguration, ServerSideEncryptionRule, Tag,
        Tagging, VersioningConfiguration,
    },
};

const CREATE: &str = "failed to create the bucket";
/// The region whose name a create call must not contain, and whose create call succeeds for a bucket of the account that exists.
const FIRST_REGION: &str = "us-east-1";

/// The algorithm without a key of KMS.
const AES: &str = "AES256";

/// The kind Bucket.
pub(crate) struct Buckets;

impl AwsResource for Buckets {
    type Kind = api::Bucket;
    /// By its name, which is unique.
    /// A public policy is accepted only after the block is off.
    const FEATURES: Features = Features {
        is_idempotent: true,
        idempotent_by_name: true,
        ordered_fields: &["blockPublicAccess", "policy"],
        ..Features::NONE
    };
    const IN_VPC: &'static str = "";

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Bucket>, Failure> {
        read::read(aws, query).await
    }

    async fn complete(aws: &Aws, bucket: &mut Bucket, deep: bool) -> Result<(), Failure> {
        if deep {
            bucket.settings = Some(Box::pin(read::settings(aws, &bucket.name)).await?);
        }
        Ok(())
    }

    /// The name is read before and after. Before, because in one region the call succeeds for a bucket of the account that exists, and resets
    /// its ACL; after, because somebody may have been faster.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Bucket, Failure> {
        let Desired {
            name,
            versioning: _,
            block_public_access: _,
            encryption: _,
            lifecycle_rules: _,
            policy: _,
        } = desired; // settings follow, by one call each
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        if let Some(bucket) = found(aws, &name, creation).await? {
            return Ok(bucket);
        }
        let location = Some(region(aws)).filter(|region| *region != FIRST_REGION).map(From::from);
        let configuration = CreateBucketConfiguration::builder().set_location_constraint(location);
        let configuration = configuration.set_tags(Some(to_sdk(creation.tags))).build();
        let call =
            aws.s3_once().create_bucket().bucket(&name).create_bucket_configuration(configuration).send();
        let is_new = match aws.call("CreateBucket", CREATE, call).await {
            Err(failure) if failure.code == "BucketAlreadyExists" => return Err(of_others(failure, &name)),
            Err(failure) if failure.code == "BucketAlreadyOwnedByYou" => false,
            answer => answer.map(|_| true)?,
        };
        // A server that is no AWS may ignore the tags of the call.
        if is_new && aws.has_endpoint() {
            Self::set_tags(aws, &name, creation.tags).await.map_err(undecided)?;
        }
        let seen = match found(aws, &name, creation).await {
            Err(failure) if failure.class != FailureClass::Terminal => Err(undecided(failure)),
            seen => seen,
        };
        seen?.ok_or_else(|| invisible(CREATE, &format!("the new bucket {name}")))
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, bucket: &Bucket) -> Result<(), Failure> {
        let (s3, name) = (aws.s3(), &bucket.name);
        match change {
            Change::Versioning => {
                let status = exposed(desired.versioning.as_ref()).map(|one| one.as_str().into());
                let configuration = VersioningConfiguration::builder().set_status(status).build();
                let call = s3.put_bucket_versioning().bucket(name).versioning_configuration(configuration);
                aws.call("PutBucketVersioning", "failed to change the versioning", call.send())
                    .await
                    .map(drop)
            }
            Change::PublicAccess => {
                let on = exposed(desired.block_public_access.as_ref());
                let block = PublicAccessBlockConfiguration::builder()
                    .set_block_public_acls(on)
                    .set_ignore_public_acls(on)
                    .set_block_public_policy(on)
                    .set_restrict_public_buckets(on);
                let call = s3.put_public_access_block().bucket(name);
                let call = call.public_access_block_configuration(block.build()).send();
                let action = "failed to change the public access block";
                aws.call("PutPublicAccessBlock", action, call).await.map(drop)
            }
            Change::Encryption => {
                let action = "failed to change the encryption";
                let configuration =
                    encryption(desired, bucket).ok_or_else(|| terminal(action, "it is not in the spec"))?;
                let call = s3.put_bucket_encryption().bucket(name);
                let call = call.server_side_encryption_configuration(configuration).send();
                aws.call("PutBucketEncryption", action, call).await.map(drop)
            }
            Change::Lifecycle => {
                let action = "failed to change the lifecycle rules";
                let rules = desired.lifecycle_rules.iter().flatten();
                let rules: Vec<_> = rules.filter_map(|rule| rules::to_sdk(&Rule::from(rule))).collect();
                let configuration =
                    BucketLifecycleConfiguration::builder().set_rules(Some(rules.clone())).build();
                match configuration {
                    Ok(configuration) if !rules.is_empty() => {
                        let call = s3.put_bucket_lifecycle_configuration().bucket(name);
                        let call = call.lifecycle_configuration(configuration).send();
                        aws.call("PutBucketLifecycleConfiguration", action, call).await.map(drop)
                    }
                    _ => {
                        let call = s3.delete_bucket_lifecycle().bucket(name).send();
                        aws.call("DeleteBucketLifecycle", action, call).await.map(drop)
                    }
                }
            }
            Change::Policy => {
                let action = "failed to change the bucket policy";
                let policy = desired.policy.as_ref().filter(|policy| !policy.expose().is_empty());
                if let Some(policy) = policy {
                    let call = s3.put_bucket_policy().bucket(name).policy(policy.expose().text());
                    return aws.call("PutBucketPolicy", action, call.send()).await.map(drop);
                }
                let call = s3.delete_bucket_policy().bucket(name).send();
                aws.call("DeleteBucketPolicy", action, call).await.map(drop)
            }
        }
    }

    fn unprotected_by(spec: &api::BucketSpec) -> Option<&'static str> {
        (spec.empty_on_deletion == Some(true)).then_some("emptyOnDeletion")
    }

    async fn unprotect(aws: &Aws, bucket: &Bucket) -> Result<(), Failure> {
        contents::delete_some(aws, &bucket.name).await
    }

    async fn delete(aws: &Aws, bucket: &Bucket) -> Result<(), Failure> {
        let call = aws.s3().delete_bucket().bucket(&bucket.name).send();
        let answer = aws.call("DeleteBucket", "failed to delete the bucket", call).await;
        answer.map(drop).map_err(contents::not_empty)
    }

    /// One call sets all tags.
    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        let mut all = read::tags(aws, id).await?.unwrap_or_default();
        all.extend(tags.clone());
        put_tags(aws, id, &all).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let mut all = read::tags(aws, id).await?.unwrap_or_default();
        all.retain(|key, _| !keys.contains(&key.as_str()));
        put_tags(aws, id, &all).await
    }
}

/// The bucket with the name; none if there is none, and a failure if this launch did not create it.
async fn found(aws: &Aws, name: &str, creation: &Creation<'_>) -> Result<Option<Bucket>, Failure> {
    let tags = match read::tags(aws, name).await {
        Err(failure) if read::is_unreadable(&failure) => return Err(of_others(failure, name)),
        tags => tags?,
    };
    let Some(tags) = tags else { return Ok(None) };
    let bucket = Bucket::new(name, region(aws), tags);
    if creation.has_created(&bucket.tags) {
        return Ok(Some(bucket));
    }
    // Nobody else has a generated name.
    if bucket.tags.is_empty() && bucket.name == creation.name() {
        Buckets::set_tags(aws, name, creation.tags).await?;
        return Ok(Some(Bucket { tags: creation.tags.clone(), ..bucket }));
    }
    Err(creation.is_taken(terminal(CREATE, ""), &format!("the name {name}"), &[bucket]))
}

/// A bucket of another account, of another region, or whose policy keeps us out.
fn of_others(failure: Failure, name: &str) -> Failure {
    let message = format!(
        "the name {name} is in use by a bucket of another account, of another region, or whose tags the credentials may not read \
         (s3:GetBucketTagging): use another name"
    );
    Failure { class: FailureClass::Terminal, message, ..failure }
}

/// The call sets all of it: what the spec does not say stays as it is.
fn encryption(desired: &Desired, bucket: &Bucket) -> Option<ServerSideEncryptionConfiguration> {
    let DesiredEncryption { algorithm, kms_key_id, bucket_key_enabled } = desired.encryption.as_ref()?;
    let algorithm = exposed(algorithm.as_ref()).map(|one| one.as_str().to_owned());
    let algorithm = algorithm.or_else(|| bucket.algorithm().cloned()).unwrap_or_else(|| AES.to_owned());
    let key = exposed(kms_key_id.as_ref()).or_else(|| bucket.kms_key_id().cloned());
    let default = ServerSideEncryptionByDefault::builder()
        .sse_algorithm(algorithm.as_str().into())
        .set_kms_master_key_id(key.filter(|_| algorithm != AES));
    let rule = ServerSideEncryptionRule::builder()
        .apply_server_side_encryption_by_default(default.build().ok()?)
        .set_bucket_key_enabled(exposed(bucket_key_enabled.as_ref()).or(bucket.bucket_key().copied()));
    ServerSideEncryptionConfiguration::builder().rules(rule.build()).build().ok()
}

async fn put_tags(aws: &Aws, name: &str, tags: &Tags) -> Result<(), Failure> {
    let action = "failed to set tags";
    if tags.is_empty() {
        let call = aws.s3().delete_bucket_tagging().bucket(name).send();
        return aws.call("DeleteBucketTagging", action, call).await.map(drop);
    }
    let tagging = Tagging::builder().set_tag_set(Some(to_sdk(tags))).build();
    let tagging = tagging.map_err(|error| terminal(action, error.to_string()))?;
    let call = aws.s3().put_bucket_tagging().bucket(name).tagging(tagging).send();
    aws.call("PutBucketTagging", action, call).await.map(drop)
}

fn to_sdk(tags: &Tags) -> Vec<Tag> {
    let one = |(key, value): (&String, &String)| Tag::builder().key(key).value(value).build().ok();
    tags.iter().filter_map(one).collect()
}
