//! The reverse index from each ConfigMap, Secret and state to its dependents. Pure.
//!
//! With it, an event on one object triggers only its dependents. It is also the graph in which reference cycles are
//! detected.

use std::{
    collections::BTreeSet,
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
};

use kraken_runtime::hash::{HashMap, HashSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kraken_api::{
    names::{owned_name, owner_kind, referenced_kind},
    state_declaration::STATIC_KIND,
};
use kraken_runtime::watch::ObjectKey;

use crate::store::cycle;

/// The class of a referenced object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
    /// A StateDeclaration.
    State,
}

/// A reference to one object, which may not exist.
///
/// A reference may omit the group of a kind. It then refers to the state of a resource of any group, in the form
/// `vpc..main`, which is not a valid object name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The class.
    pub class: Class,
    /// The namespace and name.
    pub key: ObjectKey,
}

/// The parts of the name of a resource's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateName<'a> {
    /// The kind, normalized by `kind_key`.
    pub kind: &'a str,
    /// The group; empty for any group.
    pub group: &'a str,
    /// The name of the resource.
    pub name: &'a str,
}

impl ObjectRef {
    /// The object of this class, namespace and name.
    pub fn new(class: Class, namespace: &str, name: &str) -> Self {
        Self { class, key: ObjectKey::new(namespace, name) }
    }

    /// The state that a reference names by kind and name.
    pub fn state(namespace: &str, kind: &str, name: &str) -> Self {
        let kind = referenced_kind(kind);
        let name = match kind.as_str() {
            STATIC_KIND => format!("{STATIC_KIND}-{name}"),
            kind if kind.contains('.') => owned_name(kind, name),
            kind => owned_name(&format!("{kind}."), name),
        };
        Self::new(Class::State, namespace, &name)
    }

    /// The state of the resource that an owner reference names.
    pub fn state_of(namespace: &str, owner: &OwnerReference) -> Self {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        Self::new(Class::State, namespace, &owned_name(&owner_kind(&owner.kind, group), &owner.name))
    }

    /// The parts of the name, if this is the state of a resource.
    pub fn state_name(&self) -> Option<StateName<'_>> {
        let mut parts = self.key.name.splitn(3, '.');
        let (kind, group, name) = (parts.next()?, parts.next()?, parts.next()?);
        // A kind has no hyphen, and the name of a static state begins with `static-`.
        (self.class == Class::State && !kind.contains('-')).then_some(StateName { kind, group, name })
    }

    /// Whether the group is omitted.
    pub fn is_of_any_group(&self) -> bool {
        self.state_name().is_some_and(|state| state.group.is_empty())
    }

    /// The form in which references without a group name the state of this resource.
    fn of_any_group(&self) -> Option<Self> {
        let StateName { kind, group, name } = self.state_name()?;
        let any = || Self::new(Class::State, &self.key.namespace, &format!("{kind}..{name}"));
        (!group.is_empty()).then(any)
    }

    /// This reference, and its form without a group.
    fn spellings(&self) -> impl Iterator<Item = Self> {
        [Some(self.clone()), self.of_any_group()].into_iter().flatten()
    }

    /// Whether this reference matches that object.
    pub fn refers_to(&self, other: &Self) -> bool {
        self == other || self.is_of_any_group() && other.of_any_group().as_ref() == Some(self)
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.key.name;
        match (self.class, self.state_name()) {
            (Class::ConfigMap, _) => write!(f, "ConfigMap {name}"),
            (Class::Secret, _) => write!(f, "Secret {name}"),
            (Class::State, Some(StateName { kind, name, .. })) => write!(f, "{kind} {name}"),
            (Class::State, None) => match name.split_once('-') {
                Some((kind, name)) => write!(f, "{kind} {name}"),
                None => f.write_str(name),
            },
        }
    }
}

/// An object with references.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dependent {
    /// A DependencyRequest.
    Request(ObjectKey),
    /// A ConfigExport.
    Export(ObjectKey),
}

/// The edges of a dependent in the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// The objects that it depends on.
    pub needs: BTreeSet<ObjectRef>,
    /// The object that it provides: the state of a DependencyRequest's owner, the target of a ConfigExport.
    pub provides: Option<ObjectRef>,
}

impl Edges {
    fn needs_what(&self, provided: &ObjectRef) -> bool {
        provided.spellings().any(|named| self.needs.contains(&named))
    }
}

/// The effect of a change of a dependent on others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Objects that are no longer referenced.
    pub forgotten: Vec<ObjectRef>,
    /// The dependents to reconcile: those that were or are in a cycle with it, or whose reference became ambiguous or
    /// unambiguous.
    pub affected: Vec<Dependent>,
}

/// The index.
#[derive(Debug, Default)]
pub struct Index {
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
    pub fn set(&mut self, dependent: &Dependent, edges: &Edges) -> Effect {
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
    pub fn remove(&mut self, dependent: &Dependent) -> Effect {
        let Some(before) = self.edges.remove(dependent) else { return Effect::default() };
        self.unlink(dependent, &before);
        let effect = self.effect(dependent, &before, &Edges::default());
        self.cyclic.remove(dependent);
        effect
    }

    /// Records whether a state exists.
    pub fn publish(&mut self, state: &ObjectRef, exists: bool) {
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
    pub fn candidates(&self, any: &ObjectRef) -> Vec<ObjectRef> {
        let published = self.published.get(any).into_iter().flatten();
        let providers = self.providers.get(any).into_iter().flatten();
        let promised = providers.filter_map(|dependent| self.edges.get(dependent)?.provides.as_ref());
        let candidates: BTreeSet<_> = published.chain(promised).cloned().collect();
        candidates.into_iter().collect()
    }

    /// The dependents of this object.
    pub fn dependents(&self, named: &ObjectRef) -> Vec<Dependent> {
        let dependents: HashSet<_> =
            named.spellings().filter_map(|named| self.dependents.get(&named)).flatten().cloned().collect();
        dependents.into_iter().collect()
    }

    /// Whether this object is referenced.
    pub fn is_named(&self, named: &ObjectRef) -> bool {
        named.spellings().any(|named| self.dependents.contains_key(&named))
    }

    /// Whether another dependent provides this object.
    pub fn has_other_producer(&self, named: &ObjectRef, to: &Dependent) -> bool {
        self.providers.get(named).into_iter().flatten().any(|provider| provider != to)
    }

    /// The sources of this object, by the providers that `counts` accepts.
    pub fn sources(&self, named: &ObjectRef, counts: impl Fn(&Dependent) -> bool) -> Vec<ObjectRef> {
        self.visits.fetch_add(1, Ordering::Relaxed);
        let providers = self.providers.get(named).into_iter().flatten().filter(|dependent| counts(dependent));
        providers
            .filter_map(|dependent| self.edges.get(dependent))
            .flat_map(|edges| &edges.needs)
            .cloned()
            .collect()
    }

    /// Whether a dependent may be in a cycle; false is certain.
    pub fn may_be_cyclic(&self, dependent: &Dependent) -> bool {
        self.cyclic.contains(dependent)
    }

    /// Records that a dependent is in no cycle.
    pub fn acyclic(&mut self, dependent: &Dependent) {
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

    fn effect(&mut self, dependent: &Dependent, before: &Edges, after: &Edges) -> Effect {
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
                edges.needs_what(provided) || self.dependents(provided).iter().any(|namer| namer != dependent)
            })
        };
        if !is_needed(before) && !is_needed(after) {
            return HashSet::default();
        }
        let needs = || before.needs.union(&after.needs).cloned();
        let reached = cycle::reach(needs(), |named| self.sources(named, |_| true));
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
