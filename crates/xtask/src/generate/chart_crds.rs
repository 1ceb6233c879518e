//! The files of the chart `kraken-crds`.
//!
//! Helm stores a release, the chart included, in one Secret of at most 1 MiB. The schemas of all kinds have most of their parts in common: a
//! `valueFrom`, `lifecycle`, the conditions. So the chart has the CustomResourceDefinitions as JSON, and each part that several of them have
//! once: the template inserts it again. Its name is a digest, so that another kind does not change the files of all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{CHARTS, Files, MARK};

/// The parts that several have, with their names, each before those that it contains.
const SHARED: &str = "files/shared.yaml";
/// Shorter parts are not worth a name.
const LONG: usize = 150;
/// The length of the name of a part, in hexadecimal digits.
const DIGITS: usize = 10;

/// Every object of the CustomResourceDefinitions, once: what it contains is in it by name.
#[derive(Default)]
pub(super) struct ChartCrds {
    /// The path of each file, and the object in it.
    crds: Vec<(PathBuf, usize)>,
    /// Contained ones before those that contain them.
    objects: Vec<Object>,
    by_text: BTreeMap<String, usize>,
}

struct Object {
    value: Value,
    /// How many others contain it.
    uses: usize,
}

impl ChartCrds {
    /// Adds the copy of a CustomResourceDefinition.
    ///
    /// # Errors
    /// If a text in it could be read as the name of a part.
    pub(super) fn add(&mut self, component: &str, file: &str, crd: &Value) -> Result<()> {
        let index = self.intern(crd)?;
        self.crds.push((chart().join("files").join(component).join(file), index));
        Ok(())
    }

    /// The number of this object, in which the objects are names.
    fn intern(&mut self, object: &Value) -> Result<usize> {
        let value = self.with_names(object)?;
        let text = value.to_string();
        if let Some(known) = self.by_text.get(&text) {
            return Ok(*known);
        }
        for child in names(&value) {
            self.objects[child].uses += 1;
        }
        let index = self.objects.len();
        self.objects.push(Object { value, uses: 0 });
        self.by_text.insert(text, index);
        Ok(index)
    }

    /// The same value, with a name in place of each object in it.
    fn with_names(&mut self, value: &Value) -> Result<Value> {
        let mut named = |value: &Value| match value {
            Value::Object(_) => Ok(name(&self.intern(value)?.to_string())),
            other => self.with_names(other),
        };
        Ok(match value {
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| Ok((key.clone(), named(value)?)));
                Value::Object(fields.collect::<Result<_>>()?)
            }
            Value::Array(items) => Value::Array(items.iter().map(named).collect::<Result<_>>()?),
            Value::String(text) if is_name(text) => bail!("{text:?} could be the name of a part"),
            other => other.clone(),
        })
    }

    /// The objects that get a place in the list, in its order.
    fn shared(&self) -> Vec<usize> {
        let mut shared = Vec::new();
        let mut lengths: Vec<usize> = Vec::new();
        for (index, object) in self.objects.iter().enumerate() {
            let length = object.value.to_string().len()
                + names(&object.value).into_iter().map(|child| lengths[child]).sum::<usize>();
            let is_shared = object.uses > 1 && length >= LONG;
            lengths.push(if is_shared { 0 } else { length });
            if is_shared {
                shared.push(index);
            }
        }
        shared.reverse();
        shared
    }

    pub(super) fn into_files(self) -> Files {
        let shared = self.shared();
        let whole = |index: usize| self.written(&self.objects[index].value, &BTreeMap::new());
        let places: BTreeMap<usize, String> =
            shared.iter().map(|index| (*index, digest(&whole(*index)))).collect();
        let written = |index: usize| self.written(&self.objects[index].value, &places);
        let mut files = Files::new();
        for (path, index) in &self.crds {
            files.insert(path.clone(), format!("{MARK}\n{}\n", written(*index)));
        }
        let part = |index: usize| json!({"name": places[&index], "schema": written(index)});
        let list: Vec<String> = shared.into_iter().map(|index| format!("- {}\n", part(index))).collect();
        files.insert(chart().join(SHARED), format!("{MARK}\n{}", list.concat()));
        files
    }

    /// The value as in a file: with the names of shared objects, and the others in place of their names.
    fn written(&self, value: &Value, places: &BTreeMap<usize, String>) -> Value {
        match value {
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (key.clone(), self.written(value, places))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.written(item, places)).collect(),
            Value::String(text) => match number(text) {
                None => value.clone(),
                Some(index) => match places.get(&index) {
                    Some(digest) => name(digest),
                    None => self.written(&self.objects[index].value, places),
                },
            },
            other => other.clone(),
        }
    }
}

