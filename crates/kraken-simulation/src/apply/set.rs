//! Changing one field of a JSON value, and the merge patch between two values.

use serde_json::{Map, Value};

/// Sets a field by its JSON pointer, creating the objects on the way; without a value it is removed.
pub(crate) fn set(object: &mut Value, pointer: &str, value: Option<Value>) {
    // In the key of an annotation, `~1` is a slash.
    let unescaped = |step: &str| step.replace("~1", "/").replace("~0", "~");
    let steps: Vec<String> = pointer.trim_start_matches('/').split('/').map(unescaped).collect();
    let Some((last, way)) = steps.split_last() else { return };
    let mut place = object;
    for step in way {
        let Some(fields) = fields_of(place, value.is_some()) else { return };
        if value.is_none() && !fields.contains_key(step) {
            return;
        }
        place = fields.entry(step.clone()).or_insert_with(|| Value::Object(Map::new()));
    }
    let Some(fields) = fields_of(place, value.is_some()) else { return };
    match value {
        Some(value) => fields.insert(last.clone(), value),
        None => fields.remove(last),
    };
}

/// The fields of an object; what is none becomes one if so wanted.
fn fields_of(place: &mut Value, make: bool) -> Option<&mut Map<String, Value>> {
    if !place.is_object() && make {
        *place = Value::Object(Map::new());
    }
    place.as_object_mut()
}

/// The merge patch that makes `after` of `before`; `None` if they are equal.
pub(super) fn difference(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        let changed = match old.get(key) {
            Some(before) => difference(before, value),
            None => Some(value.clone()),
        };
        patch.extend(changed.map(|value| (key.clone(), value)));
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_set_and_removed_by_its_pointer() {
        let mut object = json!({"spec": {"a": 1}});
        set(&mut object, "/spec/lifecycle/paused", Some(json!(true)));
        set(&mut object, "/spec/a", None);
        set(&mut object, "/spec/absent/b", None);
        assert_eq!(object, json!({"spec": {"lifecycle": {"paused": true}}}));
    }

    #[test]
    fn the_difference_is_a_merge_patch() {
        let (before, after) =
            (json!({"a": {"b": 1, "c": 2}, "d": 3}), json!({"a": {"b": 1, "e": [4]}, "d": 3}));
        assert_eq!(difference(&before, &after), Some(json!({"a": {"c": null, "e": [4]}})));
        assert_eq!(difference(&before, &before), None);
    }
}
