//! The fields of a table: validated, compared and imported, and what its deletion does. Pure.

use std::{borrow::Cow, collections::BTreeMap};

use kraken_aws::{
    AwsGroup, AwsSpec as _,
    fields::{ABSENT, NOT_SHOWN, SECRET, item_path},
    import::literal,
    policy::{self, Document},
    prelude::*,
    resolved::Joined,
};
use kraken_kind::{Edit, FieldDiff, Ignored, Opt};
use serde_json::Value;

use super::{
    api::{
        Change, Desired, DesiredGlobalIndex, DesiredKey, GlobalIndexSpec, KeySpec, LocalIndexSpec,
        PartialDesired, TableSpec,
    },
    bounds::PROVISIONED,
    index::{INCLUDE, Index, Key},
    observed::Table,
};

const GLOBAL: &str = "globalSecondaryIndexes";
/// What the change of an index takes.
const INDEX_CHANGES: &str = "AWS cannot change the keys and the projection of an index: it is deleted and created again, and cannot be used \
                             meanwhile: restore the old value";
/// What the change of a stream takes.
const STREAM_CHANGES: &str =
    "AWS cannot change a stream: it ends, and another one begins with another ARN: restore the old value";
/// What a replacement does.
const LOSS: &str = "AWS cannot change it: restore the old value, or let Kraken replace the table by an empty one (spec.lifecycle.replace)";

impl TableSpec {
    pub(super) fn between_fields(&self, partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
        // None while the value of a reference is unknown.
        let mode = match &self.billing_mode {
            Some(_) => given(&partial.billing_mode).map(String::as_str),
            None => Some(""),
        };
        let indexes = self.global_secondary_indexes.iter().flatten().enumerate();
        let of_indexes = indexes.flat_map(|(at, index)| {
            let units = [
                ("readCapacityUnits", index.read_capacity_units.is_some()),
                ("writeCapacityUnits", index.write_capacity_units.is_some()),
            ];
            units.map(|(name, is_given)| (format!("{GLOBAL}[{at}].{name}"), is_given))
        });
        let own = [
            ("readCapacityUnits".to_owned(), self.read_capacity_units.is_some()),
            ("writeCapacityUnits".to_owned(), self.write_capacity_units.is_some()),
        ];
        let is_whole = own.iter().all(|(_, is_given)| *is_given);
        if mode == Some(PROVISIONED) && !is_whole && self.lifecycle.adopt.is_none() {
            validator.problem("billingMode", "PROVISIONED requires readCapacityUnits and writeCapacityUnits");
        }
        for (field, _) in own.into_iter().chain(of_indexes).filter(|(_, is_given)| *is_given) {
            if mode.is_some_and(|mode| mode != PROVISIONED) {
                validator.problem(&field, "requires billingMode: {value: PROVISIONED}");
            }
        }
        let is_on =
            partial.point_in_time_recovery.is_none() || given(&partial.point_in_time_recovery) == Some(&true);
        if self.recovery_period_days.is_some() && !is_on {
            validator.problem("recoveryPeriodDays", "requires pointInTimeRecovery: {value: true}");
        }
        between_indexes(partial, validator);
    }

    /// Replaces the remedy of each fixed field: the name is one, too.
    pub(super) fn losses(_: &Desired, found: &mut [Difference<Change>]) {
        for difference in found {
            if let Remedy::Immutable(why) = &mut difference.remedy {
                LOSS.clone_into(why);
            }
        }
    }

