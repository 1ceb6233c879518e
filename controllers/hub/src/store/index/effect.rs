//! The dependents that a change of edges affects: those in a cycle that it closes or opens, and those whose reference it
//! makes ambiguous or unambiguous.

use kraken_runtime::hash::HashSet;

use super::{Dependent, Edges, Index, ObjectRef};
use crate::store::cycle;

/// The effect of a change of a dependent on others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Objects that are no longer referenced.
    pub(crate) forgotten: Vec<ObjectRef>,
    /// The dependents to reconcile: those that were or are in a cycle with it, or whose reference became ambiguous or
    /// unambiguous.
    pub(crate) affected: Vec<Dependent>,
}

impl Index {
    pub(super) fn effect(&mut self, dependent: &Dependent, before: &Edges, after: &Edges) -> Effect {
        let names = before.needs.iter().chain(&before.provides);
        let forgotten = names.filter(|named| !self.is_named(named)).cloned().collect();
        let mut affected = self.closed(dependent, before, after);
        affected.extend(self.ambiguous_dependents(before, after));
        Effect { forgotten, affected: affected.into_iter().collect() }
    }

    /// The dependents in a cycle that this change closes or opens.
    fn closed(&mut self, dependent: &Dependent, before: &Edges, after: &Edges) -> HashSet<Dependent> {
        // A dependent whose provided object is not referenced closes no cycle. This is the common case, and needs no
        // search.
        let is_needed = |edges: &Edges| {
            edges.provides.as_ref().is_some_and(|provided| {
                edges.depends_on(provided) || self.dependents(provided).iter().any(|other| other != dependent)
            })
        };
        if !is_needed(before) && !is_needed(after) {
            return HashSet::default();
        }
        let needs = || before.needs.union(&after.needs).cloned();
        let reached = cycle::reachable_from(needs(), |named| self.sources(named, |_| true));
        let closes = |edges: &Edges| {
            let provided = edges.provides.iter().flat_map(ObjectRef::spellings);
            provided.into_iter().any(|provided| reached.contains(&provided))
        };
        if !closes(before) && !closes(after) {
            return HashSet::default();
        }
        let members: HashSet<Dependent> =
            reached.iter().filter_map(|named| self.providers.get(named)).flatten().cloned().collect();
        self.cyclic.extend(members.iter().cloned());
        members
    }

    /// The dependents with a reference without a group that matches more than one object.
    fn ambiguous_dependents(&self, before: &Edges, after: &Edges) -> HashSet<Dependent> {
        if before.provides == after.provides {
            return HashSet::default();
        }
        let changed = before.provides.iter().chain(&after.provides);
        // If one is removed, one less remains.
        let any = changed.filter_map(ObjectRef::of_any_group).filter(|any| !self.candidates(any).is_empty());
        any.filter_map(|any| self.dependents.get(&any)).flatten().cloned().collect()
    }
}
