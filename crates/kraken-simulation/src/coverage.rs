//! The coverage of the schedules: every decision and outcome of the controllers, every operation and fault, including
//! those that were never reached.

use std::{collections::BTreeMap, fmt::Write as _};

use kraken_model::coverage::{DECISION, DECISIONS, FAILURE, FAILURES, OUTCOME, OUTCOMES};
use kraken_runtime::coverage::Reached;
use serde::{Deserialize, Serialize};

use crate::{
    generate::OPENINGS,
    schedule::{Action, Schedule},
};

/// The area of openings.
const OPENING: &str = "opening";
/// The names of all operations.
const OPERATIONS: [&str; 25] = [
    "apply",
    "replace",
    "recreate",
    "edit",
    "setData",
    "scale",
    "delete",
    "deleteNamespace",
    "createNamespace",
    "adopt",
    "approve",
    "annotate",
    "strip",
    "forgeStatus",
    "forgePlan",
    "own",
    "createRemote",
    "tamperRemote",
    "restart",
    "expireCredentials",
    "backup",
    "restore",
    "saveManifests",
    "vanish",
    "restoreManifests",
];
/// The names of all faults.
const FAULTS: [&str; 19] = [
    "crash",
    "kill",
    "replica",
    "suspend",
    "lose",
    "delay",
    "refuse",
    "fail",
    "cutWatches",
    "compact",
    "delayWatches",
    "apiOutage",
    "cloudOutage",
    "throttle",
    "capacity",
    "partialLaunches",
    "stale",
    "hide",
    "contend",
];

/// The variants that no schedule reaches: the area, the name, and the reason.
const UNREACHABLE: [(&str, &str, &str); 3] = [
    (OUTCOME, "Internal", "it is a defect, and a panic is reported as a violation"),
    (FAILURE, "token_used", "the loop reports such a launch as the outcome NotYet"),
    (FAILURE, "not_configured", "every simulated controller has a region"),
];

fn is_reachable(area: &str, variant: &str) -> bool {
    !UNREACHABLE.iter().any(|(of, name, _)| *of == area && *name == variant)
}

/// How many seeds reached each variant, and how often, by area.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    areas: BTreeMap<String, BTreeMap<String, Count>>,
    seeds: u64,
}

/// How often a variant was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    /// The number of seeds that reached it.
    seeds: u64,
    /// The number of times, in all seeds.
    times: u64,
}

/// Every area, with all variants that it has.
fn areas() -> Vec<(&'static str, &'static str, &'static [&'static str])> {
    vec![
        ("Decisions of the loop", DECISION, DECISIONS),
        ("Outcomes of the loop", OUTCOME, OUTCOMES),
        ("Failures of the provider", FAILURE, FAILURES),
        ("Outcomes of DependencyRequests", kraken_hub::requests::KIND, &kraken_hub::requests::OUTCOMES),
        ("Outcomes of ConfigExports", kraken_hub::exports::KIND, &kraken_hub::exports::report::OUTCOMES),
        ("Actions on targets of exports", "export action", &kraken_hub::exports::decide::ACTIONS),
        ("Operations", "operation", &OPERATIONS),
        ("Faults", "fault", &FAULTS),
        ("Openings", OPENING, OPENINGS),
    ]
}

impl Coverage {
    /// Adds what one run of a schedule reached.
    pub fn add(&mut self, schedule: &Schedule, reached: &Reached) {
        self.seeds += 1;
        for ((area, variant), times) in reached {
            self.count(area, variant, Count { seeds: 1, times: *times });
        }
        let mut steps: BTreeMap<(&str, String), u64> = BTreeMap::new();
        for step in &schedule.steps {
            let (area, value) = match &step.action {
                Action::Operation(operation) => ("operation", serde_json::to_value(operation)),
                Action::Fault(fault) => ("fault", serde_json::to_value(fault)),
            };
            let Ok(value) = value else { continue };
            let name = value.as_str().or_else(|| value.as_object()?.keys().next().map(String::as_str));
            *steps.entry((area, name.unwrap_or_default().to_owned())).or_default() += 1;
        }
        for ((area, name), times) in steps {
            self.count(area, &name, Count { seeds: 1, times });
        }
        if let Some(name) = &schedule.opening {
            self.count(OPENING, name, Count { seeds: 1, times: 1 });
        }
    }