    /// What is deleted with the table.
    pub(super) fn contains(&self) -> Cow<'static, str> {
        match self.skip_final_backup {
            Some(true) => "all items".into(),
            _ => "all items, which only a final backup has then,".into(),
        }
    }

    pub(super) fn compare_hash_key(desired: &Desired, table: &Table) -> Option<Difference<Change>> {
        of_key("hashKey", Some((&desired.hash_key, Key::hash(&desired.hash_key))), table.key(false))
    }

    pub(super) fn compare_range_key(desired: &Desired, table: &Table) -> Option<Difference<Change>> {
        of_key("rangeKey", desired.range_key.as_ref().map(|key| (key, Key::range(key))), table.key(true))
    }

    pub(super) fn compare_local_indexes(desired: &Desired, table: &Table) -> Option<Difference<Change>> {
        let given = desired.local_secondary_indexes.as_ref()?;
        let mut wanted: Vec<Index> = given.iter().map(|one| Index::local(one, &desired.hash_key)).collect();
        wanted.sort();
        if wanted == table.local_indexes {
            return None;
        }
        let is_secret = given.iter().any(LocalIndexSpec::is_secret);
        Some(immutable("localSecondaryIndexes", is_secret, listed(&wanted), listed(&table.local_indexes)))
    }

    /// Each index is deleted or created by itself. Those that are not in the list come first, because AWS limits their number.
    pub(super) fn compare_global_indexes(desired: &Desired, table: &Table) -> Vec<Difference<Change>> {
        let Some(given) = &desired.global_secondary_indexes else { return vec![] };
        let is_secret = given.iter().any(GlobalIndexSpec::is_secret);
        let text = |index: &Index| if is_secret { NOT_SHOWN.to_owned() } else { index.to_string() };
        let is_wanted = |have: &&Index| given.iter().any(|one| *one.name.expose() == have.name);
        let surplus = table.global_indexes.iter().filter(|have| !is_wanted(have)).map(|have| {
            let change = Change::DeleteIndex(have.name.clone());
            difference(&item_path(GLOBAL, &have.name), ABSENT, text(have), change)
        });
        let mut found: Vec<_> = surplus.collect();
        for (at, one) in given.iter().enumerate() {
            let wanted = Index::global(one);
            let (path, want) = (
                item_path(GLOBAL, &wanted.name),
                if is_secret { SECRET.to_owned() } else { wanted.to_string() },
            );
            match table.global_indexes.iter().find(|have| have.name == wanted.name) {
                None => found.push(difference(&path, want, ABSENT, Change::CreateIndex(wanted.name))),
                Some(have) if !have.is_same(&wanted) => found.push(Difference {
                    field: FieldDiff::new(path, want, text(have)),
                    remedy: Remedy::Disruptive(Change::DeleteIndex(wanted.name), INDEX_CHANGES.to_owned()),
                }),
                Some(have) => found.extend(index_capacity(at, one, have, table)),
            }
        }
        found
    }

    /// A change of the mode sets the capacities, too.
    pub(super) fn compare_read(desired: &Desired, table: &Table) -> Option<Difference<Change>> {
        let wanted = desired.read_capacity_units.as_ref().filter(|_| !table.is_on_demand());
        changed("readCapacityUnits", wanted, table.read.as_ref(), Change::Settings)
    }

    pub(super) fn compare_write(desired: &Desired, table: &Table) -> Option<Difference<Change>> {
        let wanted = desired.write_capacity_units.as_ref().filter(|_| !table.is_on_demand());
        changed("writeCapacityUnits", wanted, table.write.as_ref(), Change::Settings)
    }

    /// AWS returns the ARN of the key, which ends with the key id.
    pub(super) fn compare_key(desired: &Desired, table: &Table) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.kms_key_id.as_ref(), table.kms_master_key_arn.as_ref());
        let text = wanted?.expose();
        let is_same = have.map_or_else(
            || text.is_empty(),
            |have| have == text || have.rsplit_once('/').is_some_and(|(_, id)| id == text),
        );
        if is_same { None } else { changed("kmsKeyID", wanted, have, Change::Encryption) }
    }

    pub(super) fn compare_stream(desired: &Desired, table: &Table) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.stream_view_type.as_ref()?, &table.stream_view_type);
        let difference = changed("streamViewType", Some(wanted), Some(have), Change::Stream)?;
        if wanted.expose().is_empty() || have.is_empty() {
            return Some(difference);
        }
        let remedy = Remedy::Disruptive(Change::Stream, STREAM_CHANGES.to_owned());
        Some(Difference { remedy, ..difference })
    }

    pub(super) fn policy(&self, validator: &mut SpecValidator<'_, '_>) -> Option<Option<Joined<Document>>> {
        let Some(policy) = &self.policy else { return Some(None) };
        policy::resolved_resource("policy", policy, validator).map(Some)
    }

    pub(super) fn compare_policy(desired: &Desired, table: &Table) -> Option<Difference<Change>> {
        let (wanted, have) = (desired.policy.as_ref()?, &table.settings.as_ref()?.policy);
        if have.is_empty() && wanted.expose().is_empty() {
            return None;
        }
        policy::compared("policy", wanted, have, Change::Policy)
    }

    /// A call that changes capacities, or the backups, sends several fields.
    pub(super) fn without_ignored(desired: &Desired, _: &Table, ignored: &Ignored) -> Option<Desired> {
        let mut kept = desired.clone();
        let mut left_out = vec![
            kept.billing_mode.take_if(|_| ignored.covers("billingMode")).is_some(),
            kept.read_capacity_units.take_if(|_| ignored.covers("readCapacityUnits")).is_some(),
            kept.write_capacity_units.take_if(|_| ignored.covers("writeCapacityUnits")).is_some(),
            kept.point_in_time_recovery.take_if(|_| ignored.covers("pointInTimeRecovery")).is_some(),
            kept.recovery_period_days.take_if(|_| ignored.covers("recoveryPeriodDays")).is_some(),
        ];
        for (at, index) in kept.global_secondary_indexes.iter_mut().flatten().enumerate() {
            let covers = |units: &str| ignored.covers(&format!("{GLOBAL}[{at}].{units}"));
            left_out.push(index.read_capacity_units.take_if(|_| covers("readCapacityUnits")).is_some());
            left_out.push(index.write_capacity_units.take_if(|_| covers("writeCapacityUnits")).is_some());
        }
        left_out.contains(&true).then_some(kept)
    }

    pub(super) fn edit_of_table(&self, before: &Self, field: &str) -> Edit {
        match field {
            "rangeKey" => Edit::Replaces,
            "streamViewType" => match (&before.stream_view_type, &self.stream_view_type) {
                (Some(Opt::Value(old)), Some(Opt::Value(new))) if !old.is_empty() && !new.is_empty() => {
                    Edit::Stops
                }
                _ => Self::edit_of(before, self, field),
            },
            GLOBAL if is_any_rebuilt(before, self) => Edit::Stops,
            _ => Self::edit_of(before, self, field),
        }
    }

    pub(super) fn import_hash_key(table: &Table) -> Option<Value> {
        table.key(false)?.imported()
    }

    pub(super) fn import_range_key(table: &Table) -> Option<Value> {
        table.key(true)?.imported()
    }

    pub(super) fn import_local_indexes(table: &Table) -> Option<Value> {
        imported(&table.local_indexes, true)
    }

    pub(super) fn import_global_indexes(table: &Table) -> Option<Value> {
        imported(&table.global_indexes, false)
    }

    pub(super) fn import_read(table: &Table) -> Option<Value> {
        table.read.filter(|_| !table.is_on_demand()).map(literal)
    }

    pub(super) fn import_write(table: &Table) -> Option<Value> {
        table.write.filter(|_| !table.is_on_demand()).map(literal)
    }

    pub(super) fn import_key(table: &Table) -> Option<Value> {
        table.kms_master_key_arn.as_ref().map(literal)
    }

    pub(super) fn import_stream(table: &Table) -> Option<Value> {
        Some(&table.stream_view_type).filter(|one| !one.is_empty()).map(literal)
    }

    pub(super) fn import_policy(table: &Table) -> Option<Value> {
        policy::imported_resource(&table.settings.as_ref()?.policy)
    }
}

