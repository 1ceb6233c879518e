//! Takes paths out of an object.

use serde_json::{Map, Value};

use super::{
    element::{Node, Shape, field, item},
    set::Set,
};

/// The object without these paths; `None` if nothing is left of it.
pub(super) fn removed(node: Node<'_>, value: &Value, paths: &Set) -> Option<Value> {
    match node.shape(value) {
        Shape::Map => {
            let mut left = Map::new();
            for (name, value) in value.as_object().into_iter().flatten() {
                let element = field(name);
                if paths.members.contains(&element) {
                    continue;
                }
                let value = match paths.children.get(&element) {
                    Some(below) => removed(node.field(name), value, below).unwrap_or_default(),
                    None => value.clone(),
                };
                left.insert(name.clone(), value);
            }
            (!left.is_empty()).then_some(Value::Object(left))
        }
        Shape::List(list) => {
            let mut left = Vec::new();
            for value in value.as_array().into_iter().flatten() {
                let element = item(list, value, node);
                if paths.members.contains(&element) {
                    continue;
                }
                left.push(match paths.children.get(&element) {
                    Some(below) => removed(node.item(), value, below).unwrap_or_default(),
                    None => value.clone(),
                });
            }
            (!left.is_empty()).then_some(Value::Array(left))
        }
        Shape::Leaf if value.is_object() || value.is_array() => None,
        Shape::Leaf => Some(value.clone()),
    }
}
