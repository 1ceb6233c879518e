//! References instead of ids. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The fields of a spec that contain no ids of others.
const WITHOUT_REFERENCES: [&str; 3] = ["tags", "lifecycle", "account"];
/// The key of the id that a reference replaces; [`super::yaml`] writes it as a comment.
pub(super) const WAS: &str = "\u{0}was";

/// The ids that can be referred to: each with the object that has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    /// By id, the index of the object.
    pub(super) unique: BTreeMap<String, usize>,
    /// Ids that are names: by the field that contains them and the name.
    pub(super) names: BTreeMap<(String, String), usize>,
}

impl Ids {
    /// The object whose id is in a field of this name.
    fn get(&self, field: &str, id: &str) -> Option<usize> {
        let named = || self.names.get(&(field.to_owned(), id.to_owned()));
        self.unique.get(id).or_else(named).copied()
    }
}

/// The objects that a spec refers to, each with the top-level field, in the order of the fields.
pub(super) fn targets(spec: &Value, ids: &Ids) -> Vec<(String, usize)> {
    let mut found = vec![];
    for (field, value) in fields(spec) {
        visit(field, value, &mut |name, id| found.extend(ids.get(name, id).map(|of| (field.clone(), of))));
    }
    found
}

fn fields(spec: &Value) -> impl Iterator<Item = (&String, &Value)> {
    spec.as_object().into_iter().flatten().filter(|(field, _)| !WITHOUT_REFERENCES.contains(&field.as_str()))
}

/// Visits each literal text with the name of its field.
fn visit(name: &str, value: &Value, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                visit(if field == "value" { name } else { field }, value, see);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| visit(name, item, see)),
        Value::String(text) => see(name, text),
        _ => {}
    }
}

/// The spec with a reference in the place of each id for which `refer` has one, and their number.
pub(super) fn restored(spec: &Value, ids: &Ids, refer: &impl Fn(usize) -> Option<String>) -> (Value, usize) {
    let mut count = 0;
    let mut all = spec.clone();
    for (field, value) in all.as_object_mut().into_iter().flatten() {
        if !WITHOUT_REFERENCES.contains(&field.as_str()) {
            let written = std::mem::take(value);
            *value = replaced(field, written, ids, refer, &mut count);
        }
    }
    (all, count)
}

fn replaced(
    name: &str,
    value: Value,
    ids: &Ids,
    refer: &impl Fn(usize) -> Option<String>,
    count: &mut usize,
) -> Value {
    let reference = |value: Option<&Value>, count: &mut usize| {
        let text = value?.as_str()?;
        let written = refer(ids.get(name, text)?)?;
        *count += 1;
        Some(json!({"valueFrom": {"ref": written, WAS: text}}))
    };
    match value {
        Value::Object(fields) => {
            // An option: the reference replaces the whole.
            if let Some(reference) = reference(fields.get("value"), count) {
                return reference;
            }
            let one = |(field, value): (String, Value)| {
                let of = if field == "value" { name } else { &field };
                let value = replaced(of, value, ids, refer, count);
                (field, value)
            };
            Value::Object(fields.into_iter().map(one).collect())
        }
        Value::Array(items) => {
            let one = |item: Value| match reference(Some(&item), count) {
                Some(reference) => reference,
                None => replaced(name, item, ids, refer, count),
            };
            Value::Array(items.into_iter().map(one).collect())
        }
        other => other,
    }
}

/// The order of objects, each after those that it refers to; and the references that close a cycle, from and to. `edges` are the
/// targets of each.
pub(super) fn ordered(edges: &[Vec<usize>]) -> (Vec<usize>, BTreeSet<(usize, usize)>) {
    let mut walk = Walk { edges, state: vec![State::New; edges.len()], order: vec![], back: BTreeSet::new() };
    for start in 0..edges.len() {
        walk.from(start);
    }
    (walk.order, walk.back)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

struct Walk<'a> {
    edges: &'a [Vec<usize>],
    state: Vec<State>,
    order: Vec<usize>,
    back: BTreeSet<(usize, usize)>,
}

