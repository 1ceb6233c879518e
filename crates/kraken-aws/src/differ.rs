//! Differences between what is wanted of a field and what AWS has, in words that hold no secret. Pure.

use kraken_spoke::{Difference, FieldDiff, OptionType, Remedy, Resolved};

use crate::fields::{ABSENT, NOT_SHOWN, SECRET, item_path, listed, shown};

/// What is fixed when a thing is made: it differs if AWS says anything else than what is wanted.
pub fn fixed<T: OptionType + ToString + PartialEq<H>, H: ToString, C>(
    path: &str,
    wanted: Option<&Resolved<T>>,
    have: Option<&H>,
) -> Option<Difference<C>> {
    differing(path, wanted?, have, || {
        let why = "it is fixed at creation: change it back, or delete and re-create the resource";
        Remedy::Immutable(why.to_owned())
    })
}

/// What can be changed in place.
pub fn changed<T: OptionType + ToString + PartialEq<H>, H: ToString, C>(
    path: &str,
    wanted: Option<&Resolved<T>>,
    have: Option<&H>,
    change: C,
) -> Option<Difference<C>> {
    differing(path, wanted?, have, || Remedy::Change(change))
}

/// A difference of anything, whose texts the caller sees to.
pub fn difference<C>(
    path: &str,
    want: impl Into<String>,
    have: impl Into<String>,
    change: C,
) -> Difference<C> {
    Difference { field: FieldDiff::new(path, want.into(), have.into()), remedy: Remedy::Change(change) }
}

/// A list of which each item can be added and taken away by itself, in any order. The path names the item:
/// `subnetIDs["subnet-1"]`.
pub fn of_lists<C>(
    path: &str,
    wanted: Option<&Resolved<Vec<String>>>,
    have: &[String],
    add: impl Fn(String) -> C,
    remove: impl Fn(String) -> C,
) -> Vec<Difference<C>> {
    let Some(wanted) = wanted else { return vec![] };
    let is_secret = wanted.is_secret();
    let one = |item: &String, is_wanted: bool| {
        let (want, absent) = if is_wanted { (item.as_str(), ABSENT) } else { (ABSENT, item.as_str()) };
        let change = if is_wanted { add(item.clone()) } else { remove(item.clone()) };
        if is_secret {
            difference(path, SECRET, NOT_SHOWN, change)
        } else {
            difference(&item_path(path, item), want, absent, change)
        }
    };
    let missing = wanted.expose().iter().filter(|item| !have.contains(item)).map(|item| one(item, true));
    let extra = have.iter().filter(|item| !wanted.expose().contains(item)).map(|item| one(item, false));
    missing.chain(extra).collect()
}

/// A list that is set as a whole and whose order does not matter.
pub fn of_sets<S: AsRef<str>, C>(
    path: &str,
    wanted: Option<&Resolved<Vec<String>>>,
    have: &[S],
    change: C,
) -> Option<Difference<C>> {
    let wanted = wanted?;
    let items = wanted.expose();
    let is_there = |item: &String| have.iter().any(|have| have.as_ref() == item);
    if items.len() == have.len() && items.iter().all(is_there) {
        return None;
    }
    let (want, have) = lists(wanted, have);
    Some(difference(path, want, have, change))
}

/// Both lists as texts; nothing of either if what is wanted is a secret.
pub fn lists<S: AsRef<str>>(wanted: &Resolved<Vec<String>>, have: &[S]) -> (String, String) {
    match wanted.public() {
        Some(wanted) => (list(wanted), list(have)),
        None => (SECRET.to_owned(), NOT_SHOWN.to_owned()),
    }
}

fn list<S: AsRef<str>>(items: &[S]) -> String {
    if items.is_empty() { "none".to_owned() } else { listed(items) }
}

