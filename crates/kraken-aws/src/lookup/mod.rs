//! Batched reads: combines the requests of many resources into as few calls as AWS allows, and returns to each request
//! its own objects.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::Hash,
};

use kraken_kind::{
    Adopt, Candidate, Failure, Identity, ObserveRequest,
    runtime::hash::{HashMap, HashSet},
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

/// The objects with the cluster's tag, by owner: for [`kraken_kind::Calls::list_owned`].
///
/// # Errors
/// The first failure of a call.
pub async fn list_owned<S: Source>(
    source: &S,
    cluster: &str,
) -> Result<Vec<(Identity, Vec<S::Item>)>, Failure> {
    let found = source.by_tags(vec![(CLUSTER.to_owned(), vec![cluster.to_owned()])]).await?;
    let mut by_uid = BTreeMap::<String, (Identity, Vec<S::Item>)>::new();
    for object in found {
        if let Some(owner) = tags::owner(object.tags()) {
            by_uid.entry(owner.uid.clone()).or_insert_with(|| (owner, vec![])).1.push(object);
        }
    }
    Ok(by_uid.into_values().collect())
}

/// The candidates for adoption: for [`kraken_kind::Calls::find`].
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
        created_by: tags::created_by(object.tags()),
        observed: object,
    };
    Ok(found.into_iter().map(candidate).collect())
}

/// A value as a literal filter.
pub(crate) fn literal(value: &str) -> String {
    value.chars().fold(String::new(), |mut text, c| {
        if matches!(c, '*' | '?' | '\\') {
            text.push('\\');
        }
        text.push(c);
        text
    })
}

/// The objects of each request, in order, for [`kraken_kind::Calls::observe`]: those whose tags carry its identity,
/// without duplicates and sorted by id. These are the objects that it requests by id and, if it searches by tag, all
/// others. An object that is requested by id and has no owner tags is included too: its tags were removed, and no second
/// object must be created because of that.
///
/// # Errors
/// The first failure of a call; a missing id is not a failure.
pub async fn observe<S: Source>(
    source: &S,
    requests: &[ObserveRequest],
) -> Result<Vec<Vec<S::Item>>, Failure> {
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
        if tags::is_untagged(object.tags()) && object.has_own_id() {
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
mod tests;
