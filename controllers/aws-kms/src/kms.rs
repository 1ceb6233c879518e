//! The API of KMS. It has no batched reads of keys: the description and the tags of each key are a call. Calls take the id of a key, which
//! all of them accept.

use aws_sdk_kms::Client;
use kraken_aws::{
    Aws, Tags, aws_service,
    missing::{existing, or_nothing},
};
use kraken_kind::Failure;

pub(crate) use aws_sdk_kms::types;

aws_service!(pub(crate) KmsApi, aws_sdk_kms, "kms");

/// The number of keys that are read concurrently.
pub(crate) const AT_ONCE: usize = 8;
/// The maximum page size of keys.
const PAGE: i32 = 1_000;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait KmsClients {
    /// The client, to build a call.
    fn kms(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn kms_once(&self) -> Client;
}

impl KmsClients for Aws {
    fn kms(&self) -> Client {
        self.client::<KmsApi>()
    }

    fn kms_once(&self) -> Client {
        self.client_once::<KmsApi>()
    }
}

/// Converts tags to the SDK's type.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<types::Tag> {
    let one =
        |(key, value): (&String, &String)| types::Tag::builder().tag_key(key).tag_value(value).build().ok();
    tags.iter().filter_map(one).collect()
}

/// The id in the ARN of a key; another text as it is.
pub(crate) fn id_in(key: &str) -> &str {
    key.rsplit_once(":key/").map_or(key, |(_, id)| id)
}

/// The tags of a key, which has at most 50; none if it does not exist.
pub(crate) async fn tags_of(aws: &Aws, key: &str) -> Result<Option<Tags>, Failure> {
    let call = aws.kms().list_resource_tags().key_id(id_in(key)).limit(50).send();
    let answer = aws.call("ListResourceTags", "failed to read the tags of the key", call).await;
    or_nothing(answer.map(|answer| {
        let tags = answer.tags.unwrap_or_default().into_iter();
        Some(tags.map(|tag| (tag.tag_key, tag.tag_value)).collect())
    }))
}

/// The ids of all keys of the account and region, with their tags. A key whose policy does not permit it is left out: nobody else's key may
/// stop a search.
pub(crate) async fn tags_of_all(aws: &Aws) -> Result<Vec<(String, Tags)>, Failure> {
    let pages = aws.kms().list_keys().limit(PAGE).into_paginator().send();
    let pages = aws.pages("ListKeys", "failed to list keys", pages).await?;
    let ids = pages.into_iter().flat_map(|page| page.keys.unwrap_or_default()).filter_map(|key| key.key_id);
    let each = ids.map(|id| async move {
        let tags = permitted(tags_of(aws, &id).await)?;
        Ok::<_, Failure>(tags.map(|tags| (id, tags)))
    });
    existing(AT_ONCE, each).await
}

/// Nothing if the policy of a key does not permit the call.
pub(crate) fn permitted<T>(result: Result<Option<T>, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Err(failure) if failure.code == "AccessDeniedException" => Ok(None),
        result => result,
    }
}

/// Sets tags of a key.
pub(crate) async fn set_tags(aws: &Aws, key: &str, tags: &Tags) -> Result<(), Failure> {
    let call = aws.kms().tag_resource().key_id(id_in(key)).set_tags(Some(to_sdk(tags))).send();
    aws.call("TagResource", "failed to set tags of the key", call).await.map(drop)
}

/// Removes tags of a key.
pub(crate) async fn remove_tags(aws: &Aws, key: &str, keys: &[&str]) -> Result<(), Failure> {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let call = aws.kms().untag_resource().key_id(id_in(key)).set_tag_keys(Some(keys)).send();
    aws.call("UntagResource", "failed to remove tags of the key", call).await.map(drop)
}