    /// Adds what other runs reached.
    pub fn merge(&mut self, other: &Self) {
        self.seeds += other.seeds;
        for (area, variants) in &other.areas {
            for (variant, count) in variants {
                self.count(area, variant, *count);
            }
        }
    }

    fn count(&mut self, area: &str, variant: &str, more: Count) {
        let variants = self.areas.entry(area.to_owned()).or_default();
        let count = variants.entry(variant.to_owned()).or_default();
        count.seeds += more.seeds;
        count.times += more.times;
    }

    fn of(&self, area: &str, variant: &str) -> Count {
        self.areas.get(area).and_then(|variants| variants.get(variant)).copied().unwrap_or_default()
    }

    fn times(&self, area: &str, variant: &str) -> u64 {
        self.of(area, variant).times
    }

    /// How many variants of decisions and outcomes were reached, and how many can be.
    pub fn share(&self) -> (usize, usize) {
        let all = || {
            let each = |(_, area, variants): (_, &'static str, &'static [&'static str])| {
                variants.iter().map(move |variant| (area, *variant))
            };
            areas().into_iter().flat_map(each).filter(|(area, variant)| is_reachable(area, variant))
        };
        (all().filter(|(area, variant)| self.times(area, variant) > 0).count(), all().count())
    }

    /// The variants that were never reached, although a schedule can reach them.
    pub fn missing(&self) -> Vec<String> {
        let all = areas()
            .into_iter()
            .flat_map(|(title, area, variants)| variants.iter().map(move |variant| (title, area, *variant)));
        all.filter(|(_, area, variant)| is_reachable(area, variant) && self.times(area, variant) == 0)
            .map(|(title, _, variant)| format!("{title}: {variant}"))
            .collect()
    }

    /// As Markdown: one table for each area, and the variants that no seed reached.
    pub fn table(&self) -> String {
        let mut text = format!("{} seeds.\n", self.seeds);
        for (title, area, variants) in areas() {
            let _ = write!(text, "\n| {title} | Seeds | Times |\n|---|---:|---:|\n"); // a String takes everything
            for variant in variants {
                let Count { seeds, times } = self.of(area, variant);
                let _ = writeln!(text, "| `{variant}` | {seeds} | {times} |");
            }
        }
        let missing = self.missing();
        let list = if missing.is_empty() { "none".to_owned() } else { missing.join("; ") };
        let _ = writeln!(text, "\nNever reached: {list}.");
        let reasons = UNREACHABLE.map(|(area, variant, why)| format!("{area} {variant}: {why}"));
        let _ = writeln!(text, "\nNot reachable in the simulation: {}.", reasons.join("; "));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;

    #[test]
    fn unreached_variants_are_in_the_table_with_zero() {
        let mut coverage = Coverage::default();
        let reached = Reached::from([((DECISION, "Create"), 3), ((OUTCOME, "InPlace"), 1)]);
        coverage.add(&generate(1), &reached);
        let table = coverage.table();
        assert!(table.contains("| `Create` | 1 | 3 |") && table.contains("| `Replace` | 0 | 0 |"), "{table}");
        assert!(
            table.contains("Never reached: ") && table.contains("Decisions of the loop: Replace"),
            "{table}"
        );
        let (reached, all) = coverage.share();
        assert!(reached >= 4 && reached + coverage.missing().len() == all);
        let mut twice = coverage.clone();
        twice.merge(&coverage);
        assert_eq!(twice.of(DECISION, "Create"), Count { seeds: 2, times: 6 });
    }

    #[test]
    fn variants_that_cannot_be_reached_are_named_and_not_counted_as_missing() {
        for (area, variant, _) in UNREACHABLE {
            assert!(areas().iter().any(|(_, of, variants)| *of == area && variants.contains(&variant)));
        }
        let coverage = Coverage::default();
        assert!(!coverage.missing().iter().any(|name| name.ends_with(": Internal")));
        assert!(coverage.table().contains("failure not_configured: every simulated controller has a region"));
    }

    #[test]
    fn every_operation_fault_and_opening_has_a_row() {
        let mut coverage = Coverage::default();
        (0..1500).for_each(|seed| coverage.add(&generate(seed), &Reached::new()));
        for (area, all) in [("operation", &OPERATIONS[..]), ("fault", &FAULTS[..]), (OPENING, OPENINGS)] {
            assert_eq!(coverage.areas[area].len(), all.len());
            assert!(all.iter().all(|name| coverage.times(area, name) > 0), "{:?}", coverage.missing());
        }
    }
}
