//! The calls that change tags of instances.

use kraken_aws::{
    Aws,
    ec2::types::Tag,
    missing::for_existing,
    tags::{Tags, to_sdk},
};
use kraken_spoke::Failure;

pub(super) async fn create_tags(aws: &Aws, ids: &[String], tags: &Tags) -> Result<(), Failure> {
    for_existing(ids, |ids| {
        let call = aws.ec2().create_tags().set_resources(Some(ids)).set_tags(Some(to_sdk(tags)));
        aws.call("CreateTags", "failed to set tags", call.send())
    })
    .await?;
    Ok(())
}

pub(super) async fn delete_tag(aws: &Aws, ids: &[String], key: &str) -> Result<(), Failure> {
    for_existing(ids, |ids| {
        let call = aws.ec2().delete_tags().set_resources(Some(ids)).tags(Tag::builder().key(key).build());
        aws.call("DeleteTags", "failed to remove a tag", call.send())
    })
    .await?;
    Ok(())
}
