//! Reads of buckets: the tags with each observation, which also show that the bucket exists; the settings in deep ones.

use futures::try_join;
use kraken_aws::{Tags, lookup_kind::passing, missing::existing, prelude::*};

use super::super::{
    lifecycle::Rule,
    observed::{Bucket, Settings},
};
use crate::s3::{AT_ONCE, S3Clients as _, types};

/// The maximum page size.
const PAGE: i32 = 1_000;

pub(super) async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Bucket>, Failure> {
    let is_search = query.ids.is_none();
    let names = match query.ids {
        Some(names) => names,
        None => listed(aws).await?,
    };
    let each = names.into_iter().map(|name| async move {
        match tags(aws, &name).await {
            Ok(tags) => Ok(tags.map(|tags| Bucket::new(&name, region(aws), tags))),
            // A bucket whose policy does not let us read its tags, or that was created in another region, must not hide others.
            Err(failure) if is_search && is_unreadable(&failure) => Ok(None),
            Err(failure) => Err(failure),
        }
    });
    Ok(passing(query.filters.as_deref(), existing(AT_ONCE, each).await?))
}

pub(super) fn region(aws: &Aws) -> &str {
    aws.region().unwrap_or_default()
}

pub(super) fn is_unreadable(failure: &Failure) -> bool {
    matches!(failure.code.as_str(), "AccessDenied" | "PermanentRedirect" | "AuthorizationHeaderMalformed")
}

/// The buckets of the account in the region.
async fn listed(aws: &Aws) -> Result<Vec<String>, Failure> {
    let pages = aws.s3().list_buckets().bucket_region(region(aws)).max_buckets(PAGE).into_paginator().send();
    let pages = aws.pages("ListBuckets", "failed to list buckets", pages).await?;
    Ok(pages
        .into_iter()
        .flat_map(|page| page.buckets.unwrap_or_default())
        .filter_map(|one| one.name)
        .collect())
}

/// The tags of a bucket; none if it does not exist.
pub(super) async fn tags(aws: &Aws, name: &str) -> Result<Option<Tags>, Failure> {
    let call = aws.s3().get_bucket_tagging().bucket(name).send();
    let answer = aws.call("GetBucketTagging", "failed to read the tags of the bucket", call).await;
    let answer = match answer {
        Err(failure) if failure.code == "NoSuchBucket" => return Ok(None),
        answer => unless(answer, "NoSuchTagSet")?,
    };
    let pair = |tag: types::Tag| (tag.key, tag.value);
    Ok(Some(answer.map(|answer| answer.tag_set.into_iter().map(pair).collect()).unwrap_or_default()))
}

/// Nothing, if AWS has no such setting.
fn unless<T>(answer: Result<T, Failure>, code: &str) -> Result<Option<T>, Failure> {
    match answer {
        Err(failure) if failure.code == code => Ok(None),
        answer => answer.map(Some),
    }
}

/// Everything that takes a call of its own.
pub(super) async fn settings(aws: &Aws, name: &str) -> Result<Settings, Failure> {
    let (s3, action) = (aws.s3(), "failed to read the settings of the bucket");
    let versioning = s3.get_bucket_versioning().bucket(name).send();
    let block = s3.get_public_access_block().bucket(name).send();
    let encryption = s3.get_bucket_encryption().bucket(name).send();
    let rules = s3.get_bucket_lifecycle_configuration().bucket(name).send();
    let policy = s3.get_bucket_policy().bucket(name).send();
    let (versioning, block, encryption, rules, policy) = try_join!(
        aws.call("GetBucketVersioning", action, versioning),
        async {
            unless(
                aws.call("GetPublicAccessBlock", action, block).await,
                "NoSuchPublicAccessBlockConfiguration",
            )
        },
        async {
            let answer = aws.call("GetBucketEncryption", action, encryption).await;
            unless(answer, "ServerSideEncryptionConfigurationNotFoundError")
        },
        async {
            let answer = aws.call("GetBucketLifecycleConfiguration", action, rules).await;
            unless(answer, "NoSuchLifecycleConfiguration")
        },
        async { unless(aws.call("GetBucketPolicy", action, policy).await, "NoSuchBucketPolicy") },
    )?;
    let block = block.and_then(|answer| answer.public_access_block_configuration);
    let blocks = |block: types::PublicAccessBlockConfiguration| {
        let types::PublicAccessBlockConfiguration {
            block_public_acls: a,
            ignore_public_acls: b,
            block_public_policy: c,
            restrict_public_buckets: d,
            ..
        } = block;
        let count = [a, b, c, d].iter().filter(|one| **one == Some(true)).count();
        Some(count == 4).filter(|_| matches!(count, 0 | 4))
    };
    let encryption = encryption.and_then(|answer| answer.server_side_encryption_configuration);
    let encryption = encryption.and_then(|all| all.rules.into_iter().next());
    let default = encryption.as_ref().and_then(|rule| rule.apply_server_side_encryption_by_default.as_ref());
    let rules = rules.and_then(|answer| answer.rules).unwrap_or_default();
    let mut rules: Vec<Rule> = rules.into_iter().map(Rule::from).collect();
    rules.sort();
    Ok(Settings {
        versioning: Some(
            versioning.status.map_or_else(|| "Disabled".to_owned(), |status| status.as_str().to_owned()),
        ),
        blocks_public_access: block.map_or(Some(false), blocks),
        algorithm: default.map(|default| default.sse_algorithm.as_str().to_owned()),
        kms_key_id: default.and_then(|default| default.kms_master_key_id.clone()),
        bucket_key: encryption.as_ref().and_then(|rule| rule.bucket_key_enabled),
        rules,
        policy: policy.and_then(|answer| answer.policy).unwrap_or_default(),
    })
}
