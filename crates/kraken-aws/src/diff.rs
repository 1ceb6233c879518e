//! Differences between the desired and the observed value of a field, as text without secrets. Pure.

use kraken_kind::{Difference, FieldDiff, OptionType, Remedy, Resolved};

use crate::fields::{ABSENT, NOT_SHOWN, SECRET, item_path, listed, shown};

/// The difference of an immutable field.
pub fn fixed<T: OptionType + ToString + PartialEq<H>, H: ToString, C>(
    path: &str,
    desired: Option<&Resolved<T>>,
    have: Option<&H>,
) -> Option<Difference<C>> {
    differing(path, desired?, have, || {
        let why = "it is immutable: restore the old value, or let Kraken replace the object (spec.lifecycle.replace)";
        Remedy::Immutable(why.to_owned())
    })
}

/// The difference of an immutable field of a kind whose resources have several objects of this name.
pub fn fixed_at_launch<T: OptionType + ToString + PartialEq<H>, H: ToString, C>(
    path: &str,
    desired: Option<&Resolved<T>>,
    have: Option<&H>,
    noun: &str,
) -> Option<Difference<C>> {
    differing(path, desired?, have, || {
        Remedy::Immutable(format!(
            "it is set at launch only: restore the old value, or let Kraken replace the {noun}s (spec.lifecycle.replace)"
        ))
    })
}

/// The difference of a field that can be changed in place.
pub fn changed<T: OptionType + ToString + PartialEq<H>, H: ToString, C>(
    path: &str,
    desired: Option<&Resolved<T>>,
    have: Option<&H>,
    change: C,
) -> Option<Difference<C>> {
    differing(path, desired?, have, || Remedy::Change(change))
}

/// The difference of a field that can be changed only while the object is stopped.
pub fn stopped<C>(difference: Difference<C>) -> Difference<C> {
    match difference.remedy {
        Remedy::Change(change) => {
            let takes = "it is changed only while the object is stopped".to_owned();
            Difference { field: difference.field, remedy: Remedy::Disruptive(change, takes) }
        }
        _ => difference,
    }
}

/// A difference with texts of the caller.
pub fn difference<C>(
    path: &str,
    want: impl Into<String>,
    have: impl Into<String>,
    change: C,
) -> Difference<C> {
    Difference { field: FieldDiff::new(path, want.into(), have.into()), remedy: Remedy::Change(change) }
}

/// The differences of a list whose items can be added and removed separately, in any order. The path names the item:
/// `subnetIDs["subnet-1"]`.
pub fn of_lists<C>(
    path: &str,
    desired: Option<&Resolved<Vec<String>>>,
    have: &[String],
    add: impl Fn(String) -> C,
    remove: impl Fn(String) -> C,
) -> Vec<Difference<C>> {
    let Some(desired) = desired else { return vec![] };
    let is_secret = desired.is_secret();
    let one = |item: &String, is_wanted: bool| {
        let (want, absent) = if is_wanted { (item.as_str(), ABSENT) } else { (ABSENT, item.as_str()) };
        let change = if is_wanted { add(item.clone()) } else { remove(item.clone()) };
        if is_secret {
            difference(path, SECRET, NOT_SHOWN, change)
        } else {
            difference(&item_path(path, item), want, absent, change)
        }
    };
    let missing = desired.expose().iter().filter(|item| !have.contains(item)).map(|item| one(item, true));
    let extra = have.iter().filter(|item| !desired.expose().contains(item)).map(|item| one(item, false));
    missing.chain(extra).collect()
}

/// The difference of a list that is set as a whole, ignoring the order.
pub fn of_sets<S: AsRef<str>, C>(
    path: &str,
    desired: Option<&Resolved<Vec<String>>>,
    have: &[S],
    change: C,
) -> Option<Difference<C>> {
    let desired = desired?;
    let items = desired.expose();
    let is_there = |item: &String| have.iter().any(|have| have.as_ref() == item);
    if items.len() == have.len() && items.iter().all(is_there) {
        return None;
    }
    let (want, have) = lists(desired, have);
    Some(difference(path, want, have, change))
}

/// Both lists as texts; neither is shown if the desired one is secret.
pub fn lists<S: AsRef<str>>(desired: &Resolved<Vec<String>>, have: &[S]) -> (String, String) {
    match desired.public() {
        Some(desired) => (list(desired), list(have)),
        None => (SECRET.to_owned(), NOT_SHOWN.to_owned()),
    }
}

fn list<S: AsRef<str>>(items: &[S]) -> String {
    if items.is_empty() { "none".to_owned() } else { listed(items) }
}

