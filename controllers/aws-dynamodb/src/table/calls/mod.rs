//! The calls of tables.

mod backup;
mod changes;
mod read;
mod sdk;

use std::borrow::Cow;

use kraken_aws::{
    Tags,
    observed::WithTags as _,
    prelude::*,
    resource::{Phase, RemoteObject as _},
    tags::is_untagged,
};
use kraken_kind::{Edit, FailureClass, Opt};

#[cfg(test)]
pub(super) use {
    backup::{backup_name, is_recent},
    changes::{next_stream, next_time_to_live},
};

use super::{
    api::{self, Change, Desired, TableSpec},
    bounds::{ON_DEMAND, PROVISIONED},
    capacity::{of_index, of_table},
    index::Index,
    observed::Table,
    wanted::keys,
};
use crate::dynamodb::{
    DynamoDbClients as _, to_sdk,
    types::{GlobalSecondaryIndex, LocalSecondaryIndex},
};

const CREATE: &str = "failed to create the table";
const DELETE: &str = "failed to delete the table";

/// The kind DynamoDBTable.
pub(crate) struct Tables;

impl AwsResource for Tables {
    type Kind = api::DynamoDBTable;
    /// By its name, which is unique in the account and region: AWS rejects a second one, whatever its settings are.
    const FEATURES: Features =
        Features { is_idempotent: true, idempotent_by_name: true, disrupts: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    fn edit_of(before: &TableSpec, after: &TableSpec, field: &str) -> Edit {
        after.edit_of_table(before, field)
    }

    fn contains(spec: &TableSpec) -> Cow<'static, str> {
        spec.contains()
    }

