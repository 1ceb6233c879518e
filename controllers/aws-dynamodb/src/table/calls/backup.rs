//! The final backup of a table that is about to be deleted.

use kraken_aws::{errors::terminal, prelude::*};
use kraken_kind::{FailureClass, runtime::clock};

use super::DELETE;
use crate::{
    dynamodb::{
        DateTime, DynamoDbClients as _,
        types::{BackupStatus, BackupTypeFilter},
    },
    table::observed::Table,
};

/// How long a backup counts as that of the deletion in progress, in seconds. A deletion that AWS rejected for longer, such as for a missing
/// permission, makes another one, because items may have changed.
const HOUR: i64 = 3_600;
/// The maximum length of the name of a backup.
const MAX_NAME: usize = 255;

/// Makes the backup, unless it exists.
///
/// # Errors
/// Until it is complete: AWS deletes no table whose backup is being made.
pub(super) async fn ensure(aws: &Aws, table: &Table) -> Result<(), Failure> {
    let (client, name, now) = (aws.dynamodb(), backup_name(table), clock::now().as_second());
    let call = client.list_backups().table_name(&table.table_name).backup_type(BackupTypeFilter::User);
    let call = call.time_range_lower_bound(DateTime::from_secs(now - HOUR)).send();
    let found = aws.call("ListBackups", "failed to list the backups of the table", call).await?;
    let mut found = found.backup_summaries.unwrap_or_default().into_iter();
    let is_of_deletion = |made: Option<&DateTime>| made.is_some_and(|made| is_recent(made.secs(), now));
    let present = found.find(|backup| {
        backup.backup_name.as_ref() == Some(&name)
            && is_of_deletion(backup.backup_creation_date_time.as_ref())
    });
    let status = if let Some(backup) = present {
        backup.backup_status
    } else {
        let call = client.create_backup().table_name(&table.table_name).backup_name(&name).send();
        let action = "failed to make the final backup of the table; to delete it without, set spec.skipFinalBackup to true";
        aws.call("CreateBackup", action, call).await?.backup_details.map(|backup| backup.backup_status)
    };
    if status == Some(BackupStatus::Creating) {
        let message = format!("AWS is making the final backup {name}, before which the table is not deleted");
        return Err(Failure { class: FailureClass::NotYet, ..terminal(DELETE, message) });
    }
    Ok(())
}

/// Whether a backup that was made at this time belongs to a deletion in progress.
pub(crate) fn is_recent(made: i64, now: i64) -> bool {
    now - made < HOUR
}

/// With the id of the table, which a later one with the same name does not have.
pub(crate) fn backup_name(table: &Table) -> String {
    let end = format!("-final-{}", table.table_id.as_deref().unwrap_or_default());
    let end = end.trim_end_matches('-');
    let name: String = table.table_name.chars().take(MAX_NAME - end.len()).collect();
    format!("{name}{end}")
}
