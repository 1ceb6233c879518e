//! The results of the benchmark, compared with the targets.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::tally::Tally;
use crate::ui::{self, Colour, paint};

/// Bytes.
pub(super) const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// One target.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    value: f64,
    limit: f64,
    ok: bool,
    /// Whether missing it fails the benchmark. A rate depends on the machine.
    counted: bool,
}

/// All results of one run; its fields are those of the JSON file.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    resources: u16,
    references: bool,
    seconds: f64,
    writes: Tally,
    writes_at_rest: Tally,
    cloud_calls: BTreeMap<String, u64>,
    cloud_calls_at_rest: u64,
    rss_bytes: BTreeMap<String, u64>,
    checks: Vec<Check>,
}

impl Report {
    #[allow(clippy::too_many_arguments)] // one call, and each is a field
    pub(super) fn new(
        resources: u16,
        references: bool,
        took: Duration,
        writes: Tally,
        writes_at_rest: Tally,
        cloud_calls: BTreeMap<String, u64>,
        cloud_calls_at_rest: u64,
        memory: Vec<(String, u64)>,
    ) -> Self {
        let rss_bytes: BTreeMap<String, u64> = memory.into_iter().collect();
        // The other spokes run too, and are idle.
        let at_work = ["hub", "aws-ec2-instance"].iter().filter_map(|name| rss_bytes.get(*name)).sum();
        let per_resource = |number: u64| number_of(number) / f64::from(resources);
        let creates = cloud_calls.get("RunInstances").copied().unwrap_or_default();
        let seconds = took.as_secs_f64();
        let at_most = |name, value, limit| Check { name, value, limit, ok: value <= limit, counted: true };
        let rate = f64::from(resources) / seconds;
        // Each resource is created once, and the event of its creation is not counted.
        let of_creation = writes.events.min(u64::from(resources));
        let counted = writes.total.saturating_sub(of_creation);
        let checks = vec![
            at_most(
                "writes per resource, without the event of its creation",
                per_resource(counted),
                if references { 6.0 } else { 4.0 },
            ),
            at_most("writes at rest", number_of(writes_at_rest.total), 0.0),
            at_most("creating calls per resource", per_resource(creates), 1.0),
            at_most("cloud calls per resource", per_resource(cloud_calls.values().sum()), 2.0),
            at_most("memory of hub and spoke, MiB", number_of(at_work) / MEBIBYTE, 60.0),
            Check {
                name: "resources per second",
                value: rate,
                limit: 20.0,
                ok: rate >= 20.0,
                counted: false,
            },
        ];
        Self {
            resources,
            references,
            seconds,
            writes,
            writes_at_rest,
            cloud_calls,
            cloud_calls_at_rest,
            rss_bytes,
            checks,
        }
    }

    /// Whether all binding targets were met.
    pub(super) fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.ok || !check.counted)
    }

    pub(super) fn print(&self) {
        let per_resource = |number: u64| format!("{:.2}", number_of(number) / f64::from(self.resources));
        ui::headline(&format!("{} EC2Instances Ready in {:.1} s", self.resources, self.seconds));
        println!("Writes to Kubernetes, by our service accounts");
        print_writes(&self.writes, u64::from(self.resources));
        if self.writes_at_rest.total > 0 {
            println!("Writes at rest");
            print_writes(&self.writes_at_rest, u64::from(self.resources));
        }
        println!("Calls to the cloud ({} more at rest)", self.cloud_calls_at_rest);
        let calls = self
            .cloud_calls
            .iter()
            .map(|(action, number)| [action.clone(), number.to_string(), per_resource(*number)]);
        print!("{}", ui::table(&["action", "number", "per resource"], calls));
        println!("Memory");
        let memory = self
            .rss_bytes
            .iter()
            .map(|(name, bytes)| [name.clone(), format!("{:.1} MiB", number_of(*bytes) / MEBIBYTE)]);
        print!("{}", ui::table(&["controller", "resident"], memory));
        println!("Targets");
        let checks = self.checks.iter().map(|check| {
            let word = match (check.ok, check.counted) {
                (true, _) => paint(Colour::Green, "ok"),
                (false, true) => paint(Colour::Red, "MISSED"),
                (false, false) => paint(Colour::Yellow, "MISSED (not counted: depends on the machine)"),
            };
            let bound = if check.counted { "at most" } else { "at least" };
            [check.name.to_owned(), format!("{:.2}", check.value), format!("{bound} {}", check.limit), word]
        });
        print!("{}", ui::table(&["", "measured", "target", ""], checks));
    }
}

/// Writes as a table, also per resource.
pub(super) fn print_writes(tally: &Tally, resources: u64) {
    let rows = tally.rows.iter().map(|row| {
        [
            row.controller.clone(),
            row.resource.clone(),
            row.verb.clone(),
            row.number.to_string(),
            row.refused.to_string(),
            format!("{:.2}", number_of(row.number) / number_of(resources)),
        ]
    });
    print!("{}", ui::table(&["controller", "resource", "verb", "number", "refused", "per resource"], rows));
    println!(
        "  {} in all, {} of them events; {} lease renewals apart",
        tally.total, tally.events, tally.leases
    );
}

/// Counts and sizes here are far below 2^52, where this would round.
#[allow(clippy::cast_precision_loss)]
pub(super) fn number_of(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(writes: u64, seconds: u64) -> Report {
        let tally = Tally { total: writes, ..Tally::default() };
        let calls = BTreeMap::from([("RunInstances".to_owned(), 10)]);
        Report::new(10, true, Duration::from_secs(seconds), tally, Tally::default(), calls, 0, Vec::new())
    }

    #[test]
    fn a_missed_target_fails_except_for_speed() {
        assert!(report(60, 1).passed());
        assert!(!report(61, 1).passed());
        assert!(!report(60, 0).checks.is_empty());
        assert!(report(60, 100).passed());
    }

    #[test]
    fn only_the_event_of_a_creation_is_not_counted() {
        let of = |total: u64, events: u64| {
            let tally = Tally { total, events, ..Tally::default() };
            let calls = BTreeMap::from([("RunInstances".to_owned(), 10)]);
            Report::new(10, true, Duration::from_secs(1), tally, Tally::default(), calls, 0, Vec::new())
        };
        assert!(of(70, 20).passed());
        assert!(!of(71, 30).passed());
    }
}
