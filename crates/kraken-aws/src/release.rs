//! Releases objects without deleting them: removes Kraken's tags, including those of objects that a launch created in
//! addition, such as an instance's volumes.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{Filter, Tag};
use kraken_spoke::{Failure, Identity};

use crate::{
    Aws,
    missing::for_existing,
    tags::{KEYS, UID},
};

const ACTION: &str = "failed to remove Kraken's tags";

/// Removes Kraken's tags from these ids, which the identity must own, and from all objects of the types `beside` that
/// are tagged with its UID. Missing objects are ignored.
///
/// # Errors
/// The first failure of a call. The operation is idempotent.
pub async fn release(aws: &Aws, identity: &Identity, ids: &[String], beside: &[&str]) -> Result<(), Failure> {
    let mut all: BTreeSet<String> = ids.iter().cloned().collect();
    if !beside.is_empty() {
        all.extend(tagged(aws, identity, beside).await?);
    }
    let all: Vec<String> = all.into_iter().collect();
    let keys: Vec<Tag> = KEYS.iter().map(|key| Tag::builder().key(*key).build()).collect();
    for_existing(&all, |ids| {
        let call = aws.ec2().delete_tags().set_resources(Some(ids)).set_tags(Some(keys.clone()));
        aws.call("DeleteTags", ACTION, call.send())
    })
    .await?;
    Ok(())
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
