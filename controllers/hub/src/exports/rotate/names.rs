//! With `rotate`: the names of the targets, and which former ones are deleted. Pure.

use std::cmp::Reverse;

use jiff::Timestamp;
use kraken_api::CURRENT_SINCE_ANNOTATION;
use kube::api::ObjectMeta;

use crate::store::{digest_key::digits, index::ObjectRef};

/// The number of hexadecimal digits in the name of a target, as in names of Kustomize.
const DIGITS: usize = 10;

/// The target of the content with this digest; `plain`: the target without one.
pub(crate) fn named(plain: &ObjectRef, digest: &str) -> ObjectRef {
    let digits = digits(digest);
    let digits = digits.get(..DIGITS).unwrap_or(digits);
    ObjectRef::new(plain.class, &plain.key.namespace, &format!("{}-{digits}", plain.key.name))
}

/// Whether this is the name of a target of some content, or that of a former version, with a number. Its workloads are set to the new one
/// before it is deleted.
pub(crate) fn is_of(base: &str, target: &str) -> bool {
    let Some(end) = target.strip_prefix(base).and_then(|rest| rest.strip_prefix('-')) else { return false };
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_number = || end.parse::<u32>().is_ok_and(|number| number > 0 && number.to_string() == end);
    end.len() == DIGITS && end.bytes().all(is_digit) || is_number()
}

/// When a target became the current one, most recently.
pub(crate) fn current_since(meta: &ObjectMeta) -> Timestamp {
    let noted = meta.annotations.iter().flatten().find(|(name, _)| *name == CURRENT_SINCE_ANNOTATION);
    let noted = noted.and_then(|(_, time)| time.parse().ok());
    let created = meta.creation_timestamp.as_ref().map(|time| time.0);
    noted.or(created).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The targets that are deleted: those that the spec no longer names, and all but the `kept` former ones that were current most
/// recently. The current one is never deleted.
pub(crate) fn surplus(
    owned: Vec<(ObjectRef, Timestamp)>,
    plain: &ObjectRef,
    current: Option<&ObjectRef>,
    kept: usize,
) -> Vec<ObjectRef> {
    let is_named = |target: &ObjectRef| {
        target.class == plain.class && (target == plain || is_of(&plain.key.name, &target.key.name))
    };
    let others = owned.into_iter().filter(|(target, _)| Some(target) != current);
    let (mut former, mut surplus): (Vec<_>, Vec<_>) = others.partition(|(target, _)| is_named(target));
    former.sort_by_key(|(_, since)| Reverse(*since));
    surplus.extend(former.into_iter().skip(kept));
    surplus.into_iter().map(|(target, _)| target).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;
    use crate::store::index::Class;

    fn target(name: &str) -> ObjectRef {
        ObjectRef::new(Class::ConfigMap, "ns", name)
    }

    /// The name of the target that is the `n`th.
    fn name(n: u32) -> String {
        format!("app-{n:010x}")
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn surplus_names(owned: &[(&str, i64)], current: &str, kept: usize) -> Vec<String> {
        let owned = owned.iter().map(|(name, since)| (target(name), at(*since))).collect();
        let surplus = surplus(owned, &target("app"), Some(&target(current)), kept);
        surplus.into_iter().map(|target| target.key.name.to_string()).collect()
    }

    #[test]
    fn a_name_ends_with_the_digest_of_its_content() {
        let named = named(&target("app"), "0123456789abcdef0123456789abcdef");
        assert_eq!(named, target("app-0123456789"));
        assert!(is_of("app", &named.key.name));
        assert!(is_of("app-0123456789", "app-0123456789-abcdefabcd"));
        assert!(is_of("app", "app-3"), "of a former version");
        assert_eq!(
            super::named(&target("app"), "89abcdef.0123456789abcdef"),
            named,
            "without the part for the key"
        );
        for other in [
            "app",
            "app-",
            "app-0",
            "app-03",
            "app-0123456789a",
            "app-ABCDEFABCD",
            "web-0123456789",
            "app0123456789",
        ] {
            assert!(!is_of("app", other), "{other}");
        }
    }

    #[test]
    fn former_targets_that_were_current_most_recently_are_kept() {
        let (a, b, c) = (name(1), name(2), name(3));
        let owned = [(&*a, 30), (&*b, 10), (&*c, 20)];
        assert_eq!(surplus_names(&owned, &a, 10), [""; 0]);
        assert_eq!(surplus_names(&owned, &a, 1), [&*b], "the order of the names does not matter");
        assert_eq!(surplus_names(&owned, &a, 0), [&*c, &*b]);
        assert_eq!(surplus_names(&owned, &name(4), 2), [&*b], "the current one is not cached yet");
        assert_eq!(surplus_names(&owned, &b, 1), [&*c], "a content that is desired again");
    }

    #[test]
    fn the_target_without_a_digest_is_a_former_one() {
        let (a, b) = (name(1), name(2));
        let owned = [("app", 1), (&*a, 2), (&*b, 3)];
        assert_eq!(surplus_names(&owned, &b, 2), [""; 0]);
        assert_eq!(surplus_names(&owned, &b, 1), ["app"]);
    }

    #[test]
    fn targets_that_the_spec_no_longer_names_are_deleted() {
        let a = name(1);
        assert_eq!(
            surplus_names(&[(&a, 1), ("web", 2), ("web-0123456789", 3)], &a, 10),
            ["web", "web-0123456789"]
        );
        let secret = ObjectRef::new(Class::Secret, "ns", &a);
        assert_eq!(surplus(vec![(secret.clone(), at(1))], &target("app"), None, 10), [secret]);
    }

    #[test]
    fn the_time_is_that_of_the_annotation_or_of_the_creation() {
        let mut meta = ObjectMeta { creation_timestamp: Some(Time(at(5))), ..ObjectMeta::default() };
        assert_eq!(current_since(&meta), at(5));
        for (noted, since) in
            [("1970-01-01T00:00:09.5Z", Timestamp::from_millisecond(9500).unwrap()), ("x", at(5))]
        {
            meta.annotations = Some([(CURRENT_SINCE_ANNOTATION.to_owned(), noted.to_owned())].into());
            assert_eq!(current_since(&meta), since, "{noted}");
        }
        assert_eq!(current_since(&ObjectMeta::default()), Timestamp::UNIX_EPOCH);
    }
}
