//! Changes of a table. AWS accepts one `UpdateTable` at a time, and in it the settings, one index, or one of the others.

use kraken_aws::{errors::terminal, missing::ignore_codes, prelude::*};
use kraken_kind::FailureClass;

use super::sdk;
use crate::{
    dynamodb::{
        DynamoDbClients as _,
        types::{
            CreateGlobalSecondaryIndexAction, DeleteGlobalSecondaryIndexAction, GlobalSecondaryIndexUpdate,
            PointInTimeRecoverySpecification, TimeToLiveSpecification, UpdateGlobalSecondaryIndexAction,
        },
    },
    table::{
        api::{Change, Desired},
        capacity::{self, of_index, of_table},
        index::Index,
        observed::Table,
    },
};

const CHANGE: &str = "failed to change the table";

pub(super) async fn change(
    aws: &Aws,
    change: &Change,
    desired: &Desired,
    table: &Table,
) -> Result<(), Failure> {
    let call = aws.dynamodb().update_table().table_name(&table.table_name);
    let call = match change {
        Change::TimeToLive => return time_to_live(aws, desired, table).await,
        Change::Backups => return backups(aws, desired, table).await,
        Change::Policy => return policy(aws, desired, table).await,
        Change::Class => {
            call.set_table_class(exposed(desired.table_class.as_ref()).map(|class| class.as_str().into()))
        }
        Change::Protection => {
            call.set_deletion_protection_enabled(exposed(desired.deletion_protection.as_ref()))
        }
        Change::Encryption => {
            call.set_sse_specification(exposed(desired.kms_key_id.as_ref()).map(|key| sdk::encryption(&key)))
        }
        Change::Stream => call.set_stream_specification(sdk::stream(&next_stream(desired, table))),
        Change::DeleteIndex(name) => {
            call.set_global_secondary_index_updates(deletion(name).map(|one| vec![one]))
        }
        Change::CreateIndex(name) => {
            let all = desired.global_secondary_indexes.iter().flatten().map(Index::global);
            let Some(index) = all.into_iter().find(|index| index.name == *name) else { return Ok(()) };
            let keys = table.keys.iter().chain(table.local_indexes.iter().flat_map(|index| &index.keys));
            let keys =
                keys.chain(table.global_indexes.iter().flat_map(|index| &index.keys)).chain(&index.keys);
            let capacity =
                (!table.is_on_demand()).then(|| of_index(desired, &index, of_table(desired, Some(table))));
            call.set_attribute_definitions(Some(sdk::definitions(keys)))
                .set_global_secondary_index_updates(creation(&index, capacity).map(|one| vec![one]))
        }
        Change::Settings => {
            let due = capacity::Settings::due(desired, table);
            if due.is_empty() {
                return Ok(());
            }
            let indexes: Vec<_> =
                due.indexes.into_iter().filter_map(|(name, units)| resized(&name, units)).collect();
            call.set_billing_mode(due.mode.map(|mode| mode.as_str().into()))
                .set_provisioned_throughput(due.table.and_then(sdk::throughput))
                .set_global_secondary_index_updates(Some(indexes).filter(|all| !all.is_empty()))
        }
    };
    aws.call("UpdateTable", CHANGE, call.send()).await.map(drop)
}

/// The type of the stream to set; empty to disable the present one, which has another type.
pub(crate) fn next_stream(desired: &Desired, table: &Table) -> String {
    let wanted = exposed(desired.stream_view_type.as_ref()).unwrap_or_default();
    if table.stream_view_type.is_empty() { wanted } else { String::new() }
}

fn deletion(name: &str) -> Option<GlobalSecondaryIndexUpdate> {
    let deletion = DeleteGlobalSecondaryIndexAction::builder().index_name(name).build().ok()?;
    Some(GlobalSecondaryIndexUpdate::builder().delete(deletion).build())
}

fn creation(index: &Index, capacity: Option<capacity::Capacity>) -> Option<GlobalSecondaryIndexUpdate> {
    let creation = CreateGlobalSecondaryIndexAction::builder().index_name(&index.name);
    let creation = creation.set_key_schema(Some(sdk::schema(&index.keys))).projection(sdk::projection(index));
    let creation = creation.set_provisioned_throughput(capacity.and_then(sdk::throughput)).build().ok()?;
    Some(GlobalSecondaryIndexUpdate::builder().create(creation).build())
}

fn resized(name: &str, units: capacity::Capacity) -> Option<GlobalSecondaryIndexUpdate> {
    let update = UpdateGlobalSecondaryIndexAction::builder().index_name(name);
    let update = update.set_provisioned_throughput(sdk::throughput(units)).build().ok()?;
    Some(GlobalSecondaryIndexUpdate::builder().update(update).build())
}

/// The attribute and whether the call enables it: another attribute is enabled after the present one is disabled.
///
/// # Errors
/// While AWS disables it.
pub(crate) fn next_time_to_live(desired: &Desired, table: &Table) -> Result<(String, bool), Failure> {
    let settings = table.settings.as_ref();
    if settings.is_some_and(|settings| settings.is_time_to_live_ending) {
        let message =
            "AWS is disabling the former time to live, which takes up to an hour; the new one follows";
        return Err(Failure { class: FailureClass::NotYet, ..terminal(CHANGE, message) });
    }
    let present = settings.map(|settings| &settings.time_to_live).filter(|present| !present.is_empty());
    Ok(match present {
        Some(present) => (present.clone(), false),
        None => (exposed(desired.time_to_live_attribute.as_ref()).unwrap_or_default(), true),
    })
}

async fn time_to_live(aws: &Aws, desired: &Desired, table: &Table) -> Result<(), Failure> {
    let (attribute, is_enabled) = next_time_to_live(desired, table)?;
    let spec = TimeToLiveSpecification::builder().attribute_name(attribute).enabled(is_enabled).build().ok();
    let call = aws.dynamodb().update_time_to_live().table_name(&table.table_name);
    let call = call.set_time_to_live_specification(spec).send();
    aws.call("UpdateTimeToLive", "failed to change the time to live of the table", call).await.map(drop)
}

async fn backups(aws: &Aws, desired: &Desired, table: &Table) -> Result<(), Failure> {
    let is_on = exposed(desired.point_in_time_recovery.as_ref());
    let is_on = is_on.or_else(|| table.point_in_time_recovery().copied()) == Some(true);
    let spec = PointInTimeRecoverySpecification::builder()
        .point_in_time_recovery_enabled(is_on)
        .set_recovery_period_in_days(exposed(desired.recovery_period_days.as_ref()).filter(|_| is_on))
        .build()
        .ok();
    let call = aws.dynamodb().update_continuous_backups().table_name(&table.table_name);
    let call = call.set_point_in_time_recovery_specification(spec).send();
    let action = "failed to change the backups of the table";
    aws.call("UpdateContinuousBackups", action, call).await.map(drop)
}

async fn policy(aws: &Aws, desired: &Desired, table: &Table) -> Result<(), Failure> {
    let action = "failed to change the policy of the table";
    if let Some(policy) = desired.policy.as_ref().filter(|policy| !policy.expose().is_empty()) {
        let call = aws.dynamodb().put_resource_policy().resource_arn(&table.table_arn);
        let call = call.policy(policy.expose().text()).send();
        return aws.call("PutResourcePolicy", action, call).await.map(drop);
    }
    let call = aws.dynamodb().delete_resource_policy().resource_arn(&table.table_arn).send();
    let answer = aws.call("DeleteResourcePolicy", action, call).await;
    ignore_codes(answer, &["PolicyNotFoundException"])
}
