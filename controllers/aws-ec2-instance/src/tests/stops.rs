//! Tests of changes that require a stopped instance, step by step.

use super::*;
use crate::{
    api::Change as Step,
    instance::UserData,
    mark::{self, Mark},
    refusal::refusal,
};

fn resize() -> Value {
    json!({"instanceType": {"value": "t2.large"}})
}

fn marked(id: &str, state: &str, instance_type: &str, mark: &Mark) -> Instance {
    let mut instance = in_state(id, state);
    instance.instance_type = Some(instance_type.into());
    instance.tags.extend(mark.value().map(|value| (mark::KEY.to_owned(), value)));
    instance
}

fn stopping() -> Mark {
    Mark { stop: true, refused: None }
}

fn refused(stop: bool) -> Mark {
    Mark { stop, refused: Some("instanceType=t2.large".into()) }
}

/// The first action of the loop if disruption is allowed.
fn first(changes: Value, instances: Vec<Instance>) -> Option<Change> {
    differences(changes, instances).into_iter().find_map(|(_, _, _, remedy)| match remedy {
        Remedy::Change(change) | Remedy::Disruptive(change, _) | Remedy::Resume(change) => Some(change),
        Remedy::Immutable(_) => None,
    })
}

#[allow(clippy::unnecessary_wraps)] // compared with the first change, if there is one
fn mark_of(id: &str, mark: Mark) -> Option<Change> {
    Some(Own(Step::Mark(mark), ids(&[id])))
}

#[test]
fn a_running_instance_is_stopped_only_as_a_disruption() {
    let (path, want, have, remedy) = difference(resize(), vec![instance("i-1")]);
    assert_eq!((path.as_str(), want.as_str(), have.as_str()), ("instanceType", "t2.large", "t2.nano"));
    let Remedy::Disruptive(change, takes) = remedy else { panic!("{remedy:?}") };
    assert_eq!(Some(change), mark_of("i-1", stopping()));
    assert!(takes.contains("stop i-1, and Kraken changes and starts it"), "{takes}");
}

#[test]
fn a_disruption_is_marked_stopped_changed_started_and_cleared() {
    let step = |state: &str, instance_type: &str, mark: &Mark| {
        first(resize(), vec![marked("i-1", state, instance_type, mark)])
    };
    let none = Mark::default();
    let one = || ids(&["i-1"]);
    assert_eq!(step("running", "t2.nano", &none), mark_of("i-1", stopping()));
    assert_eq!(step("running", "t2.nano", &stopping()), Some(Own(Step::Stop, one())));
    assert_eq!(step("stopped", "t2.nano", &stopping()), Some(Own(Step::InstanceType, one())));
    assert_eq!(step("stopped", "t2.large", &stopping()), Some(Own(Step::Start, one())));
    assert_eq!(step("running", "t2.large", &stopping()), mark_of("i-1", none.clone()));
    assert_eq!(step("running", "t2.large", &none), None);
}

#[test]
fn the_steps_after_a_stop_by_kraken_are_resumed_and_not_drift() {
    for (state, instance_type) in [("stopped", "t2.nano"), ("stopped", "t2.large"), ("running", "t2.large")] {
        let found = differences(resize(), vec![marked("i-1", state, instance_type, &stopping())]);
        assert!(matches!(found[0].3, Remedy::Resume(_)), "{state} {instance_type}: {found:?}");
    }
}

#[test]
fn an_instance_is_started_after_a_reverted_edit() {
    let start = Own(Step::Start, ids(&["i-1"]));
    assert_eq!(first(json!({}), vec![marked("i-1", "stopped", "t2.nano", &stopping())]), Some(start));
    let clear = mark_of("i-1", Mark::default());
    assert_eq!(first(json!({}), vec![marked("i-1", "running", "t2.nano", &stopping())]), clear);
}

#[test]
fn a_rejected_change_is_not_retried_and_the_instance_is_started() {
    let start = Own(Step::Start, ids(&["i-1"]));
    assert_eq!(first(resize(), vec![marked("i-1", "stopped", "t2.nano", &refused(true))]), Some(start));
    let running = |mark| vec![marked("i-1", "running", "t2.nano", &mark)];
    assert_eq!(first(resize(), running(refused(true))), mark_of("i-1", refused(false)));
    let (_, _, _, remedy) = difference(resize(), running(refused(false)));
    assert!(why(&remedy).contains("AWS rejected it while i-1 was stopped"), "{remedy:?}");
    let other = json!({"instanceType": {"value": "t2.huge"}});
    assert_eq!(first(other, running(refused(false))), mark_of("i-1", Mark::default()));
}

