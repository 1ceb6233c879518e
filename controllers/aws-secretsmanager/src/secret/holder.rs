//! Whose secret has a name that is in use: a name is not free until the recovery window of a deleted secret ends.

use kraken_aws::{
    Aws, AwsResource as _,
    errors::{terminal, undecided},
    prelude::{Creation, Failure},
    tags::of_owner,
};
use kraken_spoke::FailureClass;

use super::{
    calls::{CREATE, Secrets, described},
    observed::Secret,
};
use crate::secrets::SecretsClients as _;

/// Whose secret has a name that is in use.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// That of this launch.
    Launch,
    /// That of this resource or of a former one of its name, scheduled for deletion.
    Deleted,
    /// That of a former resource of the name.
    Former,
    /// Any other one.
    Other,
}

/// Whether AWS rejected a call because the secret, or the one with the name, is scheduled for deletion.
pub(super) fn is_scheduled(failure: &Failure) -> bool {
    let message = &failure.message;
    failure.code == "InvalidRequestException" && (message.contains("deletion") || message.contains("deleted"))
}

/// The secret with the name that is in use: the one of this launch; or one of a former resource of the name, taken back; else why not.
pub(super) async fn own_or_taken(
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

pub(super) fn whose(holder: &Secret, creation: &Creation<'_>) -> Holder {
    let is_own = creation.is_of_same_name(&holder.tags);
    match &holder.deleted_date {
        Some(_) if is_own => Holder::Deleted,
        Some(_) => Holder::Other,
        None if creation.has_created(&holder.tags) => Holder::Launch,
        // Another one of this resource is being replaced.
        None if is_own && !creation.is_own(&holder.tags) => Holder::Former,
        None => Holder::Other,
    }
}

/// Why the name cannot be used, and what to do about it.
pub(super) fn is_taken(failure: Failure, name: &str, holder: Secret, creation: &Creation<'_>) -> Failure {
    let Some(date) = &holder.deleted_date else {
        return creation.is_taken(failure, &format!("the name {name}"), &[holder]);
    };
    let message = format!(
        "the name {name} is in use until {date} by {}{}, which is scheduled for deletion and is not that of this resource: use another name; \
         or restore the secret (aws secretsmanager restore-secret) and adopt it with lifecycle.adopt; or delete it at once \
         (aws secretsmanager delete-secret --force-delete-without-recovery)",
        holder.arn,
        of_owner(&holder.tags),
    );
    Failure { class: FailureClass::Terminal, ..terminal(CREATE, message) }
}
