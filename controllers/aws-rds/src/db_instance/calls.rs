//! The calls of databases. One call describes up to 100 of them, with their tags.

use std::collections::BTreeSet;

use kraken_aws::{AwsSpec, Tags, lookup_kind::passing, prelude::*};
use kraken_kind::{Edit, FailureClass, Opt};

use super::{
    api::{self, Change, DBInstanceSpec, Desired},
    bounds::IDENTIFIER,
    desired::final_snapshot,
    observed::Instance,
    password,
};
use crate::{
    named::own_or_taken,
    rds::{self, PAGE, RdsClients as _, to_sdk, types::Filter},
};

const CREATE: &str = "failed to create the database";
/// The number of identifiers in one call. More are found in a list of all databases.
const IDS_PER_CALL: usize = 20;

/// A call with the settings for which this is true, by the names of their fields. Creations and changes have them in common.
macro_rules! with_settings {
    ($call:expr, $desired:expr, $is_sent:expr) => {
        with_settings!($call, $desired, $is_sent;
            set_engine_version = "engineVersion" engine_version,
            set_db_instance_class = "instanceClass" instance_class,
            set_max_allocated_storage = "maxAllocatedStorageGiB" max_allocated_storage_gib,
            set_storage_type = "storageType" storage_type,
            set_iops = "iops" iops,
            set_storage_throughput = "throughput" throughput,
            set_db_subnet_group_name = "dbSubnetGroupName" db_subnet_group_name,
            set_vpc_security_group_ids = "vpcSecurityGroupIDs" vpc_security_group_ids,
            set_publicly_accessible = "publiclyAccessible" publicly_accessible,
            set_multi_az = "multiAZ" multi_az,
            set_db_parameter_group_name = "dbParameterGroupName" db_parameter_group_name,
            set_backup_retention_period = "backupRetentionDays" backup_retention_days,
            set_preferred_backup_window = "preferredBackupWindow" preferred_backup_window,
            set_preferred_maintenance_window = "preferredMaintenanceWindow" preferred_maintenance_window,
            set_auto_minor_version_upgrade = "autoMinorVersionUpgrade" auto_minor_version_upgrade,
            set_deletion_protection = "deletionProtection" deletion_protection,
            set_copy_tags_to_snapshot = "copyTagsToSnapshot" copy_tags_to_snapshot,
            set_enable_iam_database_authentication = "iamDatabaseAuthentication" iam_database_authentication,
            set_enable_performance_insights = "performanceInsights" performance_insights,
        )
    };
    ($call:expr, $desired:expr, $is_sent:expr; $($set:ident = $path:literal $field:ident,)+) => {
        $call$(.$set(exposed($desired.$field.as_ref()).filter(|_| $is_sent($path))))+
    };
}

/// The kind DBInstance.
pub(crate) struct Instances;

impl AwsResource for Instances {
    type Kind = api::DBInstance;
    /// By its identifier, which is unique in the account and region.
    const FEATURES: Features = Features {
        is_idempotent: true,
        idempotent_by_name: true,
        contains: "all data that no snapshot has",
        disrupts: true,
        ..Features::NONE
    };
    const OWN_KEYS: &[&str] = &[password::KEY];

    fn edit_of(before: &DBInstanceSpec, after: &DBInstanceSpec, field: &str) -> Edit {
        after.edit_of_database(before, field)
    }

    fn not_importable(instance: &Instance) -> Option<String> {
        let cluster = instance.db_cluster_identifier.as_ref()?;
        Some(format!("it belongs to the cluster {cluster}; databases of clusters are not managed"))
    }

    fn import_notes(_: &Instance) -> Vec<String> {
        vec!["masterUserPassword: AWS does not return it; while it is not set, it is not managed".to_owned()]
    }