/// Names are unique, an attribute has one type, and attributes besides keys belong to one projection.
fn between_indexes(partial: &PartialDesired, validator: &mut SpecValidator<'_, '_>) {
    let (mut names, mut types) = (vec![], BTreeMap::<String, String>::new());
    let mut of_key = |path: String, key: Option<&DesiredKey>, validator: &mut SpecValidator<'_, '_>| {
        let Some(Key { name, attribute_type, .. }) = key.map(Key::hash) else { return };
        if *types.entry(name).or_insert_with(|| attribute_type.clone()) != attribute_type {
            validator.problem(&format!("{path}.type"), "must be that of the other keys with this attribute");
        }
    };
    of_key("hashKey".to_owned(), partial.hash_key.as_ref(), validator);
    of_key("rangeKey".to_owned(), partial.range_key.as_ref().and_then(Option::as_ref), validator);
    let mut of_index = |path: &str, index: &Index, validator: &mut SpecValidator<'_, '_>| {
        if names.contains(&index.name) {
            validator.problem(&format!("{path}.name"), "is the name of another index of the table");
        }
        names.push(index.name.clone());
        if (index.projection == INCLUDE) == index.attributes.is_empty() {
            let why = "must have nonKeyAttributes if, and only if, it is INCLUDE";
            validator.problem(&format!("{path}.projectionType"), why);
        }
    };
    for (at, one) in partial.local_secondary_indexes.iter().flatten().flatten().enumerate() {
        let path = format!("localSecondaryIndexes[{at}]");
        of_key(format!("{path}.rangeKey"), Some(&one.range_key), validator);
        // Its hash key is not compared.
        of_index(&path, &Index::local(one, &one.range_key), validator);
        if partial.range_key.as_ref().is_some_and(Option::is_none) {
            validator.problem(&path, "requires a table with a rangeKey");
        }
    }
    for (at, one) in partial.global_secondary_indexes.iter().flatten().flatten().enumerate() {
        let path = format!("{GLOBAL}[{at}]");
        of_key(format!("{path}.hashKey"), Some(&one.hash_key), validator);
        of_key(format!("{path}.rangeKey"), one.range_key.as_ref(), validator);
        of_index(&path, &Index::global(one), validator);
    }
}

