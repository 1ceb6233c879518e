//! The fields of a database: validated, compared and imported. Pure.

use std::cmp::Ordering;

use kraken_aws::{import::literal, prelude::*, tags::MAX_USER_TAGS};
use kraken_kind::{Edit, Opt};
use serde_json::Value;

use super::{
    api::{Change, DBInstanceSpec, Desired, PartialDesired},
    observed::Instance,
};

const REQUIRED: &str = "is required, unless the database is adopted";
/// What the change of some fields takes.
const RESTARTS: &str = "AWS interrupts the database for some minutes to change it: restore the old value";

impl DBInstanceSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        let password = partial.master_user_password.as_ref().and_then(Option::as_ref);
        if password.is_some_and(|password| !password.is_secret()) {
            let why = "must come from a Secret: use valueFrom with secret or templateString";
            validator.problem("masterUserPassword", why);
        }
        let is_adopted = self.lifecycle.adopt.is_some();
        for (field, is_given) in [
            ("masterUserPassword", self.master_user_password.is_some()),
            ("instanceClass", self.instance_class.is_some()),
            ("allocatedStorageGiB", self.allocated_storage_gib.is_some()),
        ] {
            if !is_given && !is_adopted {
                validator.problem(field, REQUIRED);
            }
        }
        let sizes = given(&partial.allocated_storage_gib).zip(given(&partial.max_allocated_storage_gib));
        if sizes.is_some_and(|(size, limit)| limit < size) {
            validator.problem("maxAllocatedStorageGiB", "must not be less than allocatedStorageGiB");
        }
        let is_encrypted =
            partial.storage_encrypted.is_none() || given(&partial.storage_encrypted) == Some(&true);
        if self.kms_key_id.is_some() && !is_encrypted {
            validator.problem("kmsKeyID", "requires storageEncrypted: {value: true}");
        }
        if self.availability_zone.is_some() && given(&partial.multi_az) == Some(&true) {
            validator.problem("availabilityZone", "cannot be combined with multiAZ");
        }
        if given(&partial.vpc_security_group_ids).is_some_and(Vec::is_empty) {
            validator.problem("vpcSecurityGroupIDs", "must have at least 1 item");
        }
        // The digest of the password is a tag too.
        if self.tags.0.0.len() >= MAX_USER_TAGS {
            validator.problem("tags", format!("must have at most {} tags", MAX_USER_TAGS - 1));
        }
    }

    /// The text of each change that interrupts the database.
    pub(super) fn restarts(_: &Desired, found: &mut [Difference<Change>]) {
        for difference in found {
            if let Remedy::Disruptive(_, takes) = &mut difference.remedy {
                RESTARTS.clone_into(takes);
            }
        }
    }

    /// A beginning of the version is enough. AWS cannot lower a version, and raises it by itself.
    pub(super) fn compare_version(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.engine_version.as_ref(), instance.engine_version());
        let difference = changed("engineVersion", wanted, have, Change::Restart)?;
        let (wanted, have) = (wanted?.expose(), have?);
        if have.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with('.')) {
            return None;
        }
        if by_number(have, wanted) != Ordering::Greater {
            return Some(difference);
        }
        let is_same_major = have.split('.').next() == wanted.split('.').next();
        if is_same_major && instance.auto_minor_version_upgrade == Some(true) {
            return None;
        }
        Some(immutable(difference, "the version of a database cannot be lowered"))
    }

    pub(super) fn compare_storage(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.allocated_storage_gib.as_ref(), instance.allocated_storage());
        let difference = changed("allocatedStorageGiB", wanted, have, Change::Settings)?;
        if wanted.zip(have).is_none_or(|(wanted, have)| wanted.expose() > have) {
            return Some(difference);
        }
        // AWS added storage.
        let is_growing = instance.max_allocated_storage.is_some();
        (!is_growing).then(|| immutable(difference, "the storage of a database cannot decrease"))
    }

    /// AWS restarts the database to begin or to end automated backups.
    pub(super) fn compare_retention(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.backup_retention_days.as_ref(), instance.backup_retention_period());
        let difference = changed("backupRetentionDays", wanted, have, Change::Settings)?;
        if crosses_zero(wanted.map(Resolved::expose), have) {
            let remedy = Remedy::Disruptive(Change::Restart, RESTARTS.to_owned());
            return Some(Difference { remedy, ..difference });
        }
        Some(difference)
    }

    /// AWS returns the ARN of the key, which ends with the key id. Only KMS can resolve an alias.
    pub(super) fn compare_key(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.kms_key_id.as_ref(), instance.kms_key_id.as_ref());
        let text = wanted?.expose();
        let is_same =
            have.is_some_and(|have| have == text || have.rsplit_once('/').is_some_and(|(_, id)| id == text));
        if is_same || is_alias(text) { None } else { fixed("kmsKeyID", wanted, have) }
    }

    /// With a standby, the zones change at each failover.
    pub(super) fn compare_zone(desired: &Desired, instance: &Instance) -> Option<Difference<Change>> {
        if instance.multi_az() == Some(&true) {
            return None;
        }
        fixed("availabilityZone", desired.availability_zone.as_ref(), instance.availability_zone.as_ref())
    }

    /// AWS does not return the alias of the key.
    pub(super) fn at_creation(desired: &Desired) -> Vec<(&'static str, String)> {
        let alias = desired.kms_key_id.as_ref().filter(|key| is_alias(key.expose()));
        vec![("kmsKeyID", alias.map(shown).unwrap_or_default())]
    }

    pub(super) fn edit_of_database(&self, before: &Self, field: &str) -> Edit {
        let retention = |spec: &Self| number(spec.backup_retention_days.as_ref());
        let storage = |spec: &Self| number(spec.allocated_storage_gib.as_ref());
        match field {
            "backupRetentionDays" if crosses_zero(retention(before).as_ref(), retention(self).as_ref()) => {
                Edit::Stops
            }
            "allocatedStorageGiB"
                if storage(before).zip(storage(self)).is_some_and(|(old, new)| new < old) =>
            {
                Edit::Replaces
            }
            _ => kraken_aws::AwsSpec::edit_of(before, self, field),
        }
    }

    pub(super) fn import_version(instance: &Instance) -> Option<Value> {
        instance.engine_version.as_ref().map(literal)
    }

    pub(super) fn import_storage(instance: &Instance) -> Option<Value> {
        instance.allocated_storage.map(literal)
    }

    pub(super) fn import_storage_limit(instance: &Instance) -> Option<Value> {
        instance.max_allocated_storage.map(literal)
    }

    /// For other types, AWS returns the number that follows from the size.
    pub(super) fn import_iops(instance: &Instance) -> Option<Value> {
        let is_set = instance.storage_type.as_deref().is_some_and(|kind| kind.starts_with("io"));
        instance.iops.filter(|_| is_set).map(literal)
    }

    pub(super) fn import_key(instance: &Instance) -> Option<Value> {
        let is_encrypted = instance.storage_encrypted == Some(true);
        instance.kms_key_id.as_ref().filter(|_| is_encrypted).map(literal)
    }

    pub(super) fn import_zone(instance: &Instance) -> Option<Value> {
        instance.availability_zone.as_ref().filter(|_| instance.multi_az != Some(true)).map(literal)
    }

    pub(super) fn import_parameter_group(instance: &Instance) -> Option<Value> {
        instance.parameter_group_name().filter(|name| !name.starts_with("default.")).map(literal)
    }

    pub(super) fn import_retention(instance: &Instance) -> Option<Value> {
        instance.backup_retention_period.filter(|days| *days != 1).map(literal)
    }
}

