//! The billing mode and capacities: which of them a call sets. Pure.

use kraken_aws::prelude::exposed;

use super::{api::Desired, bounds::PROVISIONED, index::Index, observed::Table};

/// Units for reads and for writes.
pub(super) type Capacity = (i32, i32);

/// What one call sets. AWS rejects a capacity that does not change.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Settings {
    pub(super) mode: Option<String>,
    pub(super) table: Option<Capacity>,
    /// By the names of indexes.
    pub(super) indexes: Vec<(String, Capacity)>,
}

impl Settings {
    /// What is due. A value that the spec does not say stays as it is.
    pub(super) fn due(desired: &Desired, table: &Table) -> Self {
        let mode = exposed(desired.billing_mode.as_ref()).unwrap_or_else(|| table.billing_mode.clone());
        let is_other = mode != table.billing_mode;
        if mode != PROVISIONED {
            return Self { mode: is_other.then_some(mode), ..Self::default() };
        }
        let is_due =
            |wanted: Capacity, read, write| is_other || (Some(wanted.0), Some(wanted.1)) != (read, write);
        let own = of_table(desired, Some(table));
        let indexes = table.global_indexes.iter().filter_map(|index| {
            let wanted = of_index(desired, index, own);
            is_due(wanted, index.read, index.write).then(|| (index.name.clone(), wanted))
        });
        Self {
            mode: is_other.then_some(mode),
            table: Some(own).filter(|own| is_due(*own, table.read, table.write)),
            indexes: indexes.collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Of the table; `observed`: of one that exists.
pub(super) fn of_table(desired: &Desired, observed: Option<&Table>) -> Capacity {
    let units = |wanted: Option<i32>, have: Option<i32>| wanted.or(have).unwrap_or(1);
    (
        units(exposed(desired.read_capacity_units.as_ref()), observed.and_then(|table| table.read)),
        units(exposed(desired.write_capacity_units.as_ref()), observed.and_then(|table| table.write)),
    )
}

/// Of an index, observed or as the spec says; `table`: that of the table.
pub(super) fn of_index(desired: &Desired, index: &Index, table: Capacity) -> Capacity {
    let all = desired.global_secondary_indexes.iter().flatten();
    let wanted = all.map(Index::global).find(|wanted| wanted.name == index.name).unwrap_or_default();
    let units = |wanted: Option<i32>, have: Option<i32>, table| wanted.or(have).unwrap_or(table);
    (units(wanted.read, index.read, table.0), units(wanted.write, index.write, table.1))
}