#[test]
fn one_instance_is_stopped_at_a_time() {
    let spec = json!({"instanceType": {"value": "t2.large"}, "maxCount": {"value": 3}});
    let nano = |id, state: &str, mark| marked(id, state, "t2.nano", &mark);
    let none = Mark::default;
    let all = vec![instance("i-1"), instance("i-2"), instance("i-3")];
    assert_eq!(first(spec.clone(), all), mark_of("i-1", stopping()));
    let second = vec![instance("i-1"), nano("i-2", "running", stopping()), instance("i-3")];
    assert_eq!(first(spec.clone(), second), Some(Own(Step::Stop, ids(&["i-2"]))));
    let done = marked("i-1", "running", "t2.large", &none());
    let under_way = vec![done.clone(), nano("i-2", "stopped", stopping()), instance("i-3")];
    let found = differences(spec.clone(), under_way);
    assert_eq!(found[0].3, Remedy::Resume(Own(Step::InstanceType, ids(&["i-2"]))));
    assert!(comparison(spec.clone(), vec![done, nano("i-2", "stopping", stopping())]).settling.is_some());
}

#[test]
fn an_instance_stopped_out_of_band_is_changed_and_remains_drift() {
    let spec = json!({"instanceType": {"value": "t2.large"}, "maxCount": {"value": 2}});
    let found = differences(spec, vec![in_state("i-1", "stopped"), instance("i-2")]);
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].3, Remedy::Change(Own(Step::InstanceType, ids(&["i-1"]))));
    assert_eq!(found[1], changes("state", "running", "i-1: stopped", Own(Step::Start, ids(&["i-1"]))));
    assert!(matches!(&found[2].3, Remedy::Disruptive(..)));
}

#[test]
fn no_instance_is_stopped_for_a_spec_that_requires_a_replacement() {
    let spec = json!({"instanceType": {"value": "t2.large"}, "imageID": {"value": "ami-2"}});
    let found = differences(spec, vec![instance("i-1")]);
    assert!(found.iter().all(|one| matches!(one.3, Remedy::Immutable(_))), "{found:?}");
}

#[test]
fn an_instance_store_cannot_be_stopped() {
    let there = Instance { root_device_type: Some("instance-store".into()), ..instance("i-1") };
    let (_, _, _, remedy) = difference(resize(), vec![there]);
    assert!(why(&remedy).contains("instance store"), "{remedy:?}");
}

#[test]
fn user_data_is_compared_only_if_read_and_never_shown() {
    let found = |state: Option<&[u8]>| {
        let user_data = state.map(|data| UserData(data.to_vec()));
        let there = Instance { user_data, ..in_state("i-1", "stopped") };
        comparison(json!({"userData": {"value": "new"}}), vec![there]).differences
    };
    assert_eq!(found(None).len(), 1, "only the start");
    let old = found(Some(b"old"));
    assert_eq!(old[0].field, FieldDiff::new("userData", "(not shown)", "(not shown)"));
    assert_eq!(old[0].remedy, Remedy::Change(Own(Step::UserData, ids(&["i-1"]))));
    assert_eq!(found(Some(b"new")).len(), 1);
}

#[test]
fn a_running_instance_is_stopped_for_user_data_only_if_the_spec_asks_for_it() {
    let there =
        |state: &str| Instance { user_data: Some(UserData(b"old".to_vec())), ..in_state("i-1", state) };
    let wanted = |changes: Value| with(json!({"userData": {"value": "new"}}), changes);
    let (_, _, _, remedy) = difference(wanted(json!({})), vec![there("running")]);
    assert!(why(&remedy).contains("set userDataChange to Stop"), "{remedy:?}");
    let stop = wanted(json!({"userDataChange": {"value": "Stop"}}));
    assert_eq!(first(stop, vec![there("running")]), mark_of("i-1", stopping()));
    // An instance that is stopped for another reason gets it too, and another reason for a stop is none for itself.
    assert_eq!(first(wanted(json!({})), vec![there("stopped")]), Some(Own(Step::UserData, ids(&["i-1"]))));
    let both = wanted(resize());
    assert_eq!(first(both, vec![there("running")]), mark_of("i-1", stopping()));
    let marked = Mark { stop: true, refused: None };
    let mut up_again = there("running");
    up_again.tags.insert(mark::KEY.to_owned(), marked.value().unwrap());
    assert_eq!(first(wanted(json!({})), vec![up_again]), mark_of("i-1", Mark::default()));
}

#[test]
fn a_rejected_user_data_blocks_no_other_one() {
    let there = |mark: &Mark| {
        let there = marked("i-1", "running", "t2.nano", mark);
        Instance { user_data: Some(UserData(b"old".to_vec())), ..there }
    };
    let spec = |text: &str| json!({"userData": {"value": text}, "userDataChange": {"value": "Stop"}});
    let refused = refusal("userData", &desired(spec("one")).own);
    let mark = Mark { stop: false, refused };
    assert_eq!(first(spec("one"), vec![there(&mark)]), None);
    assert_eq!(
        first(spec("two"), vec![there(&mark)]),
        mark_of("i-1", Mark::default()),
        "the rejection is obsolete"
    );
}
