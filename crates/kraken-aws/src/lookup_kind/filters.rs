//! EC2's filters for APIs without filters: what was read is filtered here. Pure.

use aws_sdk_ec2::types::Filter;

use super::{pattern::matches, search::TAG};
use crate::{Tags, lookup::Tagged};

/// The value that the filter of a tag compares.
pub fn tag<'t>(tags: &'t Tags, filter: &str) -> Option<&'t str> {
    tags.get(filter.strip_prefix(TAG)?).map(String::as_str)
}

/// Whether an object passes every filter, as in EC2; `value`: its value for the filter with this name.
pub fn passes<'o>(filters: &[Filter], value: impl Fn(&str) -> Option<&'o str>) -> bool {
    filters.iter().all(|filter| {
        let value = filter.name().and_then(&value);
        value.is_some_and(|value| filter.values().iter().any(|wanted| matches(wanted, value)))
    })
}

/// The objects whose tags pass every filter; without filters, all.
pub fn passing<T: Tagged>(filters: Option<&[Filter]>, mut objects: Vec<T>) -> Vec<T> {
    if let Some(filters) = filters {
        objects.retain(|object| passes(filters, |name| tag(object.tags(), name)));
    }
    objects
}

/// The filters of tags, and the others: where tags are read by calls of their own, the others are applied first.
pub fn tags_apart(filters: Vec<Filter>) -> (Vec<Filter>, Vec<Filter>) {
    filters.into_iter().partition(|filter| filter.name().is_some_and(|name| name.starts_with(TAG)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(key: &str, values: &[&str]) -> Filter {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Filter::builder().name(format!("tag:{key}")).set_values(Some(values)).build()
    }

    #[test]
    fn tags_pass_when_every_key_has_one_of_its_values() {
        let tags: Tags = [("Team", "web"), ("Stage", "a*b")].map(|(k, v)| (k.into(), v.into())).into();
        let passes = |filters: &[Filter]| passes(filters, |name| tag(&tags, name));
        assert!(passes(&[filter("Team", &["shop", "web"]), filter("Stage", &["a\\*b"])]));
        assert!(!passes(&[filter("Team", &["web"]), filter("Stage", &["b"])]));
        assert!(!passes(&[filter("Owner", &[""])]));
    }

    #[test]
    fn an_escaped_character_is_literal() {
        let tags: Tags = [("Team".to_owned(), r"a*b?c\d".to_owned())].into();
        assert!(passes(&[filter("Team", &[r"a\*b\?c\\d"])], |name| tag(&tags, name)));
    }
}