/// The name of the final snapshot: the resource id is that of no other database, also of a later one with the same identifier.
pub(super) fn final_snapshot(instance: &Instance) -> String {
    let id = instance.dbi_resource_id.as_deref().unwrap_or_default().to_lowercase();
    format!("{}-final-{}", instance.db_instance_identifier, id.trim_start_matches("db-"))
}

fn immutable(difference: Difference<Change>, why: &str) -> Difference<Change> {
    let why =
        format!("{why}: restore the old value, or let Kraken replace the database (spec.lifecycle.replace)");
    Difference { remedy: Remedy::Immutable(why), ..difference }
}

fn crosses_zero(a: Option<&i32>, b: Option<&i32>) -> bool {
    a.zip(b).is_some_and(|(a, b)| (*a == 0) != (*b == 0))
}

fn number(option: Option<&Opt<i32>>) -> Option<i32> {
    match option {
        Some(Opt::Value(number)) => Some(*number),
        _ => None,
    }
}

/// Compares the parts of versions as numbers, as far as they are.
fn by_number(a: &str, b: &str) -> Ordering {
    let parts = |version: &str| -> Vec<(u64, String)> {
        version.split('.').map(|part| (part.parse().unwrap_or(0), part.to_owned())).collect()
    };
    parts(a).cmp(&parts(b))
}

/// Whether it is an alias, which may be reassigned to another key.
fn is_alias(key: &str) -> bool {
    key.starts_with("alias/") || key.contains(":alias/")
}
