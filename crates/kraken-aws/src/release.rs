//! Releases objects without deleting them: removes Kraken's tags, including those of objects that a launch created in
//! addition, such as an instance's volumes.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{Filter, Tag};
use kraken_kind::{Failure, FailureClass, Identity};

use crate::{
    Aws,
    missing::{IDS_PER_CALL, for_existing, is_invalid_id},
    tags::{KEYS, UID},
};

const ACTION: &str = "failed to remove Kraken's tags";

/// Removes Kraken's tags from these ids, which the identity must own, and from all objects of the types `beside` that
/// are tagged with its UID, but for those that are `kept`: they belong to objects that are not released.
///
/// # Errors
/// The first failure of a call. The operation is idempotent. An id that is not found is a transient failure: it was observed
/// before this call, which may have reached a stale replica.
pub async fn release(
    aws: &Aws,
    identity: &Identity,
    ids: &[String],
    beside: &[&str],
    kept: &[String],
) -> Result<(), Failure> {
    let keys: Vec<Tag> = KEYS.iter().map(|key| Tag::builder().key(*key).build()).collect();
    let untag = |ids: Vec<String>| {
        let call = aws.ec2().delete_tags().set_resources(Some(ids)).set_tags(Some(keys.clone()));
        aws.call("DeleteTags", ACTION, call.send())
    };
    for ids in ids.chunks(IDS_PER_CALL) {
        untag(ids.to_vec()).await.map_err(lagging)?;
    }
    if beside.is_empty() {
        return Ok(());
    }
    // DescribeTags still lists objects that were deleted recently.
    let listed = tagged(aws, identity, beside).await?;
    let others: BTreeSet<String> =
        listed.into_iter().filter(|id| !ids.contains(id) && !kept.contains(id)).collect();
    for_existing(&others.into_iter().collect::<Vec<_>>(), untag).await.map(drop)
}

/// A failure about an object that was observed before: "not found" means a stale replica.
pub(crate) fn lagging(failure: Failure) -> Failure {
    if is_invalid_id(&failure) { Failure { class: FailureClass::Transient, ..failure } } else { failure }
}

/// The ids of all objects of these types with the UID.
async fn tagged(aws: &Aws, identity: &Identity, types: &[&str]) -> Result<Vec<String>, Failure> {
    let types = types.iter().map(|kind| (*kind).to_owned()).collect();
    let filters = vec![
        filter("key", vec![UID.to_owned()]),
        filter("value", vec![identity.uid.clone()]),
        filter("resource-type", types),
    ];
    let mut ids = vec![];
    let mut next = None;
    loop {
        let call = aws
            .ec2()
            .describe_tags()
            .set_filters(Some(filters.clone()))
            .max_results(1000)
            .set_next_token(next);
        let page = aws.call("DescribeTags", ACTION, call.send()).await?;
        ids.extend(page.tags().iter().filter_map(|tag| tag.resource_id().map(str::to_owned)));
        next = page.next_token().filter(|token| !token.is_empty()).map(str::to_owned);
        if next.is_none() {
            return Ok(ids);
        }
    }
}

/// A filter of a Describe call.
pub fn filter(name: &str, values: Vec<String>) -> Filter {
    Filter::builder().name(name).set_values(Some(values)).build()
}
