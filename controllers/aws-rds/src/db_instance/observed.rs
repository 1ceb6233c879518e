//! The observed database, which is the published state.

use kraken_aws::{
    Tags, aws_observed,
    lookup::Tagged,
    resource::{Phase, RemoteObject, is_generated_name},
    tags,
};

use crate::rds::{self, types};

#[aws_observed(from = types::DbInstance)]
pub(crate) struct Instance {
    #[serde(rename = "DBInstanceIdentifier")]
    pub(super) db_instance_identifier: String,
    #[serde(rename = "DBInstanceArn")]
    pub(super) db_instance_arn: String,
    pub(super) dbi_resource_id: Option<String>,
    #[serde(rename = "DBInstanceStatus")]
    pub(super) db_instance_status: Option<String>,
    #[serde(rename = "DBInstanceClass")]
    pub(super) db_instance_class: Option<String>,
    pub(super) engine: Option<String>,
    pub(super) engine_version: Option<String>,
    pub(super) endpoint: Option<Endpoint>,
    #[serde(rename = "DBName")]
    pub(super) db_name: Option<String>,
    pub(super) master_username: Option<String>,
    pub(super) allocated_storage: Option<i32>,
    pub(super) max_allocated_storage: Option<i32>,
    pub(super) storage_type: Option<String>,
    pub(super) iops: Option<i32>,
    pub(super) storage_throughput: Option<i32>,
    pub(super) storage_encrypted: Option<bool>,
    pub(super) kms_key_id: Option<String>,
    #[serde(rename = "DBSubnetGroup")]
    pub(super) db_subnet_group: Option<InSubnetGroup>,
    pub(super) vpc_security_groups: Vec<InSecurityGroup>,
    pub(super) publicly_accessible: Option<bool>,
    #[serde(rename = "MultiAZ")]
    pub(super) multi_az: Option<bool>,
    pub(super) availability_zone: Option<String>,
    #[serde(rename = "DBParameterGroups")]
    pub(super) db_parameter_groups: Vec<InParameterGroup>,
    pub(super) backup_retention_period: Option<i32>,
    pub(super) preferred_backup_window: Option<String>,
    pub(super) preferred_maintenance_window: Option<String>,
    pub(super) auto_minor_version_upgrade: Option<bool>,
    pub(super) deletion_protection: Option<bool>,
    pub(super) copy_tags_to_snapshot: Option<bool>,
    #[serde(rename = "IAMDatabaseAuthenticationEnabled")]
    pub(super) iam_database_authentication_enabled: Option<bool>,
    pub(super) performance_insights_enabled: Option<bool>,
    /// Of an Aurora database, whose cluster has most of these settings.
    #[serde(skip)]
    #[from(sdk.db_cluster_identifier.clone())]
    pub(super) db_cluster_identifier: Option<String>,
    /// What AWS is about to change.
    #[serde(skip)]
    #[from(sdk.pending_modified_values.clone().map(Pending::from).unwrap_or_default())]
    pub(super) pending: Pending,
    /// Whether the spec refuses the final snapshot, for the deletion.
    #[serde(skip)]
    pub(super) skips_final_snapshot: bool,
    #[from(rds::tags(sdk.tag_list.clone()))]
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

#[aws_observed(from = types::Endpoint)]
pub(crate) struct Endpoint {
    pub(super) address: Option<String>,
    pub(super) port: Option<i32>,
}

#[aws_observed(from = types::DbSubnetGroup)]
pub(crate) struct InSubnetGroup {
    #[serde(rename = "DBSubnetGroupName")]
    pub(super) db_subnet_group_name: Option<String>,
    pub(super) vpc_id: Option<String>,
}

#[aws_observed(from = types::VpcSecurityGroupMembership)]
pub(crate) struct InSecurityGroup {
    pub(super) vpc_security_group_id: String,
    pub(super) status: Option<String>,
}

#[aws_observed(from = types::DbParameterGroupStatus)]
pub(crate) struct InParameterGroup {
    #[serde(rename = "DBParameterGroupName")]
    pub(super) db_parameter_group_name: String,
    pub(super) parameter_apply_status: Option<String>,
}

#[aws_observed(from = types::PendingModifiedValues)]
pub(crate) struct Pending {
    #[serde(rename = "DBInstanceClass")]
    pub(super) db_instance_class: Option<String>,
    pub(super) engine_version: Option<String>,
    pub(super) allocated_storage: Option<i32>,
    pub(super) storage_type: Option<String>,
    pub(super) iops: Option<i32>,
    pub(super) storage_throughput: Option<i32>,
    pub(super) port: Option<i32>,
    #[serde(rename = "DBSubnetGroupName")]
    pub(super) db_subnet_group_name: Option<String>,
    #[serde(rename = "MultiAZ")]
    pub(super) multi_az: Option<bool>,
    pub(super) backup_retention_period: Option<i32>,
    #[serde(rename = "IAMDatabaseAuthenticationEnabled")]
    pub(super) iam_database_authentication_enabled: Option<bool>,
    /// AWS returns asterisks.
    pub(super) master_user_password: Option<String>,
}

/// The value that AWS is about to set, or the present one: a change in progress is no difference.
macro_rules! effective {
    ($($name:ident: $type:ty),+ $(,)?) => {
        impl Instance {
            $(pub(super) fn $name(&self) -> Option<&$type> {
                self.pending.$name.as_ref().or(self.$name.as_ref())
            })+
        }
    };
}
effective! {
    db_instance_class: String, engine_version: String, allocated_storage: i32, storage_type: String, iops: i32,
    storage_throughput: i32, multi_az: bool, backup_retention_period: i32, iam_database_authentication_enabled: bool,
}

impl Instance {
    pub(super) fn port(&self) -> Option<&i32> {
        self.pending.port.as_ref().or(self.endpoint.as_ref()?.port.as_ref())
    }

