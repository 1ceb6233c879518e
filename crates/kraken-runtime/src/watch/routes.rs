//! Divides the objects of one watch among several stores, by the value of a label or a part of the name: as if each store had a watch of
//! its own, which selects its value.

use std::{fmt, sync::Arc};

use kube::{
    Resource,
    api::ObjectMeta,
    runtime::watcher::{Config, Event},
};

use super::{
    follower::{Follower, Opened},
    key::ObjectKey,
    store::{Change, Store},
};

/// Why a store loses an object that it has never decoded.
const RELABELED: &str = "the label has another value now";

/// The stores that one watch fills. An object is in the store of its value, and in no other one.
pub struct Routes<K> {
    by: By,
    routes: Vec<Arc<Route<K>>>,
}

/// What determines the store of an object, and how the watch selects those of all stores.
#[derive(Clone, Debug)]
enum By {
    /// The value of this label, which is also selected by.
    Label(&'static str),
    /// A part of the name. Selected by fields, which select more than the objects of these stores.
    Name(String, fn(&str) -> Option<&str>),
}

impl By {
    fn value<'m>(&self, meta: &'m ObjectMeta) -> Option<&'m str> {
        match self {
            Self::Label(label) => meta.labels.as_ref()?.get(*label).map(String::as_str),
            Self::Name(_, part) => part(meta.name.as_deref()?),
        }
    }
}

/// One of the stores, and the receiver of its changes.
struct Route<K> {
    value: String,
    store: Store<K>,
    seen: Box<dyn Fn(Change<K>) + Send + Sync>,
}

impl<K> Routes<K> {
    /// No stores yet. The value of this label determines the store of an object, and is selected by.
    pub fn by_label(label: &'static str) -> Self {
        Self { by: By::Label(label), routes: Vec::new() }
    }

    /// The same by a part of the name. The watch has this field selector, and ignores objects of no store.
    pub fn by_name(fields: String, part: fn(&str) -> Option<&str>) -> Self {
        Self { by: By::Name(fields, part), routes: Vec::new() }
    }

    /// Adds the store of the objects with this value; each value is added once. `seen` is called for every change of these objects, in
    /// order, and must not block. An object is deleted from a store when its label gets another value.
    pub fn add(&mut self, value: &str, seen: impl Fn(Change<K>) + Send + Sync + 'static) -> Store<K> {
        let store = Store::default();
        let route = Route { value: value.to_owned(), store: store.clone(), seen: Box::new(seen) };
        self.routes.push(Arc::new(route));
        store
    }

    /// What selects the objects of all stores.
    pub(super) fn config(&self) -> Config {
        let label = match &self.by {
            By::Label(label) => label,
            By::Name(fields, _) => return Config::default().fields(fields),
        };
        let mut values: Vec<_> = self.routes.iter().map(|route| route.value.as_str()).collect();
        values.sort_unstable();
        Config::default().labels(&match values.as_slice() {
            [value] => format!("{label}={value}"),
            values => format!("{label} in ({})", values.join(",")),
        })
    }
}

impl<K> fmt::Debug for Routes<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Routes").field(&self.config()).finish()
    }
}

/// Applies the events of one watch to the stores of its routes.
pub(super) struct Router<K> {
    by: By,
    branches: Vec<(Arc<Route<K>>, Follower<K>)>,
}

impl<K> Router<K> {
    pub(super) fn of(routes: &Routes<K>) -> Self {
        let branch = |route: &Arc<Route<K>>| (route.clone(), Follower::of(&route.store));
        Self { by: routes.by.clone(), branches: routes.routes.iter().map(branch).collect() }
    }
}

impl<K: Resource> Router<K> {
    pub(super) fn follow<W: Resource>(&mut self, event: Event<W>, open: &impl Fn(W) -> Opened<K>) {
        match &event {
            Event::Init => self.follow_all(|| Event::Init, open),
            Event::InitApply(object) | Event::Apply(object) => {
                let selected = self.selected(object.meta());
                self.leave(object.meta(), selected);
                self.follow_one(selected, event, open);
            }
            Event::Delete(object) => {
                // The object may contain another value than when it was last applied.
                let known = self.known(&ObjectKey::of(object.meta()));
                let branch = known.or_else(|| self.selected(object.meta()));
                self.follow_one(branch, event, open);
            }
            Event::InitDone => self.follow_all(|| Event::InitDone, open),
        }
    }

