//! Batched reads: combines the requests of many resources into as few calls as AWS allows, and returns to each request
//! its own objects.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::Hash,
};

use kraken_spoke::{
    Adopt, Candidate, Failure, Identity, ObserveRequest,
    runtime::{
        hash::{HashMap, HashSet},
        mutants::{self, Mutant},
    },
};

use crate::{
    missing::for_existing,
    tags::{self, CLUSTER, Tags, UID},
};

/// The maximum number of UIDs in one search by tag: AWS allows 200 filter values in a call, and the cluster id is one.
const UIDS_PER_CALL: usize = 199;

/// An object in AWS with an id and tags.
pub trait Tagged: Clone + Send {
    /// The AWS id.
    fn id(&self) -> &str;
    /// All tags.
    fn tags(&self) -> &Tags;
    /// Whether its id is never reused. An object whose id is a user-defined name may belong to another owner if it has
    /// no owner tags.
    fn has_own_id(&self) -> bool {
        true
    }
}

/// How one type of object is read. Both methods read all pages.
pub trait Source: Sync {
    /// The type of the objects.
    type Item: Tagged;

    /// The objects with these ids. Fails, like AWS, if one of them does not exist.
    fn by_ids(&self, ids: Vec<String>) -> impl Future<Output = Result<Vec<Self::Item>, Failure>> + Send;

    /// The objects that have all these tags, each with one of its values.
    fn by_tags(
        &self,
        wanted: Vec<TagFilter>,
    ) -> impl Future<Output = Result<Vec<Self::Item>, Failure>> + Send;
}

/// A tag key and the accepted values, in the syntax of AWS's filters, where `*` and `?` are wildcards.
pub type TagFilter = (String, Vec<String>);

/// The objects with the cluster's tag, by owner: for [`kraken_spoke::External::survey`].
///
/// # Errors
/// The first failure of a call.
pub async fn survey<S: Source>(source: &S, cluster: &str) -> Result<Vec<(Identity, Vec<S::Item>)>, Failure> {
    let found = source.by_tags(vec![(CLUSTER.to_owned(), vec![cluster.to_owned()])]).await?;
    let mut by_uid = BTreeMap::<String, (Identity, Vec<S::Item>)>::new();
    for object in found {
        if let Some(owner) = tags::owner(object.tags()) {
            by_uid.entry(owner.uid.clone()).or_insert_with(|| (owner, vec![])).1.push(object);
        }
    }
    Ok(by_uid.into_values().collect())
}

/// The candidates for adoption: for [`kraken_spoke::External::find`].
///
/// # Errors
/// The first failure of a call; a missing id is not a failure.
pub async fn find<S: Source>(source: &S, wanted: &Adopt) -> Result<Vec<Candidate<S::Item>>, Failure> {
    let found = match wanted {
        Adopt::Id(by) => for_existing(std::slice::from_ref(&by.id), |ids| source.by_ids(ids)).await?.concat(),
        Adopt::Tags(by) => {
            let exactly = |(key, value): (&String, &String)| (key.clone(), vec![literal(value)]);
            source.by_tags(by.tags.iter().map(exactly).collect()).await?
        }
    };
    let candidate = |object: S::Item| Candidate {
        id: object.id().to_owned(),
        owner: tags::owner(object.tags()),
        observed: object,
    };
    Ok(found.into_iter().map(candidate).collect())
}

/// A value as a literal filter.
fn literal(value: &str) -> String {
    value.chars().fold(String::new(), |mut text, c| {
        if matches!(c, '*' | '?' | '\\') {
            text.push('\\');
        }
        text.push(c);
        text
    })
}

/// Returns for every request, in order, the objects whose tags carry its identity, without duplicates and sorted by id:
/// the objects that it requests by id and, if it searches by tag, all others. An object that is requested by id and has
/// no owner tags is included too: its tags were removed, and no second object must be created because of that.
///
/// # Errors
/// The first failure of a call; a missing id is not a failure.
pub async fn find<S: Source>(source: &S, requests: &[ObserveRequest]) -> Result<Vec<Vec<S::Item>>, Failure> {
    let (ids, owners) = queries(requests);
    let mut found = for_existing(&ids, |ids| source.by_ids(ids)).await?.concat();
    for (cluster, uids) in &owners {
        for uids in uids.chunks(UIDS_PER_CALL) {
            let wanted = [(CLUSTER, vec![(*cluster).to_owned()]), (UID, uids.to_vec())];
            found.extend(source.by_tags(wanted.map(|(key, values)| (key.to_owned(), values)).into()).await?);
        }
    }
    Ok(assign(requests, found))
}

/// The ids, and UIDs by cluster, to query, without duplicates.
fn queries(requests: &[ObserveRequest]) -> (Vec<String>, BTreeMap<&str, Vec<String>>) {
    let ids = unique(requests.iter().flat_map(|request| &request.ids)).cloned().collect();
    let mut owners = BTreeMap::<&str, Vec<String>>::new();
    let searching = requests.iter().filter(|request| request.search).map(|request| &request.identity);
    for (cluster, uid) in unique(searching.map(|identity| (&identity.cluster, &identity.uid))) {
        owners.entry(cluster).or_default().push(uid.clone());
    }
    (ids, owners)
}

/// Assigns the objects to the requests. Later results are newer and replace earlier ones.
fn assign<T: Tagged>(requests: &[ObserveRequest], found: Vec<T>) -> Vec<Vec<T>> {
    let mut by_owner = HashMap::<(&str, &str), Vec<usize>>::default();
    for (index, request) in requests.iter().enumerate() {
        by_owner.entry((&request.identity.cluster, &request.identity.uid)).or_default().push(index);
    }
    let named: Vec<BTreeSet<&str>> =
        requests.iter().map(|request| request.ids.iter().map(String::as_str).collect()).collect();
    let by_id: BTreeMap<String, T> =
        found.into_iter().map(|object| (object.id().to_owned(), object)).collect();
    let mut by_named_id = HashMap::<&str, Vec<usize>>::default();
    for (index, ids) in named.iter().enumerate() {
        for id in ids {
            by_named_id.entry(id).or_default().push(index);
        }
    }
    let mut results = vec![vec![]; requests.len()];
    for (id, object) in &by_id {
        if mutants::active(Mutant::DropTagFilter) {
            results.iter_mut().for_each(|result| result.push(object.clone()));
            continue;
        }
        if tags::is_untagged(object.tags()) && object.has_own_id() && !mutants::active(Mutant::UntaggedIsGone)
        {
            for &index in by_named_id.get(id.as_str()).into_iter().flatten() {
                results[index].push(object.clone());
            }
        }
        let tag = |key| object.tags().get(key).map_or("", String::as_str);
        for &index in by_owner.get(&(tag(CLUSTER), tag(UID))).into_iter().flatten() {
            if requests[index].search || named[index].contains(id.as_str()) {
                results[index].push(object.clone());
            }
        }
    }
    results
}

fn unique<T: Copy + Eq + Hash>(items: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    let mut seen = HashSet::default();
    items.filter(move |item| seen.insert(*item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_spoke::{FailureClass, Identity};
    use std::sync::Mutex;

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
            let results = find(self, requests).await.unwrap();
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
        let cloud =
            Cloud::of(vec![RemoteObject("i-1".into(), Tags::new()), RemoteObject("i-2".into(), half)]);
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
}