    pub(super) fn subnet_group_name(&self) -> Option<&String> {
        let present = || self.db_subnet_group.as_ref()?.db_subnet_group_name.as_ref();
        self.pending.db_subnet_group_name.as_ref().or_else(present)
    }

    pub(super) fn parameter_group_name(&self) -> Option<&String> {
        self.db_parameter_groups.first().map(|group| &group.db_parameter_group_name)
    }

    /// Without those that are being removed.
    pub(super) fn security_group_ids(&self) -> Vec<&String> {
        let stays = |group: &&InSecurityGroup| group.status.as_deref() != Some("removing");
        self.vpc_security_groups.iter().filter(stays).map(|group| &group.vpc_security_group_id).collect()
    }

    /// AWS returns none if storage does not grow by itself.
    pub(super) fn storage_limit(&self) -> Option<&i32> {
        self.max_allocated_storage.as_ref().or(self.allocated_storage())
    }

    /// The names of the values that AWS is about to set.
    fn pending_names(&self) -> Vec<String> {
        let pending = serde_json::to_value(&self.pending).unwrap_or_default();
        let members = pending.as_object().into_iter().flatten();
        members.filter(|(_, value)| !value.is_null()).map(|(name, _)| name.clone()).collect()
    }
}

impl Tagged for Instance {
    fn id(&self) -> &str {
        &self.db_instance_identifier
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// A generated name is unique for its launch; any other name may be reused for a database of another owner.
    fn has_own_id(&self) -> bool {
        is_generated_name(&self.db_instance_identifier)
    }
}

impl RemoteObject for Instance {
    /// A database that is backed up or optimized works. One whose storage is full does not, and is changed by more storage.
    fn phase(&self) -> Phase {
        match self.db_instance_status.as_deref() {
            Some("deleting") => Phase::Deleting,
            Some("failed") => Phase::Failed("AWS cannot recover the database".to_owned()),
            Some("available" | "backing-up" | "storage-optimization" | "storage-full") => {
                let pending = self.pending_names();
                if !pending.is_empty() {
                    return Phase::Pending(format!("waiting for AWS to set {}", pending.join(", ")));
                }
                if self.endpoint.as_ref().is_none_or(|endpoint| endpoint.address.is_none()) {
                    return Phase::Pending("waiting for its endpoint".to_owned());
                }
                Phase::Available
            }
            // Among others: creating, modifying, rebooting, stopped, and states that a person must end.
            other => Phase::Pending(other.unwrap_or("creating").to_owned()),
        }
    }

    fn tagged_as(&self) -> &str {
        &self.db_instance_arn
    }
}
