//! The selection of injection points.

use std::collections::BTreeMap;

use super::fault::{Fault, Point};
use crate::random::Stream;

/// All calls of a run with all applicable faults.
pub(super) fn points(scenario: &'static str, calls: &[super::Numbered], faults: &[Fault]) -> Vec<Point> {
    let mut points = Vec::new();
    for fault in faults {
        // One restart affects all active runs, so one per scenario is sufficient.
        let most = if *fault == Fault::Restart { 1 } else { usize::MAX };
        for call in calls.iter().filter(|call| !fault.moments(call).is_empty()).take(most) {
            points.extend(fault.moments(call).iter().map(|when| Point {
                scenario,
                call: call.clone(),
                when: *when,
                fault: *fault,
            }));
        }
    }
    points
}

/// This number of points, deterministic for a seed: every pair of scenario and fault occurs once before any occurs
/// twice.
pub(super) fn sample(points: Vec<Point>, number: usize, seed: u64) -> Vec<Point> {
    let mut random = Stream::new(seed);
    let mut groups: BTreeMap<(&str, Fault), Vec<(u64, usize)>> = BTreeMap::new();
    for (place, point) in points.iter().enumerate() {
        groups.entry((point.scenario, point.fault)).or_default().push((random.number(), place));
    }
    // By round, and in random order within a round.
    let mut order: Vec<(usize, u64, usize)> = Vec::new();
    for mut group in groups.into_values() {
        group.sort_unstable();
        order.extend(group.into_iter().enumerate().map(|(turn, (_, place))| (turn, random.number(), place)));
    }
    order.sort_unstable();
    let mut chosen: Vec<usize> = order.into_iter().take(number).map(|(_, _, place)| place).collect();
    chosen.sort_unstable();
    let mut points: Vec<Option<Point>> = points.into_iter().map(Some).collect();
    chosen.into_iter().filter_map(|place| points[place].take()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Numbered;
    use super::*;

    fn all() -> Vec<Point> {
        let call =
            |number| Numbered { number, name: format!("cloud Create{number}"), occurrence: 1, writes: true };
        let calls: Vec<Numbered> = (1..=20).map(call).collect();
        ["a", "b"].into_iter().flat_map(|name| points(name, &calls, &Fault::ALL)).collect()
    }

    fn texts(points: &[Point]) -> Vec<String> {
        points.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed() {
        let (one, again, other) = (sample(all(), 30, 1), sample(all(), 30, 1), sample(all(), 30, 2));
        assert_eq!((one.len(), texts(&one)), (30, texts(&again)));
        assert_ne!(texts(&one), texts(&other));
        assert_eq!(sample(all(), usize::MAX, 3).len(), all().len());
    }

    #[test]
    fn every_scenario_and_fault_is_selected() {
        let of = |points: &[Point]| {
            points
                .iter()
                .map(|point| (point.scenario, point.fault))
                .collect::<std::collections::BTreeSet<_>>()
        };
        let groups = of(&all());
        assert_eq!(of(&sample(all(), groups.len(), 7)), groups);
    }
}