fn index_capacity(
    at: usize,
    wanted: &DesiredGlobalIndex,
    have: &Index,
    table: &Table,
) -> impl Iterator<Item = Difference<Change>> {
    let path = |units: &str| format!("{GLOBAL}[{at}].{units}");
    let is_compared = |_: &&Resolved<i32>| !table.is_on_demand();
    let (read, write) = (&wanted.read_capacity_units, &wanted.write_capacity_units);
    let read = read.as_ref().filter(is_compared);
    let write = write.as_ref().filter(is_compared);
    [
        changed(&path("readCapacityUnits"), read, have.read.as_ref(), Change::Settings),
        changed(&path("writeCapacityUnits"), write, have.write.as_ref(), Change::Settings),
    ]
    .into_iter()
    .flatten()
}

/// Whether an index has other keys or another projection than before, as far as they are literals.
fn is_any_rebuilt(before: &TableSpec, after: &TableSpec) -> bool {
    let fixed = |index: &GlobalIndexSpec| GlobalIndexSpec {
        read_capacity_units: None,
        write_capacity_units: None,
        ..index.clone()
    };
    let old = before.global_secondary_indexes.as_deref().unwrap_or_default();
    let mut new = after.global_secondary_indexes.iter().flatten();
    new.any(|new| old.iter().any(|old| old.name == new.name && fixed(old) != fixed(new)))
}

fn of_key(path: &str, wanted: Option<(&DesiredKey, Key)>, have: Option<&Key>) -> Option<Difference<Change>> {
    if wanted.as_ref().map(|(_, key)| key) == have {
        return None;
    }
    let is_secret = wanted.as_ref().is_some_and(|(given, _)| KeySpec::is_secret(given));
    let text = |key: Option<&Key>| key.map_or_else(|| ABSENT.to_owned(), ToString::to_string);
    Some(immutable(path, is_secret, text(wanted.as_ref().map(|(_, key)| key)), text(have)))
}

fn immutable(path: &str, is_secret: bool, want: String, have: String) -> Difference<Change> {
    let (want, have) = if is_secret { (SECRET.to_owned(), NOT_SHOWN.to_owned()) } else { (want, have) };
    Difference { field: FieldDiff::new(path, want, have), remedy: Remedy::Immutable(LOSS.to_owned()) }
}

/// Indexes as a text.
fn listed(indexes: &[Index]) -> String {
    let all: Vec<String> = indexes.iter().map(|index| format!("{}: {index}", index.name)).collect();
    if all.is_empty() { ABSENT.to_owned() } else { all.join("; ") }
}

/// As they are written in a spec; none if one of them cannot be written.
fn imported(indexes: &[Index], is_local: bool) -> Option<Value> {
    let all: Option<Vec<Value>> = indexes.iter().map(|index| index.imported(is_local)).collect();
    all.filter(|all| !all.is_empty()).map(Value::from)
}
