//! Who asks for what: a reverse index from each ConfigMap, Secret and state to those who name it. Pure.
//!
//! It is what makes an event on one object cost only its askers, and it is the graph in which reference cycles show.

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

use crate::cycle;

/// What can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
    /// A StateDeclaration.
    State,
}

/// One object that can be named, whether it exists or not.
///
/// A reference may leave out the group of a kind: it then names the state of a resource of any group, in the form
/// `vpc..main`, which is no object's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Named {
    /// What it is.
    pub class: Class,
    /// Where it is.
    pub key: ObjectKey,
}

/// The parts of the name of a resource's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateName<'a> {
    /// The kind, as `kind_key` spells it.
    pub kind: &'a str,
    /// The group; empty if any is meant.
    pub group: &'a str,
    /// The name of the resource.
    pub name: &'a str,
}

impl Named {
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
        // A kind has no hyphen, and what a person wrote begins with `static-`.
        (self.class == Class::State && !kind.contains('-')).then_some(StateName { kind, group, name })
    }

    /// Whether the group is left open.
    pub fn is_of_any_group(&self) -> bool {
        self.state_name().is_some_and(|state| state.group.is_empty())
    }

    /// The name by which references without a group know the state of this resource.
    fn of_any_group(&self) -> Option<Self> {
        let StateName { kind, group, name } = self.state_name()?;
        let any = || Self::new(Class::State, &self.key.namespace, &format!("{kind}..{name}"));
        (!group.is_empty()).then(any)
    }

    /// Itself, and the name by which references without a group know it.
    fn spellings(&self) -> impl Iterator<Item = Self> {
        [Some(self.clone()), self.of_any_group()].into_iter().flatten()
    }

    /// Whether this name may mean that object.
    pub fn may_mean(&self, other: &Self) -> bool {
        self == other || self.is_of_any_group() && other.of_any_group().as_ref() == Some(self)
    }
}

impl fmt::Display for Named {
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

/// Who names objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Asker {
    /// A DependencyRequest.
    Request(ObjectKey),
    /// A ConfigExport.
    Export(ObjectKey),
}

/// What an asker names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asks {
    /// What it takes values from.
    pub needs: BTreeSet<Named>,
    /// What comes of it: the state of a DependencyRequest's owner, the target of a ConfigExport.
    pub provides: Option<Named>,
}

impl Asks {
    fn needs_what(&self, provided: &Named) -> bool {
        provided.spellings().any(|named| self.needs.contains(&named))
    }
}

/// What a change of an asker means to others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// What nobody names any more.
    pub forgotten: Vec<Named>,
    /// Who has to look again: who was or is in a cycle with the asker, or names something that became ambiguous or
    /// ceased to be.
    pub affected: Vec<Asker>,
}

/// The index.
#[derive(Debug, Default)]
pub struct Index {
    asks: HashMap<Asker, Asks>,
    namers: HashMap<Named, HashSet<Asker>>,
    providers: HashMap<Named, HashSet<Asker>>,
    /// The states that exist, by the name that leaves their group open.
    published: HashMap<Named, BTreeSet<Named>>,
    /// Who may be in a cycle: found when an edge was added, so that nobody else has to look for one.
    cyclic: HashSet<Asker>,
    /// How many objects were visited in search of cycles.
    visits: AtomicUsize,
}

impl Index {
    /// Takes note of what an asker names now.
    pub fn set(&mut self, asker: &Asker, asks: &Asks) -> Effect {
        let before = self.asks.get(asker).cloned().unwrap_or_default();
        if before == *asks {
            return Effect::default();
        }
        self.unlink(asker, &before);
        for named in woken_by(asker, asks) {
            self.namers.entry(named.clone()).or_default().insert(asker.clone());
        }
        for named in asks.provides.iter().flat_map(Named::spellings) {
            self.providers.entry(named).or_default().insert(asker.clone());
        }
        self.asks.insert(asker.clone(), asks.clone());
        self.effect(asker, &before, asks)
    }

    /// Forgets an asker that is gone.
    pub fn remove(&mut self, asker: &Asker) -> Effect {
        let Some(before) = self.asks.remove(asker) else { return Effect::default() };
        self.unlink(asker, &before);
        let effect = self.effect(asker, &before, &Asks::default());
        self.cyclic.remove(asker);
        effect
    }

