//! A budget for all paths of one resource: a query comes from any user who can write a spec, and is evaluated on the
//! threads of a controller that serves all users.

use crate::jsonpath::{Exhausted, Steps};
use crate::lookup::LookupReason;

/// The maximum number of steps for all paths of one reconcile: about one per value visited or compared, and per 16 bytes
/// of text compared. About 50 ms on one core.
const MAX_STEPS: usize = 1_000_000;
/// The maximum number of bytes of all their results: more than a Kubernetes object can contain.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The remaining budget for the paths of one reconcile. Create one per reconcile and pass it to every
/// [`Path::find_within`](crate::Path::find_within), which bounds their total cost.
#[derive(Clone, Debug)]
pub struct Budget {
    pub(crate) steps: Steps,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: Steps::of(MAX_STEPS), bytes: MAX_BYTES }
    }
}

impl Budget {
    /// How many steps were taken so far.
    pub fn steps_taken(&self) -> usize {
        MAX_STEPS - self.steps.left()
    }

    /// Counts the bytes of a value that was found.
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> Result<(), LookupReason> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(LookupReason::TooLargeTogether)?;
        Ok(())
    }

    /// Counts the steps of a path of names and indexes, which takes one each.
    pub(crate) fn take_steps(&mut self, steps: usize) -> Result<(), Exhausted> {
        self.steps.spend(steps)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::Path;
    use serde_json::{Value, json};

    /// A state of the maximum size of a StateDeclaration, with many small values.
    fn large() -> Value {
        (0..20_000).map(|n| json!({"a": {"b": n, "c": format!("text {n}")}})).collect()
    }

    fn find(path: &str, data: &Value, budget: &mut Budget) -> Result<Value, LookupReason> {
        Path::parse(path).expect(path).find_within(data, budget).map_err(|error| error.reason)
    }

    #[test]
    fn all_paths_of_a_reconcile_share_one_budget() {
        let (data, mut budget) = (large(), Budget::default());
        let mut found = 0;
        while find("$[?@.a.b == 3].a.b", &data, &mut budget).is_ok() {
            found += 1;
            assert!(found < 1000, "no budget was spent");
        }
        assert!(found > 1, "one modest query is within the budget");
        assert_eq!(find("$[*].a.b", &data, &mut budget), Err(LookupReason::TooManySteps));
        // Another resource has its own budget.
        assert!(find("$[?@.a.b == 3].a.b", &data, &mut Budget::default()).is_ok());
    }

    #[test]
    fn the_bytes_of_all_values_are_bounded_together() {
        let (data, mut budget) = (json!({"a": "x".repeat(1_000_000)}), Budget::default());
        for _ in 0..4 {
            assert!(find("a", &data, &mut budget).is_ok());
        }
        assert_eq!(find("a", &data, &mut budget), Err(LookupReason::TooLargeTogether));
    }

    #[test]
    fn the_worst_queries_take_no_more_than_the_budget() {
        let data = large();
        let slow = "x".repeat(2_000);
        let texts: Value = (0..400).map(|n| json!({"t": format!("{slow}{n}")})).collect();
        let queries = [
            ("$..[?@..b]", &data),
            ("$[?count($..b) > 1]", &data),
            ("$..*..*..*", &data),
            ("$[?@.a == $[0].a || @ == $[19999]]", &data),
            ("$[?search(@.t, '(x+x+)+y')]", &texts),
            ("$[?match(@.t, $[0].t)]", &texts),
            ("$[?$[?@.t == $[399].t]]", &texts),
        ];
        let (mut budget, started) = (Budget::default(), Instant::now());
        // As many as a request can contain.
        for (query, data) in queries.into_iter().cycle().take(256) {
            let _ = find(query, data, &mut budget);
        }
        assert!(budget.steps_taken() <= MAX_STEPS);
        // 0.3 s without optimisation; the bound is generous for a busy machine.
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }

    #[test]
    fn the_longest_queries_that_a_request_holds_are_parsed_in_time() {
        let filled = |open: &str, unit: &str, joint: &str, close: &str| {
            let mut query = open.to_owned();
            while query.len() + unit.len() + joint.len() + close.len() < 1024 {
                query.push_str(unit);
                query.push_str(joint);
            }
            format!("{query}{unit}{close}")
        };
        let queries = [
            filled("$[?", "@.a==1", "||", "]"),
            filled("$[?", "(@.a||!@.b)", "&&", "]"),
            filled("$", "[?@[?@.a]]", "", ""),
            filled("$[?((((", "@['a']", "||", "))))]"),
            filled("$[", "1:2:3", ",", "]"),
            filled("$[?", "count(@..*)>1", "||", "]"),
            filled("$[?", "@.a==@.b", "&&", ""),
        ];
        let started = Instant::now();
        for query in queries.iter().cycle().take(1024) {
            drop(Path::parse(query));
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    }
}
