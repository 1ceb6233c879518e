//! The reverse index from each ConfigMap, Secret and state to its dependents. Pure.
//!
//! With it, an event on one object triggers only its dependents. It is also the graph in which reference cycles are
//! detected.

mod effect;
mod object_ref;

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use kraken_runtime::{
    hash::{HashMap, HashSet},
    watch::ObjectKey,
};

pub(crate) use effect::Effect;
pub(crate) use object_ref::{Class, ObjectRef, StateName};

/// An object with references.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Dependent {
    /// A DependencyRequest.
    Request(ObjectKey),
    /// A ConfigExport.
    Export(ObjectKey),
}

impl Dependent {
    /// The namespace.
    pub(crate) fn namespace(&self) -> &str {
        match self {
            Self::Request(key) | Self::Export(key) => &key.namespace,
        }
    }
}

/// The edges of a dependent in the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edges {
    /// The objects that it depends on.
    pub(crate) needs: BTreeSet<ObjectRef>,
    /// Those of them that it needs only after it exists: they order nothing, and close no cycle.
    pub(crate) follows: BTreeSet<ObjectRef>,
    /// The object that it provides: the state of a DependencyRequest's owner, the target of a ConfigExport.
    pub(crate) provides: Option<ObjectRef>,
}

impl Edges {
    /// From the dependencies, each with whether it only follows, and the provided object.
    pub(crate) fn of(
        dependencies: impl IntoIterator<Item = (ObjectRef, bool)>,
        provides: Option<ObjectRef>,
    ) -> Self {
        let (mut needs, mut ordering) = (BTreeSet::new(), BTreeSet::new());
        for (named, follows) in dependencies {
            if !follows {
                ordering.insert(named.clone());
            }
            needs.insert(named);
        }
        let follows = needs.difference(&ordering).cloned().collect();
        Self { needs, follows, provides }
    }

    /// The objects that it needs to exist.
    pub(crate) fn ordering(&self) -> impl Iterator<Item = &ObjectRef> {
        self.needs.difference(&self.follows)
    }

    fn depends_on(&self, provided: &ObjectRef) -> bool {
        provided.spellings().any(|named| self.needs.contains(&named))
    }
}

/// The index.
#[derive(Debug, Default)]
pub(crate) struct Index {
    edges: HashMap<Dependent, Edges>,
    dependents: HashMap<ObjectRef, HashSet<Dependent>>,
    providers: HashMap<ObjectRef, HashSet<Dependent>>,
    /// The existing states, by their form without a group.
    published: HashMap<ObjectRef, BTreeSet<ObjectRef>>,
    /// The dependents that may be in a cycle, updated when an edge is added, so that others need no search.
    cyclic: HashSet<Dependent>,
    /// The number of objects that were visited in searches for cycles.
    visits: AtomicUsize,
}

impl Index {
    /// Sets the edges of a dependent.
    pub(crate) fn set(&mut self, dependent: &Dependent, edges: &Edges) -> Effect {
        let before = self.edges.get(dependent).cloned().unwrap_or_default();
        if before == *edges {
            return Effect::default();
        }
        self.unlink(dependent, &before);
        for named in triggers(dependent, edges) {
            self.dependents.entry(named.clone()).or_default().insert(dependent.clone());
        }
        for named in edges.provides.iter().flat_map(ObjectRef::spellings) {
            self.providers.entry(named).or_default().insert(dependent.clone());
        }
        self.edges.insert(dependent.clone(), edges.clone());
        self.effect(dependent, &before, edges)
    }

    /// Removes a deleted dependent.
    pub(crate) fn remove(&mut self, dependent: &Dependent) -> Effect {
        let Some(before) = self.edges.remove(dependent) else { return Effect::default() };
        self.unlink(dependent, &before);
        let effect = self.effect(dependent, &before, &Edges::default());
        self.cyclic.remove(dependent);
        effect
    }

    /// Records whether a state exists.
    pub(crate) fn publish(&mut self, state: &ObjectRef, exists: bool) {
        let Some(any) = state.of_any_group() else { return };
        if exists {
            self.published.entry(any).or_default().insert(state.clone());
        } else if let Some(states) = self.published.get_mut(&any) {
            states.remove(state);
            if states.is_empty() {
                self.published.remove(&any);
            }
        }
    }

