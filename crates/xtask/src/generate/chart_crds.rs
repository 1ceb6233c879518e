//! The files of the chart `kraken-crds`.
//!
//! Helm stores a release, the chart included, in one Secret of at most 1 MiB. So the chart has its copies of the
//! CustomResourceDefinitions as JSON, and the schema of `valueFrom`, which is two thirds of them, once: the template inserts it again.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

use super::{CHARTS, Files, MARK};

/// The shared schemas by the text that stands for them.
const SHARED: &str = "files/value-from.yaml";

#[derive(Default)]
pub(super) struct ChartCrds {
    files: Files,
    shared: Vec<Value>,
}

impl ChartCrds {
    /// Adds the copy of a CustomResourceDefinition.
    pub(super) fn add(&mut self, component: &str, file: &str, crd: &Value) {
        let mut crd = crd.clone();
        self.take_out(&mut crd);
        let path = chart().join("files").join(component).join(file);
        self.files.insert(path, format!("{MARK}\n{crd}\n"));
    }

    /// Replaces each schema of a `valueFrom` by the text that stands for it.
    fn take_out(&mut self, schema: &mut Value) {
        match schema {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if name == "valueFrom" && value["properties"].is_object() {
                        *value = Value::String(self.stands_for(value));
                    } else {
                        self.take_out(value);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.take_out(item)),
            _ => (),
        }
    }

    fn stands_for(&mut self, schema: &Value) -> String {
        let known = self.shared.iter().position(|known| known == schema);
        let index = known.unwrap_or_else(|| {
            self.shared.push(schema.clone());
            self.shared.len() - 1
        });
        format!("@value-from-{index}")
    }

    pub(super) fn into_files(mut self) -> Result<Files> {
        let named: Map<String, Value> = std::mem::take(&mut self.shared)
            .into_iter()
            .map(|schema| (self.stands_for(&schema), schema))
            .collect();
        let text = serde_saphyr::to_string(&named).context("failed to write the shared schemas as YAML")?;
        self.files.insert(chart().join(SHARED), format!("{MARK}\n{text}"));
        Ok(self.files)
    }
}

fn chart() -> PathBuf {
    Path::new(CHARTS).join("kraken-crds")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_schemas_are_written_once() {
        let of = |key: &str| json!({"properties": {key: {"type": "string"}}});
        let crd = |first: &str, second: &str| json!({"a": {"valueFrom": of(first)}, "list": [{"valueFrom": of(second)}], "required": ["valueFrom"]});
        let mut crds = ChartCrds::default();
        crds.add("hub", "x.yaml", &crd("ref", "secret"));
        crds.add("hub", "y.yaml", &crd("secret", "ref"));
        let files = crds.into_files().unwrap();
        let file = |name: &str| -> Value {
            serde_saphyr::from_str(&files[&Path::new("charts/kraken-crds/files").join(name)]).unwrap()
        };
        assert_eq!(
            file("hub/y.yaml"),
            json!({"a": {"valueFrom": "@value-from-1"}, "list": [{"valueFrom": "@value-from-0"}], "required": ["valueFrom"]})
        );
        assert_eq!(
            file("value-from.yaml"),
            json!({"@value-from-0": of("ref"), "@value-from-1": of("secret")})
        );
    }
}