    fn follow_all<W>(&mut self, event: fn() -> Event<W>, open: &impl Fn(W) -> Opened<K>) {
        for (route, follower) in &mut self.branches {
            follower.follow(event(), open, &route.seen);
        }
    }

    fn follow_one<W>(&mut self, branch: Option<usize>, event: Event<W>, open: &impl Fn(W) -> Opened<K>) {
        if let Some((route, follower)) = branch.and_then(|branch| self.branches.get_mut(branch)) {
            follower.follow(event, open, &route.seen);
        }
    }

    /// The branch of the object's value.
    fn selected(&self, meta: &ObjectMeta) -> Option<usize> {
        let value = self.by.value(meta)?;
        self.branches.iter().position(|(route, _)| route.value == value)
    }

    /// The branch to which the object belongs according to the events so far.
    fn known(&self, key: &ObjectKey) -> Option<usize> {
        self.branches.iter().position(|(_, follower)| follower.knows(key))
    }

    /// Deletes an object from the store to which it belongs, unless it is the selected one.
    fn leave(&mut self, meta: &ObjectMeta, selected: Option<usize>) {
        let key = ObjectKey::of(meta);
        let former = self.known(&key).filter(|branch| Some(*branch) != selected);
        let Some((route, follower)) = former.and_then(|branch| self.branches.get_mut(branch)) else { return };
        if !follower.gone(&key, &route.seen) {
            // It was never decoded, so there is no stored form.
            (route.seen)(Change::Invalid(Box::new(meta.clone()), RELABELED.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use Event::{Apply, Delete, Init, InitApply, InitDone};
    use k8s_openapi::api::core::v1::ConfigMap;
    use parking_lot::Mutex;

    use super::{super::stored::Stored, *};

    /// The ConfigMap `x` in this version, with this value of the label; an empty value means no label.
    fn map(value: &str, version: &str) -> ConfigMap {
        let labels = [("of".to_owned(), value.to_owned())];
        ConfigMap {
            metadata: ObjectMeta {
                namespace: Some("ns".into()),
                name: Some("x".into()),
                resource_version: Some(version.into()),
                labels: (!value.is_empty()).then(|| labels.into()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        }
    }

    /// The changes that the routes `a` and `b` receive, and whether their stores have the object in the end.
    fn followed(events: Vec<Event<ConfigMap>>) -> (Vec<String>, [bool; 2]) {
        let log = Arc::<Mutex<Vec<String>>>::default();
        let mut routes = Routes::by_label("of");
        let stores = ["a", "b"].map(|value| {
            let log = log.clone();
            routes.add(value, move |change: Change<ConfigMap>| {
                let version = |meta: &ObjectMeta| meta.resource_version.clone().unwrap_or_default();
                let what = match &change {
                    Change::Applied(_, Some(before)) => format!("applied after {}", version(before.meta())),
                    Change::Applied(_, None) => "applied".to_owned(),
                    Change::Listed(_) => "listed".to_owned(),
                    Change::Deleted(_) => "deleted".to_owned(),
                    Change::Invalid(..) => "invalid".to_owned(),
                };
                log.lock().push(format!("{value}: {} {what}", version(change.meta())));
            })
        });
        let mut router = Router::of(&routes);
        let open = |object: ConfigMap| {
            if object.metadata.resource_version.as_deref() == Some("bad") {
                return Err((Box::new(object.metadata), "bad".to_owned()));
            }
            let object = Arc::new(object);
            Ok((object.clone(), Stored::Whole(object)))
        };
        for event in events {
            router.follow(event, &open);
        }
        let log = log.lock().clone();
        (log, stores.map(|store| store.get(&ObjectKey::new("ns", "x")).is_some()))
    }

    #[test]
    fn selector_names_all_values_in_order() {
        let mut routes = Routes::<ConfigMap>::by_label("of");
        let _b = routes.add("b", drop);
        assert_eq!(routes.config().label_selector.as_deref(), Some("of=b"));
        let _a = routes.add("a", drop);
        assert_eq!(routes.config().label_selector.as_deref(), Some("of in (a,b)"));
    }

    #[test]
    fn part_of_the_name_is_not_selected_by() {
        let mut routes =
            Routes::<ConfigMap>::by_name("spec.of=me".to_owned(), |name| Some(name.split_once('.')?.0));
        let stores = ["a", "b"].map(|value| routes.add(value, drop));
        assert_eq!(routes.config().field_selector.as_deref(), Some("spec.of=me"));
        assert_eq!(routes.config().label_selector, None);
        let mut router = Router::of(&routes);
        for name in ["b.x", "c.x", "b"] {
            let metadata = ObjectMeta { name: Some(name.to_owned()), ..map("a", "1").metadata };
            router.follow(Apply(ConfigMap { metadata, ..ConfigMap::default() }), &|object: ConfigMap| {
                let object = Arc::new(object);
                Ok((object.clone(), Stored::Whole(object)))
            });
        }
        let names = stores.map(|store| {
            let names = store.all().into_iter().filter_map(|map| map.metadata.name.clone());
            names.collect::<Vec<String>>()
        });
        assert_eq!(names, [vec![], vec!["b.x".to_owned()]]);
    }

    #[test]
    fn changes_are_received_by_the_route_of_the_label() {
        let (log, has) = followed(vec![Apply(map("b", "1")), Apply(map("b", "2"))]);
        assert_eq!(log, ["b: 1 applied", "b: 2 applied after 1"]);
        assert_eq!(has, [false, true]);
        let (log, has) = followed(vec![Apply(map("b", "1")), Delete(map("b", "2"))]);
        assert_eq!(log, ["b: 1 applied", "b: 1 deleted"]);
        assert_eq!(has, [false, false]);
    }

    #[test]
    fn object_with_another_value_is_deleted_from_one_store_and_new_in_the_other() {
        let moved = ["a: 1 applied", "a: 1 deleted", "b: 2 applied"];
        let (log, has) = followed(vec![Apply(map("a", "1")), Apply(map("b", "2"))]);
        assert_eq!((log, has), (moved.map(str::to_owned).to_vec(), [false, true]));
        // During an outage of the watch.
        let lists = [map("a", "1"), map("b", "2")].map(|object| [Init, InitApply(object), InitDone]);
        let (log, has) = followed(lists.into_iter().flatten().collect());
        assert_eq!((log, has), (moved.map(str::to_owned).to_vec(), [false, true]));
    }

    #[test]
    fn object_that_the_selector_does_not_match_any_more_is_deleted_from_its_store() {
        for last in ["a", "b", ""] {
            let (log, has) = followed(vec![Apply(map("a", "1")), Delete(map(last, "2"))]);
            assert_eq!(log, ["a: 1 applied", "a: 1 deleted"], "{last}");
            assert_eq!(has, [false, false]);
        }
        let (log, _) = followed(vec![Init, InitApply(map("a", "1")), InitDone, Init, InitDone]);
        assert_eq!(log, ["a: 1 applied", "a: 1 deleted"]);
    }

    #[test]
    fn object_of_an_unknown_value_is_ignored_and_leaves_its_store() {
        for value in ["c", ""] {
            let (log, has) = followed(vec![Apply(map(value, "1")), Delete(map(value, "2"))]);
            assert_eq!((log.len(), has), (0, [false, false]), "{log:?}");
            let (log, has) = followed(vec![Apply(map("a", "1")), Apply(map(value, "2"))]);
            assert_eq!(log, ["a: 1 applied", "a: 1 deleted"]);
            assert_eq!(has, [false, false]);
        }
    }

    #[test]
    fn object_that_was_never_decoded_is_reported_to_both_routes() {
        let (log, has) =
            followed(vec![Apply(map("a", "bad")), Apply(map("b", "2")), Delete(map("b", "bad"))]);
        assert_eq!(log, ["a: bad invalid", "a: 2 invalid", "b: 2 applied", "b: 2 deleted"]);
        assert_eq!(has, [false, false]);
    }
}
