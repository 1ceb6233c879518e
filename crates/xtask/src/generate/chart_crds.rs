//! The files of the chart `kraken-crds`.
//!
//! Helm stores a release, the chart included, in one Secret of at most 1 MiB. The schemas of all kinds have most of their parts in common: a
//! `valueFrom`, `lifecycle`, the conditions. So the chart has the CustomResourceDefinitions as JSON, and each part that several of them have
//! once: the template inserts it again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::Value;

use super::{CHARTS, Files, MARK};

/// The parts that several have, each before those that it contains: the place in this list is the number in its name.
const SHARED: &str = "files/shared.yaml";
/// Shorter parts are not worth a name.
const LONG: usize = 150;

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
            Value::Object(_) => Ok(name(self.intern(value)?)),
            other => self.with_names(other),
        };
        Ok(match value {
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| Ok((key.clone(), named(value)?)));
                Value::Object(fields.collect::<Result<_>>()?)
            }
            Value::Array(items) => Value::Array(items.iter().map(named).collect::<Result<_>>()?),
            Value::String(text) if number(text).is_some() => bail!("{text:?} could be the name of a part"),
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
        let places: BTreeMap<usize, usize> =
            shared.iter().enumerate().map(|(place, index)| (*index, place)).collect();
        let written = |index: usize| self.written(&self.objects[index].value, &places);
        let mut files = Files::new();
        for (path, index) in &self.crds {
            files.insert(path.clone(), format!("{MARK}\n{}\n", written(*index)));
        }
        let list: Vec<String> = shared.into_iter().map(|index| format!("- {}\n", written(index))).collect();
        files.insert(chart().join(SHARED), format!("{MARK}\n{}", list.concat()));
        files
    }

    /// The value as in a file: the name of a shared object is its place in the list, and the others are in place of their names.
    fn written(&self, value: &Value, places: &BTreeMap<usize, usize>) -> Value {
        match value {
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (key.clone(), self.written(value, places))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.written(item, places)).collect(),
            Value::String(text) => match number(text) {
                None => value.clone(),
                Some(index) => match places.get(&index) {
                    Some(place) => name(*place),
                    None => self.written(&self.objects[index].value, places),
                },
            },
            other => other.clone(),
        }
    }
}

/// What stands for the object with this number.
fn name(number: usize) -> Value {
    Value::String(format!("@{number}"))
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
    use serde_json::json;

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
        let files = files(&[
            json!({"a": outer, "only": long("only"), "short": {"type": "string"}}),
            json!({"a": outer, "b": inner, "short": {"type": "string"}}),
        ]);
        assert_eq!(
            files,
            BTreeMap::from([
                (
                    "hub/0.yaml".to_owned(),
                    json!({"a": "@0", "only": long("only"), "short": {"type": "string"}})
                ),
                ("hub/1.yaml".to_owned(), json!({"a": "@0", "b": "@1", "short": {"type": "string"}})),
                (
                    "shared.yaml".to_owned(),
                    json!([{"description": "y".repeat(LONG), "properties": {"list": ["@1"]}}, inner])
                ),
            ])
        );
    }

    #[test]
    fn what_one_part_has_is_written_in_it() {
        let outer = json!({"inner": long("inner"), "more": "y".repeat(LONG)});
        let files = files(&[json!({"a": outer}), json!({"b": outer})]);
        assert_eq!(files["shared.yaml"], json!([outer]), "its inner part is contained in no other");
    }

    #[test]
    fn a_text_that_could_be_a_name_is_refused() {
        let error = ChartCrds::default().add("hub", "x.yaml", &json!({"default": "@1"})).unwrap_err();
        assert!(error.to_string().contains("@1"), "{error}");
    }
}