    /// The objects that a reference without a group matches: existing ones, and those with a producer.
    pub(crate) fn candidates(&self, any: &ObjectRef) -> Vec<ObjectRef> {
        let published = self.published.get(any).into_iter().flatten();
        let providers = self.providers.get(any).into_iter().flatten();
        let promised = providers.filter_map(|dependent| self.edges.get(dependent)?.provides.as_ref());
        let candidates: BTreeSet<_> = published.chain(promised).cloned().collect();
        candidates.into_iter().collect()
    }

    /// The dependents of this object.
    pub(crate) fn dependents(&self, named: &ObjectRef) -> Vec<Dependent> {
        let dependents: HashSet<_> =
            named.spellings().filter_map(|named| self.dependents.get(&named)).flatten().cloned().collect();
        dependents.into_iter().collect()
    }

    /// The dependents in other namespaces of objects in this one.
    pub(crate) fn dependents_in_others(&self, namespace: &str) -> HashSet<Dependent> {
        let named = self.dependents.iter().filter(|(named, _)| *named.key.namespace == *namespace);
        let dependents = named.flat_map(|(_, dependents)| dependents);
        dependents.filter(|dependent| dependent.namespace() != namespace).cloned().collect()
    }

    /// Whether this object is referenced.
    pub(crate) fn is_named(&self, named: &ObjectRef) -> bool {
        named.spellings().any(|named| self.dependents.contains_key(&named))
    }

    /// Whether another dependent provides this object.
    pub(crate) fn has_other_producer(&self, named: &ObjectRef, to: &Dependent) -> bool {
        self.providers.get(named).into_iter().flatten().any(|provider| provider != to)
    }

    /// The sources of this object, by the providers that `counts` accepts.
    pub(crate) fn sources(&self, named: &ObjectRef, counts: impl Fn(&Dependent) -> bool) -> Vec<ObjectRef> {
        self.providers_of(named, counts).flat_map(|edges| &edges.needs).cloned().collect()
    }

    /// Those of them that order the creation of its provider.
    pub(crate) fn ordering(&self, named: &ObjectRef, counts: impl Fn(&Dependent) -> bool) -> Vec<ObjectRef> {
        self.providers_of(named, counts).flat_map(Edges::ordering).cloned().collect()
    }

    fn providers_of(
        &self,
        named: &ObjectRef,
        counts: impl Fn(&Dependent) -> bool,
    ) -> impl Iterator<Item = &Edges> {
        self.visits.fetch_add(1, Ordering::Relaxed);
        let providers = self.providers.get(named).into_iter().flatten();
        providers.filter(move |dependent| counts(dependent)).filter_map(|dependent| self.edges.get(dependent))
    }

    /// Whether a dependent may be in a cycle; false is certain.
    pub(crate) fn may_be_cyclic(&self, dependent: &Dependent) -> bool {
        self.cyclic.contains(dependent)
    }

    /// Records that a dependent is in no cycle.
    pub(crate) fn acyclic(&mut self, dependent: &Dependent) {
        self.cyclic.remove(dependent);
    }

    fn unlink(&mut self, dependent: &Dependent, before: &Edges) {
        for named in triggers(dependent, before) {
            remove_from(&mut self.dependents, named, dependent);
        }
        for named in before.provides.iter().flat_map(ObjectRef::spellings) {
            remove_from(&mut self.providers, &named, dependent);
        }
    }
}

/// A ConfigExport is also triggered by its target, regardless of its owner.
fn triggers<'a>(dependent: &Dependent, edges: &'a Edges) -> impl Iterator<Item = &'a ObjectRef> {
    let target = match dependent {
        Dependent::Export(_) => edges.provides.as_ref(),
        Dependent::Request(_) => None,
    };
    edges.needs.iter().chain(target)
}

fn remove_from(map: &mut HashMap<ObjectRef, HashSet<Dependent>>, named: &ObjectRef, dependent: &Dependent) {
    if let Some(dependents) = map.get_mut(named) {
        dependents.remove(dependent);
        if dependents.is_empty() {
            map.remove(named);
        }
    }
}

#[cfg(test)]
mod tests;