    /// Takes note of whether a state exists.
    pub fn publish(&mut self, state: &Named, exists: bool) {
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

    /// The objects that a name which leaves the group open may mean: those that exist, and those that somebody is to publish.
    pub fn candidates(&self, any: &Named) -> Vec<Named> {
        let published = self.published.get(any).into_iter().flatten();
        let providers = self.providers.get(any).into_iter().flatten();
        let promised = providers.filter_map(|asker| self.asks.get(asker)?.provides.as_ref());
        let candidates: BTreeSet<_> = published.chain(promised).cloned().collect();
        candidates.into_iter().collect()
    }

    /// Who names this object.
    pub fn namers(&self, named: &Named) -> Vec<Asker> {
        let namers: HashSet<_> =
            named.spellings().filter_map(|named| self.namers.get(&named)).flatten().cloned().collect();
        namers.into_iter().collect()
    }

    /// Whether anybody names this object.
    pub fn is_named(&self, named: &Named) -> bool {
        named.spellings().any(|named| self.namers.contains_key(&named))
    }

    /// Whether somebody other than this asker is to make this object.
    pub fn is_promised(&self, named: &Named, to: &Asker) -> bool {
        self.providers.get(named).into_iter().flatten().any(|provider| provider != to)
    }

    /// What this object is made from, by the askers that `counts` accepts.
    pub fn made_from(&self, named: &Named, counts: impl Fn(&Asker) -> bool) -> Vec<Named> {
        self.visits.fetch_add(1, Ordering::Relaxed);
        let providers = self.providers.get(named).into_iter().flatten().filter(|asker| counts(asker));
        providers.filter_map(|asker| self.asks.get(asker)).flat_map(|asks| &asks.needs).cloned().collect()
    }

    /// Whether an asker may be in a cycle; false is certain.
    pub fn may_be_cyclic(&self, asker: &Asker) -> bool {
        self.cyclic.contains(asker)
    }

    /// Takes note that an asker is in no cycle.
    pub fn acyclic(&mut self, asker: &Asker) {
        self.cyclic.remove(asker);
    }

    fn unlink(&mut self, asker: &Asker, before: &Asks) {
        for named in woken_by(asker, before) {
            remove_from(&mut self.namers, named, asker);
        }
        for named in before.provides.iter().flat_map(Named::spellings) {
            remove_from(&mut self.providers, &named, asker);
        }
    }

    fn effect(&mut self, asker: &Asker, before: &Asks, after: &Asks) -> Effect {
        let names = before.needs.iter().chain(&before.provides);
        let forgotten = names.filter(|named| !self.is_named(named)).cloned().collect();
        let mut affected = self.closed(asker, before, after);
        affected.extend(self.rivals(before, after));
        Effect { forgotten, affected: affected.into_iter().collect() }
    }

    /// Who is in a cycle that this change closes or opens.
    fn closed(&mut self, asker: &Asker, before: &Asks, after: &Asks) -> HashSet<Asker> {
        // Who provides what nobody needs closes no cycle: most do, and need no walk.
        let is_needed = |asks: &Asks| {
            asks.provides.as_ref().is_some_and(|provided| {
                asks.needs_what(provided) || self.namers(provided).iter().any(|namer| namer != asker)
            })
        };
        if !is_needed(before) && !is_needed(after) {
            return HashSet::default();
        }
        let needs = || before.needs.union(&after.needs).cloned();
        let reached = cycle::reach(needs(), |named| self.made_from(named, |_| true));
        let closes = |asks: &Asks| {
            let provided = asks.provides.iter().flat_map(Named::spellings);
            provided.into_iter().any(|provided| reached.contains(&provided))
        };
        if !closes(before) && !closes(after) {
            return HashSet::default();
        }
        let members: HashSet<Asker> =
            reached.iter().filter_map(|named| self.providers.get(named)).flatten().cloned().collect();
        self.cyclic.extend(members.iter().cloned());
        members
    }

    /// Who names, without its group, what more than one provides.
    fn rivals(&self, before: &Asks, after: &Asks) -> HashSet<Asker> {
        if before.provides == after.provides {
            return HashSet::default();
        }
        let changed = before.provides.iter().chain(&after.provides);
        // One that goes leaves one less.
        let any = changed.filter_map(Named::of_any_group).filter(|any| !self.candidates(any).is_empty());
        any.filter_map(|any| self.namers.get(&any)).flatten().cloned().collect()
    }
}

/// A ConfigExport also looks after its target, whoever made it.
fn woken_by<'a>(asker: &Asker, asks: &'a Asks) -> impl Iterator<Item = &'a Named> {
    let target = match asker {
        Asker::Export(_) => asks.provides.as_ref(),
        Asker::Request(_) => None,
    };
    asks.needs.iter().chain(target)
}