impl Walk<'_> {
    /// Without recursion: a chain of objects can be long.
    fn from(&mut self, start: usize) {
        if self.state[start] != State::New {
            return;
        }
        self.state[start] = State::Open;
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            let Some(&to) = self.edges[at].get(next) else {
                self.state[at] = State::Done;
                self.order.push(at);
                continue;
            };
            stack.push((at, next + 1));
            match self.state[to] {
                State::New => {
                    self.state[to] = State::Open;
                    stack.push((to, 0));
                }
                State::Open => drop(self.back.insert((at, to))),
                State::Done => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> Ids {
        let unique = ["vpc-1", "sg-1", "sg-2", "i-1"].into_iter().enumerate();
        Ids {
            unique: unique.map(|(index, id)| (id.to_owned(), index)).collect(),
            names: [(("keyName".to_owned(), "ops".to_owned()), 4)].into(),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the function that it stands for")]
    fn refer(index: usize) -> Option<String> {
        Some(
            ["VPC/main", "SecurityGroup/a", "SecurityGroup/b", "EC2Instance/web", "KeyPair/ops"][index]
                .to_owned(),
        )
    }

    fn plain(spec: &Value) -> Value {
        // Without the former ids.
        let text = spec.to_string();
        let mut parsed: Value = serde_json::from_str(&text).unwrap();
        strip(&mut parsed);
        parsed
    }

    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove(WAS);
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }

    #[test]
    fn ids_in_fields_lists_and_groups_become_references() {
        let spec = json!({
            "vpcID": {"value": "vpc-1"},
            "securityGroupIDs": {"value": ["sg-1", "sg-9"]},
            "routes": [{"instanceID": {"value": "i-1"}, "destinationCIDRBlock": {"value": "0.0.0.0/0"}}],
            "keyName": {"value": "ops"},
        });
        let (written, count) = restored(&spec, &ids(), &refer);
        assert_eq!(count, 4);
        assert_eq!(
            plain(&written),
            json!({
                "vpcID": {"valueFrom": {"ref": "VPC/main"}},
                "securityGroupIDs": {"value": [{"valueFrom": {"ref": "SecurityGroup/a"}}, "sg-9"]},
                "routes": [{
                    "instanceID": {"valueFrom": {"ref": "EC2Instance/web"}},
                    "destinationCIDRBlock": {"value": "0.0.0.0/0"},
                }],
                "keyName": {"valueFrom": {"ref": "KeyPair/ops"}},
            })
        );
        assert_eq!(written["vpcID"]["valueFrom"][WAS], "vpc-1");
    }

    #[test]
    fn a_name_is_a_reference_only_in_its_field_and_tags_are_left_alone() {
        let spec = json!({
            "groupName": {"value": "ops"},
            "tags": {"Vpc": "vpc-1"},
            "lifecycle": {"adopt": {"id": "sg-1"}},
        });
        assert_eq!(restored(&spec, &ids(), &refer), (spec.clone(), 0));
        assert!(targets(&spec, &ids()).is_empty());
    }

    #[test]
    fn a_literal_remains_where_there_must_be_no_reference() {
        let spec = json!({"vpcID": {"value": "vpc-1"}});
        assert_eq!(restored(&spec, &ids(), &|_| None), (spec.clone(), 0));
        assert_eq!(targets(&spec, &ids()), [("vpcID".to_owned(), 0)]);
    }

    #[test]
    fn objects_come_after_those_that_they_refer_to() {
        let (order, back) = ordered(&[vec![1, 2], vec![2], vec![]]);
        assert_eq!((order, back.len()), (vec![2, 1, 0], 0));
    }

    #[test]
    fn a_reference_that_closes_a_cycle_is_found() {
        let (order, back) = ordered(&[vec![1], vec![0]]);
        assert_eq!((order, back), (vec![1, 0], [(1, 0)].into()));
    }
}
