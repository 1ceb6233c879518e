use super::*;

fn request(name: &str) -> Dependent {
    Dependent::Request(ObjectKey::new("ns", &format!("widget-{name}")))
}

fn export(name: &str) -> Dependent {
    Dependent::Export(ObjectKey::new("ns", name))
}

fn state(name: &str) -> ObjectRef {
    ObjectRef::state("ns", "widget.testing", name)
}

fn any(name: &str) -> ObjectRef {
    ObjectRef::state("ns", "Widget", name)
}

fn elsewhere(name: &str) -> ObjectRef {
    ObjectRef::state("ns", "widget.acme", name)
}

fn map(name: &str) -> ObjectRef {
    ObjectRef::new(Class::ConfigMap, "ns", name)
}

fn edges(provides: ObjectRef, needs: impl IntoIterator<Item = ObjectRef>) -> Edges {
    Edges { needs: needs.into_iter().collect(), provides: Some(provides), ..Edges::default() }
}

fn sorted(mut dependents: Vec<Dependent>) -> Vec<Dependent> {
    dependents.sort();
    dependents
}

#[test]
fn an_object_triggers_exactly_its_dependents() {
    let mut index = Index::default();
    index.set(&request("a"), &edges(state("a"), [map("sizes")]));
    index.set(&request("b"), &edges(state("b"), [map("sizes"), state("a")]));
    assert_eq!(sorted(index.dependents(&map("sizes"))), [request("a"), request("b")]);
    assert_eq!(index.dependents(&state("a")), [request("b")]);
    assert!(index.dependents(&map("other")).is_empty());
    assert!(index.dependents(&ObjectRef::new(Class::ConfigMap, "other", "sizes")).is_empty());
    let secret = ObjectRef::new(Class::Secret, "ns", "sizes");
    assert!(index.dependents(&secret).is_empty());
}

#[test]
fn an_edit_replaces_the_edges() {
    let mut index = Index::default();
    index.set(&request("a"), &edges(state("a"), [map("old"), map("kept")]));
    let effect = index.set(&request("a"), &edges(state("a"), [map("new"), map("kept")]));
    assert!(effect.forgotten.contains(&map("old")) && !effect.forgotten.contains(&map("kept")));
    assert!(index.dependents(&map("old")).is_empty());
    assert_eq!(index.dependents(&map("new")), [request("a")]);
    assert!(index.is_named(&map("kept")));
}

#[test]
fn removing_the_last_dependent_releases_the_object() {
    let mut index = Index::default();
    index.set(&request("a"), &edges(state("a"), [map("sizes")]));
    index.set(&request("b"), &edges(state("b"), [map("sizes")]));
    assert!(!index.remove(&request("a")).forgotten.contains(&map("sizes")));
    assert!(index.remove(&request("b")).forgotten.contains(&map("sizes")));
    assert_eq!(index.remove(&request("b")), Effect::default());
    assert!(index.dependents.is_empty() && index.providers.is_empty() && index.edges.is_empty());
}

#[test]
fn an_export_is_triggered_by_its_target() {
    let mut index = Index::default();
    index.set(&export("e"), &edges(map("app"), [state("a")]));
    assert_eq!(index.dependents(&map("app")), [export("e")]);
    assert_eq!(index.sources(&map("app"), |_| true), [state("a")]);
    assert!(index.sources(&map("app"), |_| false).is_empty());
}

#[test]
fn without_a_cycle_no_other_dependent_is_triggered() {
    let mut index = Index::default();
    index.set(&request("vpc"), &edges(state("vpc"), [map("cidr")]));
    let effect = index.set(&request("a"), &edges(state("a"), [state("vpc")]));
    assert_eq!(effect, Effect::default());
}

#[test]
fn closing_and_breaking_a_cycle_triggers_all_its_members() {
    let mut index = Index::default();
    index.set(&request("a"), &edges(state("a"), [state("b")]));
    index.set(&request("b"), &edges(state("b"), [state("c")]));
    let closed = index.set(&request("c"), &edges(state("c"), [state("a")]));
    let all = [request("a"), request("b"), request("c")];
    assert_eq!(sorted(closed.affected), all);
    let broken = index.set(&request("c"), &edges(state("c"), []));
    assert_eq!(sorted(broken.affected), all);
    index.set(&request("c"), &edges(state("c"), [state("a")]));
    assert_eq!(sorted(index.remove(&request("c")).affected), [request("a"), request("b")]);
}

#[test]
fn a_cycle_can_contain_an_export() {
    let mut index = Index::default();
    index.set(&export("e"), &edges(map("app"), [state("a")]));
    let closed = index.set(&request("a"), &edges(state("a"), [map("app")]));
    assert_eq!(sorted(closed.affected), [request("a"), export("e")]);
}

#[test]
fn a_reference_without_a_group_is_triggered_by_states_of_every_group() {
    let mut index = Index::default();
    index.set(&request("a"), &edges(state("a"), [any("vpc")]));
    for published in [state("vpc"), elsewhere("vpc")] {
        assert_eq!(index.dependents(&published), [request("a")]);
        index.publish(&published, true);
    }
    assert_eq!(index.candidates(&any("vpc")), [elsewhere("vpc"), state("vpc")]);
    index.publish(&elsewhere("vpc"), false);
    assert_eq!(index.candidates(&any("vpc")), [state("vpc")]);
    index.publish(&state("vpc"), false);
    assert!(index.published.is_empty());
}

#[test]
fn a_reference_without_a_group_is_triggered_by_a_second_match() {
    let mut index = Index::default();
    index.set(&request("a"), &edges(state("a"), [any("vpc")]));
    index.publish(&state("vpc"), true);
    let effect = index.set(&request("rival"), &edges(elsewhere("vpc"), [map("cidr")]));
    assert_eq!(effect.affected, [request("a")]);
    assert_eq!(index.remove(&request("rival")).affected, [request("a")]);
}

#[test]
fn a_cycle_can_contain_a_reference_without_a_group() {
    let mut index = Index::default();
    index.set(&request("a"), &edges(state("a"), [any("b")]));
    let closed = index.set(&request("b"), &edges(state("b"), [any("a")]));
    assert_eq!(sorted(closed.affected), [request("a"), request("b")]);
    assert!(index.may_be_cyclic(&request("a")) && index.may_be_cyclic(&request("b")));
}

#[test]
fn ten_thousand_dependents_of_a_long_chain_need_no_search() {
    const CHAIN: usize = 5_000;
    let mut index = Index::default();
    let name = |n: usize| format!("c{n}");
    for n in 0..CHAIN {
        let needs = n.checked_sub(1).map_or_else(|| map("cidr"), |before| state(&name(before)));
        index.set(&request(&name(n)), &edges(state(&name(n)), [needs]));
    }
    for n in 0..10_000 {
        let leaf = format!("leaf{n}");
        index.set(&request(&leaf), &edges(state(&leaf), [state(&name(CHAIN - 1))]));
        assert!(!index.may_be_cyclic(&request(&leaf)));
    }
    assert_eq!(index.visits.load(Ordering::Relaxed), 0);
}

#[test]
fn a_reference_is_displayed_as_kind_and_name() {
    assert_eq!(state("my-web.1").to_string(), "widget my-web.1");
    assert_eq!(any("my-web.1").to_string(), "widget my-web.1");
    assert_eq!(ObjectRef::state("ns", "static", "a-b.c").to_string(), "static a-b.c");
    assert_eq!(map("app").to_string(), "ConfigMap app");
}
