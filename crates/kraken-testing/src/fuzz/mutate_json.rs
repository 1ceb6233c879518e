//! Mutations of JSON that stay JSON: they reach the code behind the parser far more often than those of bytes.

use fastrand::Rng;
use serde_json::Value;

use super::generate;

/// Replaces, removes, duplicates, renames or nests one value in a document. `words` are its new texts and keys.
pub fn mutate_json(rng: &mut Rng, document: &mut Value, words: &[&str]) {
    let pointers = pointers(document);
    let pointer = rng.choice(&pointers).cloned().unwrap_or_default();
    let donor = rng.choice(&pointers).and_then(|pointer| document.pointer(pointer)).cloned();
    let Some(node) = document.pointer_mut(&pointer) else { return };
    match rng.u8(..8) {
        0 => *node = Value::Null,
        1 => *node = generate::number(rng),
        2 => *node = rng.choice(words).copied().unwrap_or_default().into(),
        3 => *node = generate::json(rng, words),
        4 => *node = donor.unwrap_or_default(),
        5 => {
            let inner = node.take();
            let levels = if rng.u8(..8) == 0 { 130 } else { 1 };
            *node = (0..levels).fold(inner, |inner, _| Value::Array(vec![inner]));
        }
        6 => remove(rng, node),
        _ => add(rng, node, words, donor.unwrap_or_default()),
    }
}

fn remove(rng: &mut Rng, node: &mut Value) {
    match node {
        Value::Object(members) => {
            let key = rng.choice(members.keys()).cloned();
            if let Some(key) = key {
                members.remove(&key);
            }
        }
        Value::Array(items) if !items.is_empty() => drop(items.remove(rng.usize(..items.len()))),
        other => *other = Value::Null,
    }
}

fn add(rng: &mut Rng, node: &mut Value, words: &[&str], donor: Value) {
    let word = rng.choice(words).copied().unwrap_or_default();
    match node {
        Value::Object(members) => drop(members.insert(word.to_owned(), donor)),
        Value::Array(items) => items.insert(rng.usize(..=items.len()), donor),
        Value::String(text) => text.push_str(word),
        other => *other = donor,
    }
}

/// The JSON pointers of all values, the root first.
fn pointers(document: &Value) -> Vec<String> {
    let mut found = vec![];
    let mut left = vec![(String::new(), document)];
    while let Some((pointer, node)) = left.pop() {
        match node {
            Value::Object(members) => left.extend(members.iter().map(|(key, member)| {
                (format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), member)
            })),
            Value::Array(items) => {
                left.extend(
                    items.iter().enumerate().map(|(index, item)| (format!("{pointer}/{index}"), item)),
                );
            }
            _ => {}
        }
        found.push(pointer);
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_value_has_a_pointer() {
        let document = json!({"a": [1, {"b/c~d": null}]});
        let pointers = pointers(&document);
        assert_eq!(pointers.len(), 5);
        assert!(pointers.iter().all(|pointer| document.pointer(pointer).is_some()), "{pointers:?}");
    }

    #[test]
    fn mutations_reach_nested_values() {
        let document = json!({"spec": {"cidrBlock": {"value": "10.0.0.0/16"}, "tags": {"Name": "web"}}});
        let mutated = |seed| {
            let mut mutated = document.clone();
            mutate_json(&mut Rng::with_seed(seed), &mut mutated, &["valueFrom"]);
            mutated
        };
        let all: Vec<_> = (0..200).map(mutated).collect();
        assert!(all.iter().filter(|one| **one != document).count() > 150);
        assert!(all.iter().any(|one| one["spec"]["tags"]["Name"] == "valueFrom"));
        assert!(all.iter().any(|one| one["spec"].get("cidrBlock").is_none() && one["spec"].is_object()));
    }
}