/// What stands for the object with this number or digest.
fn name(of: &str) -> Value {
    Value::String(format!("@{of}"))
}

/// The digest of a part with all that it contains.
fn digest(part: &Value) -> String {
    let mut digits = hex::encode(Sha256::digest(part.to_string()));
    digits.truncate(DIGITS);
    digits
}

/// Whether a text has the form of a name.
fn is_name(text: &str) -> bool {
    text.strip_prefix('@').is_some_and(|digits| digits.chars().all(|digit| digit.is_ascii_hexdigit()))
}

fn number(name: &str) -> Option<usize> {
    name.strip_prefix('@')?.parse().ok()
}

/// The numbers of the objects in a value with names.
fn names(value: &Value) -> Vec<usize> {
    match value {
        Value::Object(fields) => fields.values().flat_map(names).collect(),
        Value::Array(items) => items.iter().flat_map(names).collect(),
        Value::String(text) => number(text).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn chart() -> PathBuf {
    Path::new(CHARTS).join("kraken-crds")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(crds: &[Value]) -> BTreeMap<String, Value> {
        let mut chart_crds = ChartCrds::default();
        for (index, crd) in crds.iter().enumerate() {
            chart_crds.add("hub", &format!("{index}.yaml"), crd).unwrap();
        }
        let files = chart_crds.into_files().into_iter();
        let relative =
            |path: PathBuf| path.strip_prefix(chart().join("files")).unwrap().to_str().unwrap().to_owned();
        files.map(|(path, text)| (relative(path), serde_saphyr::from_str(&text).unwrap())).collect()
    }

    /// An object that is worth a name.
    fn long(key: &str) -> Value {
        json!({key: "x".repeat(LONG)})
    }

    #[test]
    fn what_several_have_is_written_once() {
        let inner = long("inner");
        let outer = json!({"description": "y".repeat(LONG), "properties": {"list": [inner]}});
        let [of_outer, of_inner] = [&outer, &inner].map(digest);
        let files = files(&[
            json!({"a": outer, "only": long("only"), "short": {"type": "string"}}),
            json!({"a": outer, "b": inner, "short": {"type": "string"}}),
        ]);
        assert_eq!(
            files,
            BTreeMap::from([
                (
                    "hub/0.yaml".to_owned(),
                    json!({"a": name(&of_outer), "only": long("only"), "short": {"type": "string"}})
                ),
                (
                    "hub/1.yaml".to_owned(),
                    json!({"a": name(&of_outer), "b": name(&of_inner), "short": {"type": "string"}})
                ),
                (
                    "shared.yaml".to_owned(),
                    json!([
                        {
                            "name": of_outer,
                            "schema": {"description": "y".repeat(LONG), "properties": {"list": [name(&of_inner)]}},
                        },
                        {"name": of_inner, "schema": inner},
                    ])
                ),
            ])
        );
    }

    #[test]
    fn what_one_part_has_is_written_in_it() {
        let outer = json!({"inner": long("inner"), "more": "y".repeat(LONG)});
        let files = files(&[json!({"a": outer}), json!({"b": outer})]);
        let list = json!([{"name": digest(&outer), "schema": outer}]);
        assert_eq!(files["shared.yaml"], list, "its inner part is contained in no other");
    }

    #[test]
    fn another_kind_does_not_change_the_files_of_the_others() {
        let [one, other] = ["one", "other"].map(|name| json!({"name": name, "common": long("common")}));
        let before = files(&[one.clone(), other.clone()]);
        let more = json!({"common": long("common"), "more": long("more"), "again": [long("more")]});
        let after = files(&[one, other, more]);
        for name in ["hub/0.yaml", "hub/1.yaml"] {
            assert_eq!(before[name], after[name]);
        }
    }

    #[test]
    fn a_text_that_could_be_a_name_is_refused() {
        let error = ChartCrds::default().add("hub", "x.yaml", &json!({"default": "@1"})).unwrap_err();
        assert!(error.to_string().contains("@1"), "{error}");
    }
}
