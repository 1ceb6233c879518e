//! Filters of Describe calls: matching, and the smallest set of candidates.

use std::collections::BTreeSet;

use super::cloud::Cloud;
use super::described::Described;
use super::form::Form;
use super::refusal::Refusal;
use super::registry::KindObjects;

/// AWS's limit for all filters of a call together.
const MOST_VALUES: usize = 200;

/// One filter.
#[derive(Debug)]
pub(super) struct Filter {
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

impl Filter {
    /// The filters of a call.
    pub(super) fn of(form: &Form) -> Result<Vec<Self>, Refusal> {
        let filters = form.structures("Filter").into_iter().map(|form| Self {
            name: form.text("Name").unwrap_or_default(),
            values: form.list("Value").into_iter().map(str::to_owned).collect(),
        });
        let filters: Vec<Self> = filters.collect();
        if filters.iter().map(|filter| filter.values.len()).sum::<usize>() > MOST_VALUES {
            let message = "The maximum number of filter values specified on a single call is 200";
            return Err(Refusal::new("FilterLimitExceeded", message));
        }
        Ok(filters)
    }

    /// Rejects unknown filters, and filters without values.
    pub(super) fn check(filters: &[Self], is_known: impl Fn(&str) -> bool) -> Result<(), Refusal> {
        let wrong = filters.iter().find(|filter| !is_known(&filter.name) || filter.values.is_empty());
        let refusal = |name| Refusal::new("InvalidParameterValue", format!("The filter '{name}' is invalid"));
        wrong.map_or(Ok(()), |wrong| Err(refusal(&wrong.name)))
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.values.iter().any(|value| glob(value.as_bytes(), text.as_bytes()))
    }

    pub(super) fn is_exact(&self) -> bool {
        !self.values.iter().any(|value| value.contains(['*', '?', '\\']))
    }

    /// Whether this kind supports it.
    pub(super) fn is_of<T: Described>(name: &str) -> bool {
        name.starts_with("tag:") || name == "tag-key" || T::FILTERS.contains(&name)
    }

    /// Whether an object matches, with its state in Describe calls.
    pub(super) fn passes<T: Described>(&self, cloud: &Cloud, number: u64, object: &T) -> bool {
        let tags = || cloud.registry.tags(T::object(number), cloud.now);
        if let Some(key) = self.name.strip_prefix("tag:") {
            return tags().get(key).is_some_and(|value| self.matches(value));
        }
        if self.name == "tag-key" {
            return tags().keys().any(|key| self.matches(key));
        }
        object.values(&self.name, cloud).iter().any(|value| self.matches(value))
    }

    /// All candidates, by the tag index; `None` if the index does not apply.
    fn candidates<'a>(&self, objects: &'a KindObjects) -> Option<Vec<&'a BTreeSet<u64>>> {
        if let Some(key) = self.name.strip_prefix("tag:") {
            return Some(if self.is_exact() {
                self.values.iter().filter_map(|value| objects.index.with(key, value)).collect()
            } else {
                objects.index.with_key(key).into_iter().collect()
            });
        }
        let keys = self.name == "tag-key" && self.is_exact();
        keys.then(|| self.values.iter().filter_map(|key| objects.index.with_key(key)).collect())
    }
}

/// The candidates from `first` on, in the order of their creation: those of the narrowest filter.
pub(super) fn candidates<'a>(
    objects: &'a KindObjects,
    filters: &[Filter],
    first: u64,
) -> Box<dyn Iterator<Item = u64> + 'a> {
    let found = filters.iter().filter_map(|filter| filter.candidates(objects));
    let narrowest = found.min_by_key(|sets| sets.iter().map(|set| set.len()).sum::<usize>());
    match narrowest.as_deref() {
        None => Box::new(objects.present.range(first..).copied()),
        Some([one]) => Box::new(one.range(first..).copied()),
        Some(many) => {
            let union: BTreeSet<u64> = many.iter().flat_map(|set| set.range(first..)).copied().collect();
            Box::new(union.into_iter())
        }
    }
}

/// `*` matches any text, `?` one character, and a backslash escapes them.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => glob(rest, text) || (!text.is_empty() && glob(pattern, &text[1..])),
        ([b'?', rest @ ..], [_, text @ ..]) => glob(rest, text),
        ([b'\\', wanted, rest @ ..] | [wanted, rest @ ..], [have, text @ ..]) => {
            wanted == have && glob(rest, text)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_patterns() {
        let matches = |pattern: &str, text: &str| glob(pattern.as_bytes(), text.as_bytes());
        assert!(matches("a*c", "abbc") && matches("*", "") && matches("a?c", "abc") && matches("a\\*", "a*"));
        assert!(!matches("a\\*", "ab") && !matches("a", "ab") && !matches("a?", "a") && !matches("A", "a"));
    }
}
