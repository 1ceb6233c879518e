//! Generated metadata, and edits of it.

use serde_json::{Map, Value, json};

use super::{Generator, Key};

pub(super) const FINALIZER: &str = "kraken-iac.eoinfennessy.com/finalizer";

/// The edits that do not change owned metadata.
const OF_A_STATUS: [usize; 14] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 14, 17, 17, 18, 19];

impl Generator<'_> {
    pub(super) fn labels(&mut self) -> Value {
        let mut labels = Map::new();
        for _ in 0..self.random.below(3) {
            let key = self.random.one(["app", "tier", "core.kraken-iac.eoinfennessy.com/owner-kind"]);
            labels.insert(key.to_owned(), self.random.one(["web", "db", ""]).into());
        }
        match self.random.below(50) {
            0 => json!({"bad key!": "x"}),
            1 => json!({"app": "bad value!"}),
            2 => json!({"app": 5}),
            3 => Value::Null,
            _ => labels.into(),
        }
    }

    pub(super) fn annotations(&mut self) -> Value {
        let mut annotations = Map::new();
        for _ in 0..self.random.below(3) {
            let key = self.random.one(["note", "aws.kraken-iac.eoinfennessy.com/intent", "x.y/z"]);
            annotations.insert(key.to_owned(), self.random.one(["{\"epoch\":1}", "b", ""]).into());
        }
        match self.random.below(60) {
            0 => json!({"bad key!": "x"}),
            1 => json!({"a": true}),
            _ => annotations.into(),
        }
    }

    pub(super) fn finalizers(&mut self) -> Value {
        match self.random.below(14) {
            0 => json!([FINALIZER, "example.com/other"]),
            1 => json!(["no-slash"]),
            2 => json!([]),
            3 => json!([FINALIZER, FINALIZER]),
            4 => json!(["bad name!/x"]),
            5 => Value::Null,
            _ => json!([FINALIZER]),
        }
    }

    /// A reference to an object that exists, or to one that does not.
    pub(super) fn owner(&mut self, owner: &Key) -> Value {
        let kind = &self.kinds[owner.0];
        let (api_version, kind) = (kind.api_version.clone(), kind.name.clone());
        let step = self.version(owner);
        let uid = if step == usize::MAX {
            "0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0".to_owned()
        } else {
            format!("<<{step}/metadata/uid>>")
        };
        let mut reference = json!({"apiVersion": api_version, "kind": kind, "name": owner.2, "uid": uid});
        if self.random.chance(50) {
            reference["controller"] = true.into();
        }
        if self.random.chance(50) {
            reference["blockOwnerDeletion"] = self.random.chance(80).into();
        }
        reference
    }

    /// Owner references that the garbage collector does nothing about: their owner exists in the same namespace, or the
    /// API server refuses them.
    fn plain_owners(&mut self) -> Value {
        match self.random.below(5) {
            0 => json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}]),
            1 => json!([{"apiVersion": "", "kind": "", "name": "", "uid": ""}]),
            2 => json!([{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "x"}]),
            3 => {
                let one = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": "x", "controller": true});
                json!([one("a"), one("b")])
            }
            _ => json!("none"),
        }
    }

    /// Metadata beside the name.
    pub(super) fn metadata(&mut self) -> Map<String, Value> {
        let mut metadata = Map::new();
        if self.random.chance(50) {
            metadata.insert("labels".into(), self.labels());
        }
        if self.random.chance(30) {
            metadata.insert("annotations".into(), self.annotations());
        }
        if self.random.chance(20) {
            metadata.insert("finalizers".into(), self.finalizers());
        }
        if self.random.chance(2) {
            metadata.insert("ownerReferences".into(), self.plain_owners());
        }
        metadata
    }

    /// Edits of a response that is sent back, by JSON pointer.
    pub(super) fn edits(&mut self, key: &Key, status: bool) -> Vec<(String, Option<Value>)> {
        let mut edits = Vec::new();
        let sends_metadata = self.sends_metadata(key, status);
        for _ in 0..self.random.below(3) {
            let what =
                if sends_metadata { self.random.below(20) } else { OF_A_STATUS[self.random.below(14)] };
            let edit = match what {
                0..=8 => {
                    let contents = self.contents(key.0);
                    let wanted = if status { "status" } else { "spec" };
                    let names: Vec<&String> = contents.keys().collect();
                    let name = match names.iter().find(|name| **name == wanted) {
                        Some(name) => (*name).clone(),
                        None if names.is_empty() => continue,
                        None => names[self.random.below(names.len())].clone(),
                    };
                    (format!("/{name}"), contents.get(&name).cloned())
                }
                9 | 10 => ("/metadata/labels".into(), Some(self.labels())),
                11 => ("/metadata/annotations/note".into(), Some("n".into())),
                12 => ("/metadata/finalizers".into(), Some(self.finalizers())),
                13 => ("/metadata/finalizers".into(), None),
                14 => ("/metadata/resourceVersion".into(), None),
                15 => ("/metadata/managedFields".into(), self.random.chance(60).then(|| json!([]))),
                16 => ("/metadata/labels".into(), None),
                17 => {
                    let kind = if status { "/status" } else { "/data" };
                    (kind.into(), None)
                }
                18 => match self.random.below(if sends_metadata { 6 } else { 3 }) {
                    0 => ("/metadata/uid".into(), Some("0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0".into())),
                    1 => ("/metadata/name".into(), Some("other".into())),
                    2 => ("/metadata/namespace".into(), Some("other".into())),
                    3 => ("/metadata/generation".into(), Some(json!(77))),
                    4 => ("/metadata/creationTimestamp".into(), Some("2001-01-01T00:00:00Z".into())),
                    _ => ("/metadata/deletionTimestamp".into(), Some("2001-01-01T00:00:00Z".into())),
                },
                _ => match self.random.below(4) {
                    // Alone: rules are evaluated for such an object although its content is not validated.
                    0 => return vec![("/kind".into(), Some("Other".into()))],
                    1 => ("/apiVersion".into(), Some("v9".into())),
                    2 => ("/metadata/selfLink".into(), Some("x".into())),
                    _ => ("/metadata/resourceVersion".into(), Some("".into())),
                },
            };
            edits.push(edit);
        }
        edits
    }
}
