//! Whose secret has a name that is in use. Pure. A name is not free until the recovery window of a deleted secret
//! ends.

use kraken_aws::{
    errors::terminal,
    prelude::{Creation, Failure},
    tags::of_owner,
};
use kraken_kind::FailureClass;

use super::observed::Secret;

/// The prefix of the errors of creations.
pub(super) const CREATE: &str = "failed to create the secret";

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