fn remove_from(map: &mut HashMap<Named, HashSet<Asker>>, named: &Named, asker: &Asker) {
    if let Some(askers) = map.get_mut(named) {
        askers.remove(asker);
        if askers.is_empty() {
            map.remove(named);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &str) -> Asker {
        Asker::Request(ObjectKey::new("ns", &format!("thing-{name}")))
    }

    fn export(name: &str) -> Asker {
        Asker::Export(ObjectKey::new("ns", name))
    }

    fn state(name: &str) -> Named {
        Named::state("ns", "thing.testing", name)
    }

    fn any(name: &str) -> Named {
        Named::state("ns", "Thing", name)
    }

    fn elsewhere(name: &str) -> Named {
        Named::state("ns", "thing.acme", name)
    }

    fn map(name: &str) -> Named {
        Named::new(Class::ConfigMap, "ns", name)
    }

    fn asks(provides: Named, needs: impl IntoIterator<Item = Named>) -> Asks {
        Asks { needs: needs.into_iter().collect(), provides: Some(provides) }
    }

    fn sorted(mut askers: Vec<Asker>) -> Vec<Asker> {
        askers.sort();
        askers
    }

    #[test]
    fn an_object_wakes_exactly_those_who_name_it() {
        let mut index = Index::default();
        index.set(&request("a"), &asks(state("a"), [map("sizes")]));
        index.set(&request("b"), &asks(state("b"), [map("sizes"), state("a")]));
        assert_eq!(sorted(index.namers(&map("sizes"))), [request("a"), request("b")]);
        assert_eq!(index.namers(&state("a")), [request("b")]);
        assert!(index.namers(&map("other")).is_empty());
        assert!(index.namers(&Named::new(Class::ConfigMap, "other", "sizes")).is_empty());
        let secret = Named::new(Class::Secret, "ns", "sizes");
        assert!(index.namers(&secret).is_empty());
    }

    #[test]
    fn an_edit_replaces_what_was_named() {
        let mut index = Index::default();
        index.set(&request("a"), &asks(state("a"), [map("old"), map("kept")]));
        let effect = index.set(&request("a"), &asks(state("a"), [map("new"), map("kept")]));
        assert!(effect.forgotten.contains(&map("old")) && !effect.forgotten.contains(&map("kept")));
        assert!(index.namers(&map("old")).is_empty());
        assert_eq!(index.namers(&map("new")), [request("a")]);
        assert!(index.is_named(&map("kept")));
    }

    #[test]
    fn the_last_who_names_an_object_forgets_it() {
        let mut index = Index::default();
        index.set(&request("a"), &asks(state("a"), [map("sizes")]));
        index.set(&request("b"), &asks(state("b"), [map("sizes")]));
        assert!(!index.remove(&request("a")).forgotten.contains(&map("sizes")));
        assert!(index.remove(&request("b")).forgotten.contains(&map("sizes")));
        assert_eq!(index.remove(&request("b")), Effect::default());
        assert!(index.namers.is_empty() && index.providers.is_empty() && index.asks.is_empty());
    }

    #[test]
    fn an_export_looks_after_its_target() {
        let mut index = Index::default();
        index.set(&export("e"), &asks(map("app"), [state("a")]));
        assert_eq!(index.namers(&map("app")), [export("e")]);
        assert_eq!(index.made_from(&map("app"), |_| true), [state("a")]);
        assert!(index.made_from(&map("app"), |_| false).is_empty());
    }

    #[test]
    fn nobody_is_woken_while_there_is_no_circle() {
        let mut index = Index::default();
        index.set(&request("vpc"), &asks(state("vpc"), [map("cidr")]));
        let effect = index.set(&request("a"), &asks(state("a"), [state("vpc")]));
        assert_eq!(effect, Effect::default());
    }

    #[test]
    fn closing_and_breaking_a_circle_wakes_all_who_are_in_it() {
        let mut index = Index::default();
        index.set(&request("a"), &asks(state("a"), [state("b")]));
        index.set(&request("b"), &asks(state("b"), [state("c")]));
        let closed = index.set(&request("c"), &asks(state("c"), [state("a")]));
        let all = [request("a"), request("b"), request("c")];
        assert_eq!(sorted(closed.affected), all);
        let broken = index.set(&request("c"), &asks(state("c"), []));
        assert_eq!(sorted(broken.affected), all);
        index.set(&request("c"), &asks(state("c"), [state("a")]));
        assert_eq!(sorted(index.remove(&request("c")).affected), [request("a"), request("b")]);
    }

    #[test]
    fn a_circle_may_go_through_an_export() {
        let mut index = Index::default();
        index.set(&export("e"), &asks(map("app"), [state("a")]));
        let closed = index.set(&request("a"), &asks(state("a"), [map("app")]));
        assert_eq!(sorted(closed.affected), [request("a"), export("e")]);
    }

    #[test]
    fn a_reference_without_a_group_is_woken_by_a_state_of_any_group() {
        let mut index = Index::default();
        index.set(&request("a"), &asks(state("a"), [any("vpc")]));
        for published in [state("vpc"), elsewhere("vpc")] {
            assert_eq!(index.namers(&published), [request("a")]);
            index.publish(&published, true);
        }
        assert_eq!(index.candidates(&any("vpc")), [elsewhere("vpc"), state("vpc")]);
        index.publish(&elsewhere("vpc"), false);
        assert_eq!(index.candidates(&any("vpc")), [state("vpc")]);
        index.publish(&state("vpc"), false);
        assert!(index.published.is_empty());
    }

    #[test]
    fn who_leaves_the_group_open_looks_again_when_a_second_provider_comes() {
        let mut index = Index::default();
        index.set(&request("a"), &asks(state("a"), [any("vpc")]));
        index.publish(&state("vpc"), true);
        let effect = index.set(&request("rival"), &asks(elsewhere("vpc"), [map("cidr")]));
        assert_eq!(effect.affected, [request("a")]);
        assert_eq!(index.remove(&request("rival")).affected, [request("a")]);
    }

    #[test]
    fn a_circle_may_go_through_a_reference_without_a_group() {
        let mut index = Index::default();
        index.set(&request("a"), &asks(state("a"), [any("b")]));
        let closed = index.set(&request("b"), &asks(state("b"), [any("a")]));
        assert_eq!(sorted(closed.affected), [request("a"), request("b")]);
        assert!(index.may_be_cyclic(&request("a")) && index.may_be_cyclic(&request("b")));
    }

    #[test]
    fn ten_thousand_dependents_of_a_long_chain_cost_no_walk() {
        const CHAIN: usize = 5_000;
        let mut index = Index::default();
        let name = |n: usize| format!("c{n}");
        for n in 0..CHAIN {
            let needs = n.checked_sub(1).map_or_else(|| map("cidr"), |before| state(&name(before)));
            index.set(&request(&name(n)), &asks(state(&name(n)), [needs]));
        }
        for n in 0..10_000 {
            let leaf = format!("leaf{n}");
            index.set(&request(&leaf), &asks(state(&leaf), [state(&name(CHAIN - 1))]));
            assert!(!index.may_be_cyclic(&request(&leaf)));
        }
        assert_eq!(index.visits.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_name_is_shown_as_people_say_it() {
        assert_eq!(state("my-web.1").to_string(), "thing my-web.1");
        assert_eq!(any("my-web.1").to_string(), "thing my-web.1");
        assert_eq!(Named::state("ns", "static", "a-b.c").to_string(), "static a-b.c");
        assert_eq!(map("app").to_string(), "ConfigMap app");
    }
}
