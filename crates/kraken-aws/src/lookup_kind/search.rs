//! Batched searches: combines those of many look-ups into as few calls as AWS allows, and returns to each look-up what it searches
//! for.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, stream};
use kraken_kind::Failure;

use super::{AwsLookup, ObservedOf, pattern::matches};
use crate::{
    Aws, Tags,
    lookup::{Tagged, literal},
    release,
    resource::DescribeQuery,
};

/// The maximum number of filter values in a call.
const VALUES_PER_CALL: usize = 200;
/// The number of concurrent calls.
const AT_ONCE: usize = 8;
/// The prefix of the filter of a tag.
pub const TAG: &str = "tag:";

/// What one look-up searches for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The owners of the objects; empty for objects of the account.
    owners: Vec<String>,
    /// The filters of AWS, each with a value in its syntax.
    filters: Vec<(String, String)>,
}

impl Search {
    /// Objects of this owner, by its account, or `self`, or an alias of AWS such as `amazon`.
    pub fn of_owner(owner: &str) -> Self {
        Self { owners: vec![owner.to_owned()], filters: vec![] }
    }

    /// Also with this value, in which `*` and `?` are wildcards.
    #[must_use]
    pub fn like(mut self, filter: &str, pattern: Option<&str>) -> Self {
        self.filters.extend(pattern.map(|pattern| (filter.to_owned(), pattern.to_owned())));
        self
    }

    /// Also with exactly this value.
    #[must_use]
    pub fn with(self, filter: &str, value: Option<&str>) -> Self {
        self.like(filter, value.map(literal).as_deref())
    }

    /// Also with these tags.
    pub(super) fn tagged(self, tags: &Tags) -> Self {
        tags.iter().fold(self, |search, (key, value)| search.with(&format!("{TAG}{key}"), Some(value)))
    }

    /// What it has in common with others that share its calls, and its own value of the filter in which they differ.
    fn divided(&self, shared: &[&str]) -> (Common, String) {
        let is_shared =
            |(filter, _): &(String, String)| filter.starts_with(TAG) || shared.contains(&filter.as_str());
        let mut filters = self.filters.clone();
        let own = filters.iter().position(is_shared).map(|at| filters.remove(at));
        let (filter, value) = own.map_or((None, String::new()), |(filter, value)| (Some(filter), value));
        (Common { owners: self.owners.clone(), filters, filter }, value)
    }
}

/// What searches that share calls have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Common {
    owners: Vec<String>,
    filters: Vec<(String, String)>,
    /// The filter in whose value they differ.
    filter: Option<String>,
}

impl Common {
    /// The filters of each call for these values.
    fn calls(&self, values: &BTreeSet<&str>) -> Vec<Vec<(String, Vec<String>)>> {
        let fixed = || self.filters.iter().map(|(filter, value)| (filter.clone(), vec![value.clone()]));
        let Some(filter) = &self.filter else { return vec![fixed().collect()] };
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        let per_call = VALUES_PER_CALL.saturating_sub(self.filters.len()).max(1);
        let each = values.chunks(per_call);
        each.map(|values| fixed().chain([(filter.clone(), values.to_vec())]).collect()).collect()
    }

    /// Whether an object of a response is what a search with this value is for.
    fn is_for<S: AwsLookup>(&self, value: &str, object: &ObservedOf<S>) -> bool {
        let Some(filter) = &self.filter else { return true };
        let found = match filter.strip_prefix(TAG) {
            Some(key) => object.tags().get(key).map(String::as_str),
            None => S::value(object, filter),
        };
        found.is_some_and(|found| matches(value, found))
    }
}

/// The objects of each search, in order.
///
/// # Errors
/// The first failure of a call.
pub(super) async fn search<S: AwsLookup>(
    aws: &Aws,
    searches: &[Option<Search>],
) -> Result<Vec<Vec<ObservedOf<S>>>, Failure> {
    let mut groups = BTreeMap::<Common, Vec<(usize, String)>>::new();
    for (index, search) in searches.iter().enumerate() {
        if let Some(search) = search {
            let (common, value) = search.divided(S::SHARED);
            groups.entry(common).or_default().push((index, value));
        }
    }
    let mut results: Vec<Vec<ObservedOf<S>>> = vec![vec![]; searches.len()];
    let calls = groups.iter().flat_map(|(common, members)| {
        let values = members.iter().map(|(_, value)| value.as_str()).collect();
        common.calls(&values).into_iter().map(move |filters| (common, members, filters))
    });
    let calls = calls.map(|(common, members, filters)| async move {
        let filters = filters.into_iter().map(|(filter, values)| release::filter(&filter, values)).collect();
        let query = DescribeQuery { ids: None, filters: Some(filters) };
        S::read(aws, common.owners.clone(), query).await.map(|found| (common, members, found))
    });
    let calls: Vec<_> = calls.collect();
    let mut found = stream::iter(calls).buffered(AT_ONCE);
    while let Some((common, members, objects)) = found.try_next().await? {
        for (index, value) in members {
            let own = objects.iter().filter(|object| common.is_for::<S>(value, object)).cloned();
            let result = &mut results[*index];
            // Several calls with patterns can return the same object.
            let new: Vec<_> =
                own.filter(|object| !result.iter().any(|known| known.id() == object.id())).collect();
            result.extend(new);
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(name: &str, owner: &str) -> (Common, String) {
        let search = Search::of_owner(owner).like("name", Some(name)).with("state", Some("available"));
        search.tagged(&Tags::from([("Env".to_owned(), "a*b".to_owned())])).divided(&["name"])
    }

    #[test]
    fn searches_that_differ_in_one_filter_share_a_call() {
        let ((one, first), (other, second)) = (divided("ubuntu-*", "self"), divided("debian-*", "self"));
        assert_eq!(one, other);
        assert_ne!(
            one,
            divided("ubuntu-*", "amazon").0,
            "the images of all owners would be read for each name"
        );
        let calls = one.calls(&[first.as_str(), second.as_str()].into());
        let expected = [
            ("state".to_owned(), vec!["available".to_owned()]),
            ("tag:Env".to_owned(), vec![r"a\*b".to_owned()]),
            ("name".to_owned(), vec!["debian-*".to_owned(), "ubuntu-*".to_owned()]),
        ];
        assert_eq!(calls, [expected]);
    }

    #[test]
    fn a_call_has_no_more_values_than_aws_allows() {
        let common = divided("", "self").0;
        let names: Vec<String> = (0..500).map(|n| n.to_string()).collect();
        let calls = common.calls(&names.iter().map(String::as_str).collect());
        let sizes: Vec<usize> =
            calls.iter().map(|filters| filters.iter().map(|(_, values)| values.len()).sum()).collect();
        assert_eq!(sizes, [200, 200, 106]);
    }

    #[test]
    fn searches_without_such_a_filter_share_a_call_if_they_are_equal() {
        let search = Search::default().with("is-default", Some("true"));
        let (common, value) = search.divided(&["cidr"]);
        assert_eq!((common.filter.as_ref(), value.as_str()), (None, ""));
        assert_eq!(common.calls(&[""].into()), [[("is-default".to_owned(), vec!["true".to_owned()])]]);
    }
}
