//! What a configuration must have by its schema, whatever the provider checks itself: OpenTofu checks this before it calls one.

use std::collections::BTreeMap;

use super::{Attribute, Block, Form, NestedBlock};
use crate::diagnostic::Diagnostic;
use crate::path::{Path, Step};
use crate::value::Value;

impl Block {
    /// The errors of a configuration of this block: required attributes without a value, configured attributes that only the provider
    /// sets, too few or too many blocks. Unknown values are valid.
    pub fn check(&self, config: &Value) -> Vec<Diagnostic> {
        let mut check = Check::default();
        check.block(self, config);
        check.errors
    }
}

#[derive(Default)]
struct Check {
    path: Path,
    errors: Vec<Diagnostic>,
}

impl Check {
    fn at(&mut self, step: Step, check: impl FnOnce(&mut Self)) {
        self.path.push(step);
        check(self);
        self.path.pop();
    }

    fn error(&mut self, summary: &str, detail: String) {
        self.errors.push(Diagnostic { path: Some(self.path.clone()), ..Diagnostic::error(summary, detail) });
    }

    fn block(&mut self, block: &Block, config: &Value) {
        self.attributes(&block.attributes, config);
        for (name, nested) in &block.blocks {
            self.at(Step::Attribute(name.clone()), |check| check.blocks(nested, config.attribute(name)));
        }
    }

    fn attributes(&mut self, attributes: &BTreeMap<String, Attribute>, config: &Value) {
        for (name, attribute) in attributes {
            self.at(Step::Attribute(name.clone()), |check| {
                check.attribute(attribute, config.attribute(name));
            });
        }
    }

    fn attribute(&mut self, attribute: &Attribute, config: &Value) {
        if config.is_null() {
            if attribute.is_required {
                self.error("is required", String::new());
            }
        } else if attribute.is_computed && !attribute.is_optional {
            self.error("cannot be set", "Only the provider sets it.".to_owned());
        } else if let Form::Nested { attributes, .. } = &attribute.form {
            self.each(config, |check, object| check.attributes(attributes, object));
        }
    }

    fn blocks(&mut self, nested: &NestedBlock, config: &Value) {
        let count = match config {
            Value::Unknown => return,
            Value::Null => 0,
            Value::List(blocks) => blocks.len(),
            Value::Set(blocks) => blocks.as_slice().len(),
            Value::Map(blocks) => blocks.len(),
            _ => 1,
        };
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        if count < nested.min_items {
            self.error("has too few blocks", format!("Expected {} or more, got {count}.", nested.min_items));
        }
        if nested.max_items > 0 && count > nested.max_items {
            self.error(
                "has too many blocks",
                format!("Expected {} or fewer, got {count}.", nested.max_items),
            );
        }
        self.each(config, |check, object| check.block(&nested.block, object));
    }

    /// Checks each object of a block or a nested attribute.
    fn each(&mut self, config: &Value, mut check: impl FnMut(&mut Self, &Value)) {
        match config {
            Value::Object(_) => check(self, config),
            Value::List(objects) => {
                for (index, object) in objects.iter().enumerate() {
                    self.at(Step::Index(index), |found| check(found, object));
                }
            }
            Value::Map(objects) => {
                for (key, object) in objects {
                    self.at(Step::Key(key.clone()), |found| check(found, object));
                }
            }
            // Elements of sets have no names, and no step.
            Value::Set(objects) => objects.as_slice().iter().for_each(|object| check(self, object)),
            _ => {}
        }
    }
}
