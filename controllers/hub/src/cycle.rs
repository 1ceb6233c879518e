//! Circles of references: found by walking from what an asker needs back to what comes of it. Pure, and iterative: a chain
//! may be longer than a stack.

use std::collections::VecDeque;

use kraken_runtime::hash::{HashMap, HashSet};

use crate::index::Named;

/// How many members of a circle a message names.
const SHOWN: usize = 8;

/// Everything that can be reached from these objects, themselves included.
pub fn reach(
    from: impl IntoIterator<Item = Named>,
    made_from: impl Fn(&Named) -> Vec<Named>,
) -> HashSet<Named> {
    let mut reached = HashSet::default();
    let mut left: Vec<Named> = from.into_iter().collect();
    while let Some(named) = left.pop() {
        if reached.contains(&named) {
            continue;
        }
        left.extend(made_from(&named));
        reached.insert(named);
    }
    reached
}

/// Looks for ways back to one object, and walks each part of the graph once however many ways are tried.
#[derive(Debug)]
pub struct WaysBack<F> {
    to: Named,
    made_from: F,
    /// What is known not to lead back.
    dead: HashSet<Named>,
}

impl<F: Fn(&Named) -> Vec<Named>> WaysBack<F> {
    /// A search for ways back to `to`.
    pub fn new(to: Named, made_from: F) -> Self {
        Self { to, made_from, dead: HashSet::default() }
    }

    /// The shortest way from `from` back, both ends included.
    pub fn from(&mut self, from: &Named) -> Option<Vec<Named>> {
        let mut came_from: HashMap<Named, Option<Named>> = HashMap::from_iter([(from.clone(), None)]);
        let mut left = VecDeque::from([from.clone()]);
        while let Some(named) = left.pop_front() {
            if named.may_mean(&self.to) {
                return Some(way(&came_from, named));
            }
            if self.dead.contains(&named) {
                continue;
            }
            for next in (self.made_from)(&named) {
                if !came_from.contains_key(&next) {
                    came_from.insert(next.clone(), Some(named.clone()));
                    left.push_back(next);
                }
            }
        }
        self.dead.extend(came_from.into_keys());
        None
    }

    /// The circle that needing `from` would close, for a person: `reference cycle: a -> b -> a`.
    pub fn circle(&mut self, from: &Named) -> Option<String> {
        let way = self.from(from)?;
        let mut words = vec![self.to.to_string()];
        if way.len() > SHOWN {
            words.extend(way.iter().take(SHOWN - 1).map(ToString::to_string));
            words.push(format!("... {} more ...", way.len() - SHOWN));
            words.push(self.to.to_string());
        } else {
            words.extend(way.iter().map(ToString::to_string));
        }
        Some(format!("reference cycle: {}", words.join(" -> ")))
    }
}

fn way(came_from: &HashMap<Named, Option<Named>>, end: Named) -> Vec<Named> {
    let mut way = vec![end];
    while let Some(Some(before)) = way.last().and_then(|named| came_from.get(named)) {
        way.push(before.clone());
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn state(name: &str) -> Named {
        Named::state("ns", "ec2instance.aws", name)
    }

    fn graph(edges: &[(&str, &str)]) -> impl Fn(&Named) -> Vec<Named> {
        let edges: Vec<_> = edges.iter().map(|(from, to)| (state(from), state(to))).collect();
        move |named| edges.iter().filter(|(from, _)| from == named).map(|(_, to)| to.clone()).collect()
    }

    #[test]
    fn a_circle_of_two_is_named_from_the_asker_round() {
        let mut ways = WaysBack::new(state("a"), graph(&[("a", "b"), ("b", "a")]));
        let message = "reference cycle: ec2instance a -> ec2instance b -> ec2instance a";
        assert_eq!(ways.circle(&state("b")).as_deref(), Some(message));
    }

    #[test]
    fn a_resource_that_refers_to_itself_is_a_circle() {
        let mut ways = WaysBack::new(state("a"), graph(&[]));
        assert_eq!(
            ways.circle(&state("a")).as_deref(),
            Some("reference cycle: ec2instance a -> ec2instance a")
        );
    }

    #[test]
    fn a_circle_of_others_is_not_the_askers_and_ends() {
        let mut ways = WaysBack::new(state("a"), graph(&[("a", "b"), ("b", "c"), ("c", "b")]));
        assert_eq!(ways.from(&state("b")), None);
    }

    #[test]
    fn a_diamond_is_walked_once() {
        let visits = Cell::new(0);
        let edges = graph(&[("b", "d"), ("c", "d"), ("d", "e")]);
        let mut ways = WaysBack::new(state("a"), |named: &Named| {
            visits.set(visits.get() + 1);
            edges(named)
        });
        assert_eq!(ways.from(&state("b")), None);
        assert_eq!(ways.from(&state("c")), None);
        assert_eq!(visits.get(), 4);
    }

    #[test]
    fn a_chain_longer_than_the_stack_is_walked() {
        let chain = |named: &Named| {
            let number: usize = named.key.name.rsplit('.').next().unwrap().parse().unwrap();
            if number < 200_000 { vec![state(&(number + 1).to_string())] } else { vec![] }
        };
        assert_eq!(WaysBack::new(state("none"), chain).from(&state("0")), None);
        let long = WaysBack::new(state("200000"), chain).circle(&state("0")).unwrap();
        assert!(long.contains("... 199993 more ... -> ec2instance 200000"), "{long}");
    }

    #[test]
    fn everything_reachable_is_reached_once() {
        let reached = reach([state("a")], graph(&[("a", "b"), ("b", "a"), ("b", "c"), ("x", "y")]));
        assert_eq!(reached, HashSet::from_iter([state("a"), state("b"), state("c")]));
    }
}
