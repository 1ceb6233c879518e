//! JSON patches with the semantics of kube-apiserver: `replace` adds an absent field, and an absent field passes a
//! `test` for null.

use serde_json::Value;

/// Does one operation; `None` if it cannot be done.
pub(super) fn apply(value: &mut Value, operation: &Value) -> Option<()> {
    let path = |field: &str| operation[field].as_str();
    let new = operation.get("value").cloned();
    match operation["op"].as_str()? {
        "add" => add(value, path("path")?, new?),
        "remove" => remove(value, path("path")?).map(drop),
        "replace" => replace(value, path("path")?, new?),
        "move" => {
            let moved = remove(value, path("from")?)?;
            add(value, path("path")?, moved)
        }
        "copy" => {
            let copied = get(value, path("from")?)?.unwrap_or_default();
            add(value, path("path")?, copied)
        }
        "test" => {
            let is = get(value, path("path")?)?.unwrap_or_default();
            (is == new.unwrap_or_default()).then_some(())
        }
        _ => None,
    }
}

/// The parent of a path, and the last part of it.
fn parent<'a>(value: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (parents, last) = path.rsplit_once('/')?;
    let mut at = value;
    for part in parents.split('/').skip(1).map(unescaped) {
        at = match at {
            Value::Object(fields) => fields.get_mut(&part)?,
            Value::Array(items) => {
                let index = index(&part, items.len())?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    (at.is_object() || at.is_array()).then(|| (at, unescaped(last)))
}

/// The value at a path; the outer `None` if its parent is missing.
fn get(value: &mut Value, path: &str) -> Option<Option<Value>> {
    match parent(value, path)? {
        (Value::Object(fields), name) => Some(fields.get(&name).cloned()),
        (Value::Array(items), name) => items.get(index(&name, items.len())?).cloned().map(Some),
        _ => None,
    }
}

fn add(value: &mut Value, path: &str, new: Value) -> Option<()> {
    match parent(value, path)? {
        (Value::Object(fields), name) => drop(fields.insert(name, new)),
        (Value::Array(items), name) if name == "-" => items.push(new),
        (Value::Array(items), name) => {
            let index = index(&name, items.len() + 1)?;
            items.insert(index, new);
        }
        _ => return None,
    }
    Some(())
}

fn replace(value: &mut Value, path: &str, new: Value) -> Option<()> {
    match parent(value, path)? {
        (Value::Object(fields), name) => drop(fields.insert(name, new)),
        (Value::Array(items), name) => {
            let index = index(&name, items.len())?;
            *items.get_mut(index)? = new;
        }
        _ => return None,
    }
    Some(())
}

fn remove(value: &mut Value, path: &str) -> Option<Value> {
    match parent(value, path)? {
        (Value::Object(fields), name) => fields.remove(&name),
        (Value::Array(items), name) => {
            let index = index(&name, items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

/// An index of a list; a negative one counts from the end.
fn index(part: &str, length: usize) -> Option<usize> {
    let number: i64 = part.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let number = if number < 0 { number + length } else { number };
    usize::try_from(number).ok().filter(|_| number < length)
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replace_adds_an_absent_field_and_remove_fails() {
        let mut value = json!({"metadata": {}, "list": [1, 2]});
        let mut done = |operation: Value| apply(&mut value, &operation).is_some();
        assert!(done(json!({"op": "replace", "path": "/metadata/finalizers", "value": ["a"]})));
        assert!(!done(json!({"op": "replace", "path": "/absent/finalizers", "value": ["a"]})));
        assert!(!done(json!({"op": "remove", "path": "/absent"})));
        assert!(done(json!({"op": "test", "path": "/absent", "value": null})));
        assert!(!done(json!({"op": "test", "path": "/list/7", "value": null})));
        assert!(done(json!({"op": "add", "path": "/list/-", "value": 3})));
        assert!(!done(json!({"op": "jump", "path": "/list"})));
        assert_eq!(value, json!({"metadata": {"finalizers": ["a"]}, "list": [1, 2, 3]}));
    }
}
