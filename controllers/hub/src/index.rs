//! Who asks for what: a reverse index from each ConfigMap, Secret and state to those who name it. Pure.
//!
//! It is what makes an event on one object cost only its askers, and it is the graph in which reference cycles show.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt,
};

use kraken_api::names::owned_name;
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Named {
    /// What it is.
    pub class: Class,
    /// Where it is.
    pub key: ObjectKey,
}

impl Named {
    /// The object of this class, namespace and name.
    pub fn new(class: Class, namespace: &str, name: &str) -> Self {
        Self { class, key: ObjectKey::new(namespace, name) }
    }

    /// The state of a resource, whose kind is spelled as `kind_key` does.
    pub fn state(namespace: &str, kind_key: &str, name: &str) -> Self {
        Self::new(Class::State, namespace, &owned_name(kind_key, name))
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            Class::ConfigMap => write!(f, "ConfigMap {}", self.key.name),
            Class::Secret => write!(f, "Secret {}", self.key.name),
            // `<kind>-<name>`, and a kind has no hyphen.
            Class::State => match self.key.name.split_once('-') {
                Some((kind, name)) => write!(f, "{kind} {name}"),
                None => f.write_str(&self.key.name),
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

/// What a change of an asker means to others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// What nobody names any more.
    pub forgotten: Vec<Named>,
    /// Who was or is in a circle of references with the asker, and has to look again.
    pub cyclic: Vec<Asker>,
}

/// The index.
#[derive(Debug, Default)]
pub struct Index {
    asks: HashMap<Asker, Asks>,
    namers: HashMap<Named, HashSet<Asker>>,
    providers: HashMap<Named, HashSet<Asker>>,
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
        if let Some(provided) = &asks.provides {
            self.providers.entry(provided.clone()).or_default().insert(asker.clone());
        }
        self.asks.insert(asker.clone(), asks.clone());
        self.effect(&before, asks)
    }

    /// Forgets an asker that is gone.
    pub fn remove(&mut self, asker: &Asker) -> Effect {
        let Some(before) = self.asks.remove(asker) else { return Effect::default() };
        self.unlink(asker, &before);
        self.effect(&before, &Asks::default())
    }

    /// Who names this object.
    pub fn namers(&self, named: &Named) -> Vec<Asker> {
        self.namers.get(named).into_iter().flatten().cloned().collect()
    }

    /// Whether anybody names this object.
    pub fn is_named(&self, named: &Named) -> bool {
        self.namers.contains_key(named)
    }

    /// What this object is made from, by the askers that `counts` accepts.
    pub fn made_from(&self, named: &Named, counts: impl Fn(&Asker) -> bool) -> Vec<Named> {
        let providers = self.providers.get(named).into_iter().flatten().filter(|asker| counts(asker));
        providers.filter_map(|asker| self.asks.get(asker)).flat_map(|asks| &asks.needs).cloned().collect()
    }

    fn unlink(&mut self, asker: &Asker, before: &Asks) {
        for named in woken_by(asker, before) {
            remove_from(&mut self.namers, named, asker);
        }
        if let Some(provided) = &before.provides {
            remove_from(&mut self.providers, provided, asker);
        }
    }

    fn effect(&self, before: &Asks, after: &Asks) -> Effect {
        let names = before.needs.iter().chain(&before.provides);
        let forgotten = names.filter(|named| !self.is_named(named)).cloned().collect();
        let needs = || before.needs.union(&after.needs).cloned();
        let reached = cycle::reach(needs(), |named| self.made_from(named, |_| true));
        let closes = |asks: &Asks| asks.provides.as_ref().is_some_and(|provided| reached.contains(provided));
        let cyclic = if closes(before) || closes(after) {
            reached.iter().filter_map(|named| self.providers.get(named)).flatten().cloned().collect()
        } else {
            Vec::new()
        };
        Effect { forgotten, cyclic }
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
        Named::state("ns", "thing", name)
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
        let elsewhere = Named::new(Class::ConfigMap, "other", "sizes");
        assert!(index.namers(&elsewhere).is_empty());
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
        assert_eq!(sorted(closed.cyclic), all);
        let broken = index.set(&request("c"), &asks(state("c"), []));
        assert_eq!(sorted(broken.cyclic), all);
        index.set(&request("c"), &asks(state("c"), [state("a")]));
        assert_eq!(sorted(index.remove(&request("c")).cyclic), [request("a"), request("b")]);
    }

    #[test]
    fn a_circle_may_go_through_an_export() {
        let mut index = Index::default();
        index.set(&export("e"), &asks(map("app"), [state("a")]));
        let closed = index.set(&request("a"), &asks(state("a"), [map("app")]));
        assert_eq!(sorted(closed.cyclic), [request("a"), export("e")]);
    }

    #[test]
    fn a_name_is_shown_as_people_say_it() {
        assert_eq!(state("my-web.1").to_string(), "thing my-web.1");
        assert_eq!(map("app").to_string(), "ConfigMap app");
    }
}
