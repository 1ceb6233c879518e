//! Differences between what is wanted of a field and what AWS has, in words that hold no secret. Pure.

use kraken_spoke::{Difference, FieldDiff, OptionType, Remedy, Resolved};

use crate::fields::{ABSENT, NOT_SHOWN, SECRET, item_path};

/// What is fixed when a thing is made: it differs if AWS says anything else than what is wanted.
pub fn fixed<T: OptionType + ToString, C>(
    path: &str,
    wanted: Option<&Resolved<T>>,
    have: Option<&T>,
) -> Option<Difference<C>> {
    differing(path, wanted?, have, || {
        let why = "it is fixed at creation: change it back, or delete and re-create the resource";
        Remedy::Immutable(why.to_owned())
    })
}

/// What can be changed in place.
pub fn changed<T: OptionType + ToString, C>(
    path: &str,
    wanted: Option<&Resolved<T>>,
    have: Option<&T>,
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

fn differing<T: OptionType + ToString, C>(
    path: &str,
    wanted: &Resolved<T>,
    have: Option<&T>,
    remedy: impl FnOnce() -> Remedy<C>,
) -> Option<Difference<C>> {
    if have == Some(wanted.expose()) {
        return None;
    }
    let (want, have) = match wanted.public() {
        Some(want) => (want.to_string(), have.map_or_else(|| ABSENT.to_owned(), ToString::to_string)),
        // What there is in place of a secret value may be the secret's former value.
        None => (SECRET.to_owned(), NOT_SHOWN.to_owned()),
    };
    Some(Difference { field: FieldDiff::new(path, want, have), remedy: remedy() })
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
        assert_eq!(fixed::<_, ()>("f", Some(&text("a")), Some(&have)), None);
        assert_eq!(changed("f", None, Some(&have), ()), None);
    }

    #[test]
    fn a_difference_says_both_values_and_what_mends_it() {
        let found = changed("f", Some(&text("a")), None, "change").unwrap();
        assert_eq!((found.field.want.as_str(), found.field.have.as_str()), ("a", ABSENT));
        assert_eq!(found.remedy, Remedy::Change("change"));
        let found = fixed::<_, ()>("f", Some(&text("a")), Some(&"b".to_owned())).unwrap();
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
    fn neither_side_of_a_secret_is_shown() {
        let secret = Resolved::Secret(Sensitive::new("hunter2".to_owned(), "1".to_owned()));
        let found = fixed::<_, ()>("f", Some(&secret), Some(&"hunter1".to_owned())).unwrap();
        assert_eq!((found.field.want.as_str(), found.field.have.as_str()), (SECRET, NOT_SHOWN));
    }
}