    fn import_notes(table: &Table) -> Vec<String> {
        let unwritten = table.global_indexes.iter().filter(|index| index.imported(false).is_none());
        let note = |index: &Index| {
            format!(
                "globalSecondaryIndexes: the keys of {} cannot be written; no index is managed",
                index.name
            )
        };
        unwritten.map(note).collect()
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Table>, Failure> {
        read::tables(aws, query).await
    }

    async fn complete(aws: &Aws, table: &mut Table, deep: bool) -> Result<(), Failure> {
        if deep && table.phase() == Phase::Available {
            table.settings = Some(Box::pin(read::settings(aws, table)).await?);
        }
        Ok(())
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Table, Failure> {
        let Desired {
            name,
            hash_key,
            range_key: _, // among the keys
            local_secondary_indexes,
            billing_mode,
            read_capacity_units: _, // a capacity
            write_capacity_units: _,
            table_class,
            kms_key_id,
            stream_view_type,
            deletion_protection,
            global_secondary_indexes,
            time_to_live_attribute: _, // these follow
            point_in_time_recovery: _,
            recovery_period_days: _,
            policy: _,
        } = desired;
        let name = exposed(name.as_ref()).unwrap_or_else(|| creation.name());
        let mode = exposed(billing_mode.as_ref()).unwrap_or_else(|| ON_DEMAND.to_owned());
        let capacity = (mode == PROVISIONED).then(|| of_table(desired, None));
        let own = keys(desired);
        let locals = local_secondary_indexes.iter().flatten().map(|one| Index::local(one, hash_key));
        let globals = global_secondary_indexes.iter().flatten().map(Index::global);
        let (locals, globals): (Vec<Index>, Vec<Index>) = (locals.collect(), globals.collect());
        let all = own.iter().chain(locals.iter().chain(&globals).flat_map(|index| &index.keys));
        let local = |index: &Index| {
            let local = LocalSecondaryIndex::builder().index_name(&index.name);
            let local = local.set_key_schema(Some(sdk::schema(&index.keys)));
            local.projection(sdk::projection(index)).build().ok()
        };
        let global = |index: &Index| {
            let capacity = capacity.map(|table| of_index(desired, index, table));
            let global = GlobalSecondaryIndex::builder().index_name(&index.name);
            let global = global.set_key_schema(Some(sdk::schema(&index.keys)));
            let global = global.set_provisioned_throughput(capacity.and_then(sdk::throughput));
            global.projection(sdk::projection(index)).build().ok()
        };
        // AWS rejects an empty list.
        let (local, global) = (
            locals.iter().filter_map(local).collect::<Vec<_>>(),
            globals.iter().filter_map(global).collect::<Vec<_>>(),
        );
        let key = exposed(kms_key_id.as_ref()).filter(|key| !key.is_empty());
        let stream = exposed(stream_view_type.as_ref()).filter(|kind| !kind.is_empty());
        let call = aws
            .dynamodb_once()
            .create_table()
            .table_name(&name)
            .set_key_schema(Some(sdk::schema(&own)))
            .set_attribute_definitions(Some(sdk::definitions(all)))
            .set_local_secondary_indexes(Some(local).filter(|all| !all.is_empty()))
            .set_global_secondary_indexes(Some(global).filter(|all| !all.is_empty()))
            .billing_mode(mode.as_str().into())
            .set_provisioned_throughput(capacity.and_then(sdk::throughput))
            .set_table_class(exposed(table_class.as_ref()).map(|class| class.as_str().into()))
            .set_sse_specification(key.map(|key| sdk::encryption(&key)))
            .set_stream_specification(stream.and_then(|kind| sdk::stream(&kind)))
            .set_deletion_protection_enabled(exposed(deletion_protection.as_ref()))
            .set_tags(Some(to_sdk(creation.tags)));
        match Box::pin(aws.call("CreateTable", CREATE, call.send())).await {
            Err(failure) if failure.code == "ResourceInUseException" => {
                let holder = read::by_name(aws, &name).await?;
                own_or_taken(failure, &name, holder, creation)
            }
            made => {
                let made = made?.table_description.map(Table::from).unwrap_or_default();
                Ok(made.with_tags(creation.tags.clone()))
            }
        }
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, table: &Table) -> Result<(), Failure> {
        Box::pin(changes::change(aws, change, desired, table)).await
    }

    fn to_delete(spec: &TableSpec, table: &mut Table) {
        table.skips_final_backup = spec.skip_final_backup == Some(true);
    }

    fn unprotected_by(spec: &TableSpec) -> Option<&'static str> {
        matches!(spec.deletion_protection, Some(Opt::Value(false))).then_some("deletionProtection")
    }

    async fn unprotect(aws: &Aws, table: &Table) -> Result<(), Failure> {
        let call = aws.dynamodb().update_table().table_name(&table.table_name);
        let call = call.deletion_protection_enabled(false).send();
        aws.call("UpdateTable", "failed to turn the deletion protection off", call).await.map(drop)
    }

    /// The protection is read before: a table that AWS would not delete needs no backup.
    async fn delete(aws: &Aws, table: &Table) -> Result<(), Failure> {
        let Some(current) = read::described(aws, &table.table_name).await? else { return Ok(()) };
        if current.deletion_protection_enabled {
            return Err(protected(DELETE));
        }
        if !table.skips_final_backup {
            Box::pin(backup::ensure(aws, &current)).await?;
        }
        let call = aws.dynamodb().delete_table().table_name(&table.table_name).send();
        aws.call("DeleteTable", DELETE, call).await.map(drop)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        let call = aws.dynamodb().tag_resource().resource_arn(id).set_tags(Some(to_sdk(tags))).send();
        aws.call("TagResource", "failed to set tags", call).await.map(drop)
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let call = aws.dynamodb().untag_resource().resource_arn(id).set_tag_keys(Some(keys)).send();
        aws.call("UntagResource", "failed to remove tags", call).await.map(drop)
    }
}

/// The table of this launch with the name that is in use; else why the name cannot be used.
pub(super) fn own_or_taken(
    failure: Failure,
    name: &str,
    holder: Option<Table>,
    creation: &Creation<'_>,
) -> Result<Table, Failure> {
    let undecided = |class, message: &str| {
        Err(Failure {
            class,
            message: format!("the name {name} is in use, and {message}"),
            ..failure.clone()
        })
    };
    let Some(holder) = holder else {
        return undecided(FailureClass::Transient, "its table is not visible yet, or not any more");
    };
    match holder.phase() {
        _ if creation.has_created(&holder.tags) => Ok(holder),
        Phase::Deleting => undecided(FailureClass::NotYet, "its former table is being deleted"),
        // AWS shows tags with a delay: it may be that of this launch.
        Phase::Pending(_) if is_untagged(&holder.tags) => {
            undecided(FailureClass::Transient, "the tags of its table are not visible yet")
        }
        _ => Err(creation.is_taken(failure, &format!("the name {name}"), &[holder])),
    }
}

/// Why a protected table is not deleted.
fn protected(action: &str) -> Failure {
    let message = "its deletion protection is on: disable it in AWS, or set spec.deletionProtection to {value: false}, so that Kraken \
                   disables it";
    Failure { class: FailureClass::Protected, ..kraken_aws::errors::terminal(action, message) }
}