    async fn within(aws: &Aws, place: &str) -> Result<Vec<Instance>, Failure> {
        let mut found = described(aws, None).await?;
        found.retain(|one| {
            one.db_subnet_group.as_ref().is_some_and(|group| group.vpc_id.as_deref() == Some(place))
        });
        Ok(found)
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Instance>, Failure> {
        let found = match query.ids {
            // AWS would reject the call for what is no identifier.
            Some(ids) => {
                let ids: BTreeSet<String> =
                    ids.into_iter().filter(|id| IDENTIFIER.check(id).is_ok()).collect();
                by_ids(aws, &ids).await?
            }
            None => described(aws, None).await?,
        };
        Ok(passing(query.filters.as_deref(), found))
    }

    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Instance, Failure> {
        let name = exposed(desired.identifier.as_ref()).unwrap_or_else(|| creation.name());
        let mut tags = creation.tags.clone();
        tags.extend(password::tag(desired).into_iter().flatten());
        let call = aws
            .rds_once()
            .create_db_instance()
            .db_instance_identifier(&name)
            .engine(desired.engine.expose())
            .set_storage_encrypted(exposed(desired.storage_encrypted.as_ref()))
            .set_kms_key_id(exposed(desired.kms_key_id.as_ref()))
            .set_db_name(exposed(desired.db_name.as_ref()))
            .master_username(desired.master_username.expose())
            .set_master_user_password(exposed(desired.master_user_password.as_ref()))
            .set_availability_zone(exposed(desired.availability_zone.as_ref()))
            .set_port(exposed(desired.port.as_ref()))
            .set_allocated_storage(exposed(desired.allocated_storage_gib.as_ref()))
            .set_tags(Some(to_sdk(&tags)));
        let call = with_settings!(call, desired, |_: &str| true);
        match Box::pin(aws.call("CreateDBInstance", CREATE, call.send())).await {
            Err(failure) if failure.class == FailureClass::TokenUsed => {
                let holders = by_ids(aws, &BTreeSet::from([name.clone()])).await?;
                own_or_taken(creation, failure, &format!("the identifier {name}"), holders)
            }
            made => Ok(Instance { tags, ..made?.db_instance.map(Instance::from).unwrap_or_default() }),
        }
    }

    async fn update(
        aws: &Aws,
        change: &Change,
        desired: &Desired,
        instance: &Instance,
    ) -> Result<(), Failure> {
        let call = aws.rds().modify_db_instance().db_instance_identifier(&instance.db_instance_identifier);
        let call = call.apply_immediately(true);
        if *change == Change::Password {
            let call = call.set_master_user_password(exposed(desired.master_user_password.as_ref()));
            let action = "failed to change the password of the database";
            Box::pin(aws.call("ModifyDBInstance", action, call.send())).await?;
            // After a crash before this call, the password is set again.
            let digest = password::tag(desired).unwrap_or_default();
            return rds::set_tags(aws, &instance.db_instance_arn, &digest).await;
        }
        let differences = DBInstanceSpec::differences(desired, instance);
        let due: BTreeSet<&str> = differences
            .iter()
            .filter(|difference| match &difference.remedy {
                Remedy::Change(one) | Remedy::Disruptive(one, _) | Remedy::Resume(one) => one == change,
                Remedy::Immutable(_) => false,
            })
            .map(|difference| difference.field.path.as_str())
            .collect();
        // The engines want different ones of these together.
        let is_storage = ["allocatedStorageGiB", "storageType", "iops", "throughput"]
            .iter()
            .any(|path| due.contains(path));
        let storage = exposed(desired.allocated_storage_gib.as_ref()).max(instance.allocated_storage);
        let is_due = |path: &str| match path {
            "storageType" | "iops" | "throughput" => is_storage,
            // Another VPC has other security groups.
            "vpcSecurityGroupIDs" => due.contains(path) || due.contains("dbSubnetGroupName"),
            _ => due.contains(path),
        };
        let call = call
            .set_allow_major_version_upgrade(is_due("engineVersion").then_some(true))
            .set_db_port_number(exposed(desired.port.as_ref()).filter(|_| is_due("port")))
            .set_allocated_storage(storage.filter(|_| is_storage));
        let call = with_settings!(call, desired, is_due);
        Box::pin(aws.call("ModifyDBInstance", "failed to change the database", call.send())).await.map(drop)
    }

    fn to_delete(spec: &DBInstanceSpec, instance: &mut Instance) {
        instance.skips_final_snapshot = spec.skip_final_snapshot == Some(true);
    }

    fn unprotected_by(spec: &DBInstanceSpec) -> Option<&'static str> {
        matches!(spec.deletion_protection, Some(Opt::Value(false))).then_some("deletionProtection")
    }

    async fn unprotect(aws: &Aws, instance: &Instance) -> Result<(), Failure> {
        let call = aws.rds().modify_db_instance().db_instance_identifier(&instance.db_instance_identifier);
        let call = call.deletion_protection(false).apply_immediately(true).send();
        let action = "failed to turn the deletion protection off";
        Box::pin(aws.call("ModifyDBInstance", action, call)).await.map(drop)
    }

    async fn delete(aws: &Aws, instance: &Instance) -> Result<(), Failure> {
        let skips = instance.skips_final_snapshot;
        let call = aws.rds().delete_db_instance().db_instance_identifier(&instance.db_instance_identifier);
        let call = call
            .skip_final_snapshot(skips)
            .set_final_db_snapshot_identifier((!skips).then(|| final_snapshot(instance)));
        let answer = aws.call("DeleteDBInstance", "failed to delete the database", call.send()).await;
        answer.map(drop).map_err(undeletable)
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        rds::set_tags(aws, id, tags).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        rds::remove_tags(aws, id, keys).await
    }
}

/// The databases with these identifiers that exist.
async fn by_ids(aws: &Aws, ids: &BTreeSet<String>) -> Result<Vec<Instance>, Failure> {
    if ids.is_empty() {
        return Ok(vec![]);
    }
    let few = (ids.len() <= IDS_PER_CALL).then(|| ids.iter().cloned().collect());
    let mut found = described(aws, few).await?;
    found.retain(|instance| ids.contains(&instance.db_instance_identifier));
    Ok(found)
}

/// All databases, or those with these identifiers. One that does not exist is no failure.
async fn described(aws: &Aws, ids: Option<Vec<String>>) -> Result<Vec<Instance>, Failure> {
    let filter = |ids| Filter::builder().name("db-instance-id").set_values(Some(ids)).build();
    let call =
        aws.rds().describe_db_instances().max_records(PAGE).set_filters(ids.map(|ids| vec![filter(ids)]));
    let (action, pages) = ("failed to describe databases", call.into_paginator().send());
    aws.items("DescribeDBInstances", action, pages, |page| page.db_instances).await
}

/// Why AWS does not delete a database, and what to do about it.
pub(super) fn undeletable(failure: Failure) -> Failure {
    let (class, hint) = if failure.message.contains("deletion protection")
        || failure.message.contains("protected DB Instance")
    {
        let hint =
            "disable it in AWS, or set spec.deletionProtection to {value: false}, so that Kraken disables it";
        (FailureClass::Protected, hint)
    } else if failure.class == FailureClass::NotYet && failure.message.contains("snapshot") {
        let hint = "AWS makes no final snapshot in this state; to delete the database without, set spec.skipFinalSnapshot to true";
        (failure.class, hint)
    } else {
        return failure;
    };
    Failure { class, message: format!("{}: {hint}", failure.message.trim_end_matches('.')), ..failure }
}
