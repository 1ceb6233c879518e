//! The spec of an object, compared with the object as after an adoption: a field that would be changed is left out, with the reason. Pure.

use kraken_kind::{Resolver, options::Values};
use serde_json::{Map, Value, json};

use super::{Fields, was_managed};
use crate::{
    AwsResource, AwsSpec,
    lookup::Tagged,
    resource::{DesiredWithTags, ObservedOf, SpecOf, compare},
    tags,
};

/// The spec, or why there is none; and what it does not contain.
pub(super) fn spec_of<S: AwsResource>(object: &ObservedOf<S>) -> (Result<Value, String>, Vec<String>) {
    let Fields(mut spec) = SpecOf::<S>::imported(object);
    let of_user = tags::users(object.tags());
    if !of_user.is_empty() {
        spec.insert("tags".to_owned(), json!(of_user));
    }
    let mut notes = vec![];
    // Each turn removes a field.
    while let Some((path, why)) = first_problem::<S>(&spec, object) {
        let field = path.split(['.', '[']).next().unwrap_or_default();
        let note = format!("{path} {why}");
        if spec.remove(field).is_none() {
            notes.push(note);
            return (Err(notes.join("; ")), vec![]);
        }
        notes.push(format!("{field} is not managed: {note}"));
    }
    if was_managed(object.tags()) {
        let hidden = S::HIDDEN.iter().filter(|path| hide(&mut spec, path));
        notes.extend(hidden.map(|path| {
            format!(
                "{path} is not shown, because it may come from a Secret: add it, or the apply is rejected"
            )
        }));
    }
    (Ok(Value::Object(spec)), notes)
}

/// The first field that does not decode, is invalid, or would be changed.
fn first_problem<S: AwsResource>(
    spec: &Map<String, Value>,
    object: &ObservedOf<S>,
) -> Option<(String, String)> {
    let written = Value::Object(spec.clone());
    let spec: SpecOf<S> = match serde_path_to_error::deserialize(written) {
        Ok(spec) => spec,
        Err(error) => return Some((error.path().to_string(), error.inner().to_string())),
    };
    let values = Values::default();
    let mut resolver = Resolver::new(&values);
    let desired = spec.with_tags(&mut resolver);
    let Some((own, tags)) = desired else {
        let problem = resolver.finish().problems.into_iter().next();
        return Some(problem.map_or_else(
            || (String::new(), "is invalid".to_owned()),
            |problem| (problem.field, problem.message),
        ));
    };
    let found = compare::<S>(&DesiredWithTags { own, tags }, &[object]);
    found.differences.into_iter().map(|difference| difference.field).find_map(|field| {
        // Tags are what an adoption sets.
        let is_tag = field.path.starts_with("tags");
        (!is_tag).then(|| (field.path, format!("is {} and would become {}", field.have, field.want)))
    })
}

/// Removes the value at a dotted path; whether there was one.
fn hide(spec: &mut Map<String, Value>, path: &str) -> bool {
    let Some((parents, last)) = path.rsplit_once('.') else { return spec.remove(path).is_some() };
    let mut at = Some(spec);
    for name in parents.split('.') {
        at = at.and_then(|fields| fields.get_mut(name)).and_then(Value::as_object_mut);
    }
    at.is_some_and(|fields| fields.remove(last).is_some())
}
