//! Writes added up by controller, verb and resource.

use std::collections::BTreeMap;

use kraken_testing::audit::Request;
use serde::Serialize;

/// How many writes of one kind.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) controller: String,
    pub(super) verb: String,
    pub(super) resource: String,
    pub(super) number: u64,
    /// The number of rejected requests, conflicts for example; they cost as much as the others.
    pub(super) refused: u64,
}

/// All writes of a period. Leases are separate, because they are renewed periodically, independent of work.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Tally {
    pub(super) rows: Vec<Row>,
    pub(super) total: u64,
    pub(super) leases: u64,
    /// Part of the total.
    pub(super) events: u64,
}

impl Tally {
    pub(super) fn of(writes: &[Request]) -> Self {
        let mut tally = Self::default();
        let mut rows: BTreeMap<(&str, &str, &str), (u64, u64)> = BTreeMap::new();
        for write in writes {
            if write.resource == "leases" {
                tally.leases += 1;
                continue;
            }
            tally.total += 1;
            tally.events += u64::from(write.resource == "events");
            let row = rows.entry((&write.controller, &write.resource, &write.verb)).or_default();
            row.0 += 1;
            row.1 += u64::from(write.code >= 300);
        }
        tally.rows = rows
            .into_iter()
            .map(|((controller, resource, verb), (number, refused))| Row {
                controller: controller.to_owned(),
                verb: verb.to_owned(),
                resource: resource.to_owned(),
                number,
                refused,
            })
            .collect();
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(resource: &str, verb: &str, code: u16) -> Request {
        Request {
            controller: "kraken-hub".to_owned(),
            verb: verb.to_owned(),
            resource: resource.to_owned(),
            namespace: String::new(),
            name: String::new(),
            code,
        }
    }

    #[test]
    fn leases_are_separate_and_rejected_writes_count() {
        let writes = [
            write("leases", "patch", 200),
            write("a", "patch", 200),
            write("a", "patch", 409),
            write("events", "create", 201),
        ];
        let tally = Tally::of(&writes);
        assert_eq!((tally.total, tally.leases, tally.events), (3, 1, 1));
        assert_eq!((tally.rows[0].number, tally.rows[0].refused), (2, 1));
    }
}