/// The desired value may have another type than the observed one, such as an enum and AWS's value.
fn differing<T: OptionType + ToString + PartialEq<H>, H: ToString, C>(
    path: &str,
    desired: &Resolved<T>,
    have: Option<&H>,
    remedy: impl FnOnce() -> Remedy<C>,
) -> Option<Difference<C>> {
    if have.is_some_and(|have| desired.expose() == have) {
        return None;
    }
    let have = match have {
        None => ABSENT.to_owned(),
        // It may be a former value of the Secret.
        Some(_) if desired.is_secret() => NOT_SHOWN.to_owned(),
        Some(have) => have.to_string(),
    };
    Some(Difference { field: FieldDiff::new(path, shown(desired), have), remedy: remedy() })
}

#[cfg(test)]
mod tests {
    use kraken_kind::options::Sensitive;

    use super::*;

    fn text(value: &str) -> Resolved<String> {
        Resolved::Public(value.to_owned())
    }

    #[test]
    fn an_equal_or_unmanaged_field_does_not_differ() {
        let have = "a".to_owned();
        assert_eq!(fixed::<_, _, ()>("f", Some(&text("a")), Some(&have)), None);
        assert_eq!(changed("f", None::<&Resolved<String>>, Some(&have), ()), None);
    }

    #[test]
    fn a_difference_has_both_values_and_a_remedy() {
        let found = changed("f", Some(&text("a")), None::<&String>, "change").unwrap();
        assert_eq!((found.field.want.as_str(), found.field.have.as_str()), ("a", ABSENT));
        assert_eq!(found.remedy, Remedy::Change("change"));
        let found = fixed::<_, _, ()>("f", Some(&text("a")), Some(&"b".to_owned())).unwrap();
        assert!(matches!(found.remedy, Remedy::Immutable(_)));
    }

    #[test]
    fn a_change_that_requires_a_stop_is_disruptive() {
        let found = stopped(difference("f", "a", "b", "change"));
        assert!(matches!(found.remedy, Remedy::Disruptive("change", _)), "{found:?}");
        let fixed =
            fixed_at_launch::<_, _, ()>("f", Some(&text("a")), Some(&"b".to_owned()), "disk").unwrap();
        assert!(matches!(&fixed.remedy, Remedy::Immutable(why) if why.contains("replace the disks")));
        assert_eq!(stopped(fixed.clone()), fixed);
    }

    #[test]
    fn items_of_a_list_are_added_and_removed_separately() {
        let desired = Resolved::Public(vec!["a".to_owned(), "b".to_owned()]);
        let have = ["b".to_owned(), "c".to_owned()];
        let found = of_lists("l", Some(&desired), &have, |item| ("add", item), |item| ("remove", item));
        let described: Vec<_> =
            found.iter().map(|f| (f.field.path.as_str(), f.field.want.as_str())).collect();
        assert_eq!(described, [("l[\"a\"]", "a"), ("l[\"c\"]", ABSENT)]);
        assert_eq!(found[1].remedy, Remedy::Change(("remove", "c".to_owned())));
        assert!(of_lists("l", None, &have, |_| (), |_| ()).is_empty());
    }

    #[test]
    fn items_of_a_secret_list_are_not_shown() {
        let desired = Resolved::Secret(Sensitive::new(vec!["a".to_owned()], "1".to_owned()));
        let found = of_lists("l", Some(&desired), &["b".to_owned()], |_| (), |_| ());
        assert!(found.iter().all(|f| f.field.path == "l" && f.field.have == NOT_SHOWN), "{found:?}");
    }

    #[test]
    fn a_set_is_compared_ignoring_order_and_changed_as_a_whole() {
        let desired = Resolved::Public(vec!["a".to_owned(), "b".to_owned()]);
        let of = |have: &[&str]| of_sets("l", Some(&desired), have, "set");
        assert_eq!(of(&["b", "a"]), None);
        assert_eq!(of_sets("l", None, &["a"], "set"), None);
        for (other, rendered) in
            [(vec!["b", "c"], "b, c"), (vec!["a", "b", "b"], "a, b, b"), (vec![], "none")]
        {
            assert_eq!(of(&other), Some(difference("l", "a, b", rendered, "set")));
        }
    }

    #[test]
    fn items_of_a_secret_set_are_not_shown() {
        let desired = Resolved::Secret(Sensitive::new(vec!["a".to_owned()], "1".to_owned()));
        assert_eq!(of_sets("l", Some(&desired), &["b"], ()), Some(difference("l", SECRET, NOT_SHOWN, ())));
    }

    #[test]
    fn both_values_of_a_secret_difference_are_hidden() {
        let secret = Resolved::Secret(Sensitive::new("hunter2".to_owned(), "1".to_owned()));
        let have = |have: Option<&String>| {
            let found = fixed::<_, _, ()>("f", Some(&secret), have).unwrap().field;
            assert_eq!(found.want, SECRET);
            found.have
        };
        assert_eq!((have(Some(&"hunter1".to_owned())).as_str(), have(None).as_str()), (NOT_SHOWN, ABSENT));
    }
}
