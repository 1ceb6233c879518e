//! Reference cycles: found by walking from the dependencies of an object back to the object that it provides. Pure, and
//! iterative, because a chain may be longer than the stack allows.

use std::collections::VecDeque;

use kraken_runtime::hash::{HashMap, HashSet};

use crate::store::index::ObjectRef;

/// The maximum number of members of a cycle in a message.
const SHOWN: usize = 8;

/// All objects that can be reached from these, including themselves.
pub(crate) fn reachable_from(
    from: impl IntoIterator<Item = ObjectRef>,
    sources: impl Fn(&ObjectRef) -> Vec<ObjectRef>,
) -> HashSet<ObjectRef> {
    let mut reached = HashSet::default();
    let mut left: Vec<ObjectRef> = from.into_iter().collect();
    while let Some(named) = left.pop() {
        if reached.contains(&named) {
            continue;
        }
        left.extend(sources(&named));
        reached.insert(named);
    }
    reached
}

/// Searches for paths back to one object, and visits each part of the graph once for all searches.
#[derive(Debug)]
pub(crate) struct CycleSearch<F> {
    to: ObjectRef,
    sources: F,
    /// Objects without a path back.
    dead: HashSet<ObjectRef>,
}

impl<F: Fn(&ObjectRef) -> Vec<ObjectRef>> CycleSearch<F> {
    /// A search for paths back to `to`.
    pub(crate) fn new(to: ObjectRef, sources: F) -> Self {
        Self { to, sources, dead: HashSet::default() }
    }

    /// The shortest path from `from` back, including both ends.
    pub(crate) fn from(&mut self, from: &ObjectRef) -> Option<Vec<ObjectRef>> {
        let mut came_from: HashMap<ObjectRef, Option<ObjectRef>> = HashMap::from_iter([(from.clone(), None)]);
        let mut left = VecDeque::from([from.clone()]);
        while let Some(named) = left.pop_front() {
            if named.refers_to(&self.to) {
                return Some(path(&came_from, named));
            }
            if self.dead.contains(&named) {
                continue;
            }
            for next in (self.sources)(&named) {
                if !came_from.contains_key(&next) {
                    came_from.insert(next.clone(), Some(named.clone()));
                    left.push_back(next);
                }
            }
        }
        self.dead.extend(came_from.into_keys());
        None
    }

    /// The message for the cycle that a dependency on `from` would close: `reference cycle: a -> b -> a`.
    pub(crate) fn cycle(&mut self, from: &ObjectRef) -> Option<String> {
        let path = self.from(from)?;
        let shown = |named: &ObjectRef| named.seen_from(&self.to.key.namespace);
        let mut names = vec![self.to.to_string()];
        if path.len() > SHOWN {
            names.extend(path.iter().take(SHOWN - 1).map(shown));
            names.push(format!("... {} more ...", path.len() - SHOWN));
            names.push(self.to.to_string());
        } else {
            names.extend(path.iter().map(shown));
        }
        Some(format!("reference cycle: {}", names.join(" -> ")))
    }
}

fn path(came_from: &HashMap<ObjectRef, Option<ObjectRef>>, end: ObjectRef) -> Vec<ObjectRef> {
    let mut path = vec![end];
    while let Some(Some(before)) = path.last().and_then(|named| came_from.get(named)) {
        path.push(before.clone());
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn state(name: &str) -> ObjectRef {
        ObjectRef::state("ns", "ec2instance.aws", name)
    }

    fn graph(edges: &[(&str, &str)]) -> impl Fn(&ObjectRef) -> Vec<ObjectRef> {
        let edges: Vec<_> = edges.iter().map(|(from, to)| (state(from), state(to))).collect();
        move |named| edges.iter().filter(|(from, _)| from == named).map(|(_, to)| to.clone()).collect()
    }

    #[test]
    fn a_cycle_of_two_is_named_starting_at_the_dependent() {
        let mut search = CycleSearch::new(state("a"), graph(&[("a", "b"), ("b", "a")]));
        let message = "reference cycle: ec2instance a -> ec2instance b -> ec2instance a";
        assert_eq!(search.cycle(&state("b")).as_deref(), Some(message));
    }

    #[test]
    fn a_resource_that_refers_to_itself_is_a_cycle() {
        let mut search = CycleSearch::new(state("a"), graph(&[]));
        assert_eq!(
            search.cycle(&state("a")).as_deref(),
            Some("reference cycle: ec2instance a -> ec2instance a")
        );
    }

    #[test]
    fn a_member_of_a_cycle_in_another_namespace_has_its_namespace() {
        let other = ObjectRef::state("other", "ec2instance.aws", "b");
        let edges =
            |named: &ObjectRef| if *named.key.namespace == *"other" { vec![state("a")] } else { vec![] };
        let message = "reference cycle: ec2instance a -> ec2instance other:b -> ec2instance a";
        assert_eq!(CycleSearch::new(state("a"), edges).cycle(&other).as_deref(), Some(message));
    }

    #[test]
    fn a_cycle_of_other_resources_is_not_reported() {
        let mut search = CycleSearch::new(state("a"), graph(&[("a", "b"), ("b", "c"), ("c", "b")]));
        assert_eq!(search.from(&state("b")), None);
    }

    #[test]
    fn a_diamond_is_walked_once() {
        let visits = Cell::new(0);
        let edges = graph(&[("b", "d"), ("c", "d"), ("d", "e")]);
        let mut search = CycleSearch::new(state("a"), |named: &ObjectRef| {
            visits.set(visits.get() + 1);
            edges(named)
        });
        assert_eq!(search.from(&state("b")), None);
        assert_eq!(search.from(&state("c")), None);
        assert_eq!(visits.get(), 4);
    }

    #[test]
    fn a_chain_longer_than_the_stack_is_walked() {
        let chain = |named: &ObjectRef| {
            let number: usize = named.key.name.rsplit('.').next().unwrap().parse().unwrap();
            if number < 200_000 { vec![state(&(number + 1).to_string())] } else { vec![] }
        };
        assert_eq!(CycleSearch::new(state("none"), chain).from(&state("0")), None);
        let long = CycleSearch::new(state("200000"), chain).cycle(&state("0")).unwrap();
        assert!(long.contains("... 199993 more ... -> ec2instance 200000"), "{long}");
    }

    #[test]
    fn every_reachable_object_is_visited_once() {
        let reached = reachable_from([state("a")], graph(&[("a", "b"), ("b", "a"), ("b", "c"), ("x", "y")]));
        assert_eq!(reached, HashSet::from_iter([state("a"), state("b"), state("c")]));
    }
}
