//! The objects of a bucket that its deletion deletes, because the spec says so.

use kraken_aws::{errors::terminal, prelude::*};
use kraken_kind::FailureClass;

use crate::s3::{
    S3Clients as _,
    types::{Delete, ObjectIdentifier},
};

const ACTION: &str = "failed to delete the objects of the bucket";
/// The number of pages of 1,000 objects that one reconcile deletes.
const PAGES: usize = 10;

/// AWS's error for the deletion of a bucket with objects.
pub(in super::super) fn not_empty(failure: Failure) -> Failure {
    if failure.code != "BucketNotEmpty" {
        return failure;
    }
    let message = format!(
        "{}: delete its objects, also their former versions, or set spec.emptyOnDeletion to true, so that Kraken deletes them",
        failure.message
    );
    Failure { class: FailureClass::Protected, message, ..failure }
}

/// Deletes objects with all their versions: all, or as many as fit into one reconcile.
pub(super) async fn delete_some(aws: &Aws, bucket: &str) -> Result<(), Failure> {
    for _ in 0..PAGES {
        let call = aws.s3().list_object_versions().bucket(bucket).send();
        let page = aws.call("ListObjectVersions", "failed to list the objects of the bucket", call).await?;
        let versions = page.versions().iter().map(|one| (one.key(), one.version_id()));
        let markers = page.delete_markers().iter().map(|one| (one.key(), one.version_id()));
        let objects: Vec<ObjectIdentifier> = versions
            .chain(markers)
            .filter_map(|(key, version)| {
                let version = version.map(str::to_owned);
                ObjectIdentifier::builder().key(key?).set_version_id(version).build().ok()
            })
            .collect();
        if objects.is_empty() {
            return Ok(());
        }
        let Ok(objects) = Delete::builder().set_objects(Some(objects)).quiet(true).build() else {
            return Ok(());
        };
        let call = aws.s3().delete_objects().bucket(bucket).delete(objects).send();
        let answer = aws.call("DeleteObjects", ACTION, call).await?;
        if let Some(error) = answer.errors().first() {
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            return Err(terminal(ACTION, format!("{}: {}", text(error.key()), text(error.message()))));
        }
        if page.is_truncated() != Some(true) {
            return Ok(());
        }
    }
    Ok(())
}
