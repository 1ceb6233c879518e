//! JSON merge patches (RFC 7396).

use serde_json::Value;

/// Applies a patch as kube-apiserver does: also the items of a list that a patch sets lose their null
/// fields, but not those of a list in the place of an object.
pub(super) fn apply(value: &mut Value, mut patch: Value) {
    if let (Value::Object(fields), Value::Object(_)) = (&mut *value, &patch) {
        for (name, new) in object(patch) {
            match fields.get_mut(&name) {
                _ if new.is_null() => drop(fields.remove(&name)),
                Some(old) if !old.is_null() => apply(old, new),
                _ => {
                    let mut new = new;
                    without_nulls(&mut new);
                    fields.insert(name, new);
                }
            }
        }
        return;
    }
    if !value.is_object() {
        without_nulls(&mut patch);
    }
    *value = patch;
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    if let Value::Object(fields) = value { fields } else { serde_json::Map::new() }
}

/// Removes the null fields of all objects in it.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_items_of_a_list_lose_their_null_fields() {
        let mut value = json!({"kept": 1, "removed": 1, "list": [{"a": 1}], "object": {"b": 1}});
        let list = json!([{"since": null, "have": "a"}, null]);
        apply(&mut value, json!({"removed": null, "list": list, "new": {"list": list}, "object": list}));
        let without = json!([{"have": "a"}, null]);
        assert_eq!(value, json!({"kept": 1, "list": without, "new": {"list": without}, "object": list}));
    }
}
