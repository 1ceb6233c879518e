//! What a look-up says about what it searched for, and what it found. Pure.

use kraken_kind::{Unanswered, api::reasons::Reason};

use super::{AwsLookup, DesiredOf, LookupSpec, ObservedOf, SpecOf};
use crate::{
    fields::{listed, tag_path},
    lookup::Tagged,
};

/// An object with its id.
pub(super) fn of_object<S: AwsLookup>(object: &ObservedOf<S>) -> String {
    let id = object.id();
    match S::words(object) {
        Some(words) if words != id => format!("{id} ({words})"),
        _ => id.to_owned(),
    }
}

/// That nothing was found.
pub(super) fn none<S: AwsLookup>(desired: &DesiredOf<S>) -> Unanswered {
    let message =
        format!("{} found none: edit the spec, or check the account and the region", searched::<S>(desired));
    Unanswered { reason: Reason::NotFound, message }
}

/// That too much was found; `why` is what narrows the search.
pub(super) fn several<S: AwsLookup>(
    desired: &DesiredOf<S>,
    found: &[&ObservedOf<S>],
    why: &str,
) -> Unanswered {
    let names: Vec<String> = found.iter().map(|object| of_object::<S>(object)).collect();
    let (searched, count) = (searched::<S>(desired), found.len());
    let message = format!("{searched} found {count}, {}: {why}", listed(&names));
    Unanswered { reason: Reason::Ambiguous, message }
}

/// What makes the answer the only one: the fields that are not set.
pub(super) fn narrow<S: AwsLookup>(desired: &DesiredOf<S>) -> String {
    let set = SpecOf::<S>::criteria(desired);
    let open = SpecOf::<S>::FIELDS.iter().filter(|field| !set.iter().any(|(set, _)| set == *field));
    let open: Vec<String> = open.map(|field| format!("spec.{field}")).collect();
    let open = match open.as_slice() {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        all => all.concat(),
    };
    format!("exactly one is expected; narrow the search with {open}")
}

fn searched<S: AwsLookup>(desired: &DesiredOf<S>) -> String {
    let fields = SpecOf::<S>::criteria(desired).into_iter();
    let fields = fields.map(|(field, value)| format!("{field} {value}"));
    let tags = SpecOf::<S>::tags(desired).iter().map(|(key, value)| format!("{} {value}", tag_path(key)));
    let all: Vec<String> = fields.chain(tags).collect();
    let noun = SpecOf::<S>::NOUN;
    if all.is_empty() {
        return format!("the search for all {noun}s");
    }
    format!("the search for {noun}s with {}", all.join(", "))
}
