use std::sync::Mutex;

use kraken_kind::{FailureClass, Identity};

use super::*;

#[derive(Clone, Debug, PartialEq)]
struct RemoteObject(String, Tags);

impl Tagged for RemoteObject {
    fn id(&self) -> &str {
        &self.0
    }
    fn tags(&self) -> &Tags {
        &self.1
    }
    fn has_own_id(&self) -> bool {
        self.0 != "by-name"
    }
}

fn object(id: &str, uid: &str) -> RemoteObject {
    let tags = Tags::from([(CLUSTER.to_owned(), "c".to_owned()), (UID.to_owned(), uid.to_owned())]);
    RemoteObject(id.to_owned(), tags)
}

fn request(uid: &str, ids: &[&str], search: bool) -> ObserveRequest {
    ObserveRequest {
        identity: Identity { cluster: "c".into(), uid: uid.into(), owner: String::new() },
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        search,
        deep: false,
        launched: 0,
        is_own_record: false,
        wanted: None,
    }
}

/// A fake of the EC2 API; records the number of ids or UIDs of each call.
struct Cloud {
    objects: Vec<RemoteObject>,
    calls: Mutex<Vec<(&'static str, usize)>>,
}

impl Cloud {
    fn of(objects: Vec<RemoteObject>) -> Self {
        Self { objects, calls: Mutex::default() }
    }

    async fn seen(&self, requests: &[ObserveRequest]) -> Vec<Vec<String>> {
        let results = observe(self, requests).await.unwrap();
        results.into_iter().map(|objects| objects.into_iter().map(|object| object.0).collect()).collect()
    }

    fn calls(&self) -> Vec<(&'static str, usize)> {
        self.calls.lock().unwrap().clone()
    }
}

impl Source for Cloud {
    type Item = RemoteObject;

    async fn by_ids(&self, ids: Vec<String>) -> Result<Vec<RemoteObject>, Failure> {
        self.calls.lock().unwrap().push(("ids", ids.len()));
        let missing: Vec<_> = ids.iter().filter(|id| !self.objects.iter().any(|t| t.0 == **id)).collect();
        if !missing.is_empty() {
            return Err(Failure {
                class: FailureClass::NotYet,
                action: String::new(),
                code: "InvalidInstanceID.NotFound".into(),
                message: format!("The instance ID '{}' does not exist", missing[0]),
            });
        }
        Ok(self.objects.iter().filter(|object| ids.contains(&object.0)).cloned().collect())
    }

    async fn by_tags(&self, wanted: Vec<TagFilter>) -> Result<Vec<RemoteObject>, Failure> {
        let [(_, cluster), (_, uids)] = &wanted[..] else { panic!("{wanted:?}") };
        self.calls.lock().unwrap().push(("uids", uids.len()));
        assert_eq!(cluster[..], ["c"]);
        Ok(self
            .objects
            .iter()
            .filter(|object| object.1.get(UID).is_some_and(|uid| uids.contains(uid)))
            .cloned()
            .collect())
    }
}

#[tokio::test]
async fn a_thousand_requests_share_one_call() {
    let cloud = Cloud::of((0..1000).map(|n| object(&format!("i-{n}"), &format!("u-{n}"))).collect());
    let requests: Vec<_> =
        (0..1000).map(|n| request(&format!("u-{n}"), &[&format!("i-{n}")], false)).collect();
    let seen = cloud.seen(&requests).await;
    assert_eq!(cloud.calls(), [("ids", 1000)]);
    assert!((0..1000).all(|n| seen[n] == [format!("i-{n}")]));
}

#[tokio::test]
async fn searches_reserve_one_filter_value_for_the_cluster() {
    let cloud = Cloud::of(vec![object("i-0", "u-0")]);
    let requests: Vec<_> = (0..400).map(|n| request(&format!("u-{n}"), &[], true)).collect();
    let seen = cloud.seen(&requests).await;
    assert_eq!(cloud.calls(), [("uids", 199), ("uids", 199), ("uids", 2)]);
    assert_eq!(seen[0], ["i-0"]);
    assert!(seen[1].is_empty());
}

#[tokio::test]
async fn one_missing_id_does_not_hide_others() {
    let cloud = Cloud::of(vec![object("i-1", "a"), object("i-3", "b")]);
    let seen = cloud.seen(&[request("a", &["i-1", "i-2"], false), request("b", &["i-3"], false)]).await;
    assert_eq!(seen, [vec!["i-1"], vec!["i-3"]]);
}

#[tokio::test]
async fn an_object_tagged_for_another_owner_is_not_returned() {
    let cloud = Cloud::of(vec![object("i-1", "b")]);
    assert_eq!(cloud.seen(&[request("a", &["i-1"], true)]).await, [Vec::<String>::new()]);
}

#[tokio::test]
async fn a_recorded_object_without_owner_tags_is_returned() {
    let half = Tags::from([(UID.to_owned(), "a".to_owned())]);
    let cloud = Cloud::of(vec![RemoteObject("i-1".into(), Tags::new()), RemoteObject("i-2".into(), half)]);
    let requests = [request("a", &["i-1", "i-2"], false), request("b", &["i-3"], true)];
    assert_eq!(cloud.seen(&requests).await, [vec!["i-1", "i-2"], vec![]]);
}

#[tokio::test]
async fn an_object_identified_by_name_without_owner_tags_is_not_returned() {
    let cloud = Cloud::of(vec![RemoteObject("by-name".into(), Tags::new())]);
    assert_eq!(cloud.seen(&[request("a", &["by-name"], true)]).await, [Vec::<String>::new()]);
}

#[tokio::test]
async fn a_search_finds_unknown_objects_without_duplicates() {
    let cloud = Cloud::of(vec![object("i-2", "a"), object("i-1", "a")]);
    assert_eq!(cloud.seen(&[request("a", &["i-2"], true)]).await, [["i-1", "i-2"]]);
    assert_eq!(cloud.seen(&[request("a", &["i-2"], false)]).await, [["i-2"]]);
}

#[tokio::test]
async fn two_requests_of_one_resource_both_return_its_objects() {
    let cloud = Cloud::of(vec![object("i-1", "a")]);
    let requests = [request("a", &["i-1"], false), request("a", &[], true), request("a", &[], false)];
    assert_eq!(cloud.seen(&requests).await, [vec!["i-1"], vec!["i-1"], vec![]]);
    assert_eq!(cloud.calls(), [("ids", 1), ("uids", 1)]);
}

#[test]
fn a_value_with_wildcards_matches_only_itself() {
    assert_eq!(literal("a*b?c\\d"), "a\\*b\\?c\\\\d");
}

#[tokio::test]
async fn no_requests_cause_no_call() {
    let cloud = Cloud::of(vec![]);
    assert_eq!(cloud.seen(&[request("a", &[], false)]).await, [Vec::<String>::new()]);
    assert!(cloud.calls().is_empty());
}