/// What is wanted may be of another type than what there is: a word of a few, say, and AWS's spelling of it.
fn differing<T: OptionType + ToString + PartialEq<H>, H: ToString, C>(
    path: &str,
    wanted: &Resolved<T>,
    have: Option<&H>,
    remedy: impl FnOnce() -> Remedy<C>,
) -> Option<Difference<C>> {
    if have.is_some_and(|have| wanted.expose() == have) {
        return None;
    }
    let have = match have {
        None => ABSENT.to_owned(),
        // It may be the secret's former value.
        Some(_) if wanted.is_secret() => NOT_SHOWN.to_owned(),
        Some(have) => have.to_string(),
    };
    Some(Difference { field: FieldDiff::new(path, shown(wanted), have), remedy: remedy() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_spoke::options::Sensitive;

    fn text(value: &str) -> Resolved<String> {
        Resolved::Public(value.to_owned())
    }

    #[test]
    fn a_field_that_is_as_wanted_or_not_wanted_does_not_differ() {
        let have = "a".to_owned();
        assert_eq!(fixed::<_, _, ()>("f", Some(&text("a")), Some(&have)), None);
        assert_eq!(changed("f", None::<&Resolved<String>>, Some(&have), ()), None);
    }

    #[test]
    fn a_difference_says_both_values_and_what_mends_it() {
        let found = changed("f", Some(&text("a")), None::<&String>, "change").unwrap();
        assert_eq!((found.field.want.as_str(), found.field.have.as_str()), ("a", ABSENT));
        assert_eq!(found.remedy, Remedy::Change("change"));
        let found = fixed::<_, _, ()>("f", Some(&text("a")), Some(&"b".to_owned())).unwrap();
        assert!(matches!(found.remedy, Remedy::Immutable(_)));
    }

    #[test]
    fn items_of_a_list_are_added_and_taken_away_one_by_one() {
        let wanted = Resolved::Public(vec!["a".to_owned(), "b".to_owned()]);
        let have = ["b".to_owned(), "c".to_owned()];
        let found = of_lists("l", Some(&wanted), &have, |item| ("add", item), |item| ("remove", item));
        let told: Vec<_> = found.iter().map(|f| (f.field.path.as_str(), f.field.want.as_str())).collect();
        assert_eq!(told, [("l[\"a\"]", "a"), ("l[\"c\"]", ABSENT)]);
        assert_eq!(found[1].remedy, Remedy::Change(("remove", "c".to_owned())));
        assert!(of_lists("l", None, &have, |_| (), |_| ()).is_empty());
    }

    #[test]
    fn a_secret_list_names_no_item() {
        let wanted = Resolved::Secret(Sensitive::new(vec!["a".to_owned()], "1".to_owned()));
        let found = of_lists("l", Some(&wanted), &["b".to_owned()], |_| (), |_| ());
        assert!(found.iter().all(|f| f.field.path == "l" && f.field.have == NOT_SHOWN), "{found:?}");
    }

    #[test]
    fn a_set_is_the_same_in_any_order_and_changes_as_a_whole() {
        let wanted = Resolved::Public(vec!["a".to_owned(), "b".to_owned()]);
        let of = |have: &[&str]| of_sets("l", Some(&wanted), have, "set");
        assert_eq!(of(&["b", "a"]), None);
        assert_eq!(of_sets("l", None, &["a"], "set"), None);
        for (other, told) in [(vec!["b", "c"], "b, c"), (vec!["a", "b", "b"], "a, b, b"), (vec![], "none")] {
            assert_eq!(of(&other), Some(difference("l", "a, b", told, "set")));
        }
    }

    #[test]
    fn nothing_of_a_secret_set_is_shown() {
        let wanted = Resolved::Secret(Sensitive::new(vec!["a".to_owned()], "1".to_owned()));
        assert_eq!(of_sets("l", Some(&wanted), &["b"], ()), Some(difference("l", SECRET, NOT_SHOWN, ())));
    }

    #[test]
    fn neither_side_of_a_secret_is_shown() {
        let secret = Resolved::Secret(Sensitive::new("hunter2".to_owned(), "1".to_owned()));
        let have = |have: Option<&String>| {
            let found = fixed::<_, _, ()>("f", Some(&secret), have).unwrap().field;
            assert_eq!(found.want, SECRET);
            found.have
        };
        assert_eq!((have(Some(&"hunter1".to_owned())).as_str(), have(None).as_str()), (NOT_SHOWN, ABSENT));
    }
}
