//! The configuration of a resource: the options of its spec, with the values of references. Pure.

use std::collections::BTreeMap;

use kraken_kind::{
    Opt, OptionType, Resolved, Resolver,
    options::{ListOpt, MapOpt},
};
use kraken_tfplugin::{
    Type, Value,
    schema::{Attribute, Block, Form, NestedBlock, Nesting, Schema},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::crd::{Element, element, is_option, is_single};

/// The configuration of a resource, after recording what is wrong with it; and its fields at the top level whose values came from
/// Secrets, with the versions of these.
pub(crate) fn config(
    schema: &Schema,
    spec: &Json,
    values: &mut Resolver<'_>,
) -> Option<(Value, BTreeMap<String, Vec<String>>)> {
    let mut taking = Taking { values, secret: BTreeMap::new() };
    let json = taking.block(&schema.block, spec, "")?;
    match Value::from_config(&json, &schema.value_type) {
        Ok(config) => Some((config, taking.secret)),
        Err(error) => {
            // Its reason may quote the value.
            let path = error.path.to_string();
            let is_secret = taking.secret.contains_key(top(&path));
            let why = if is_secret { "is not of the type of the option".to_owned() } else { error.why };
            taking.values.problem(&path, why);
            None
        }
    }
}

/// The configuration of a resource as far as literals say it: a field with a reference in it is unknown. `None` if the literals are not of
/// the types of the schema.
pub(crate) fn literals(schema: &Schema, spec: &Json) -> Option<Value> {
    let mut config = Value::from_config(&literals_of(&schema.block, spec), &schema.value_type).ok()?;
    if let Value::Object(fields) = &mut config {
        fields
            .iter_mut()
            .filter(|(name, _)| refers(&spec[name.as_str()]))
            .for_each(|(_, value)| *value = Value::Unknown);
    }
    Some(config)
}

fn refers(spec: &Json) -> bool {
    match spec {
        Json::Object(fields) => {
            fields.get("valueFrom").is_some_and(|from| !from.is_null()) || fields.values().any(refers)
        }
        Json::Array(all) => all.iter().any(refers),
        _ => false,
    }
}

fn literals_of(block: &Block, spec: &Json) -> Json {
    let options = block.attributes.iter().filter(|(name, attribute)| is_option(name, attribute));
    // A field with a reference in it is unknown, whatever its other parts are.
    let literal = |option: &Json| if refers(option) { Json::Null } else { option["value"].clone() };
    let options = options.map(|(name, _)| (name.clone(), literal(&spec[name.as_str()])));
    let blocks = block.blocks.iter().map(|(name, nested)| {
        let inside = |spec: &Json| literals_of(&nested.block, spec);
        let is_list = matches!(nested.nesting, Nesting::List | Nesting::Set);
        let blocks = match &spec[name.as_str()] {
            Json::Null => Json::Null,
            one if is_single(nested) && is_list => Json::Array(vec![inside(one)]),
            one if is_single(nested) => inside(one),
            Json::Array(all) => Json::Array(all.iter().map(inside).collect()),
            Json::Object(all) => all.iter().map(|(label, one)| (label.clone(), inside(one))).collect(),
            other => other.clone(),
        };
        (name.clone(), blocks)
    });
    options.chain(blocks).collect()
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The field at the top level of a path.
fn top(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

struct Taking<'a, 'b> {
    values: &'a mut Resolver<'b>,
    secret: BTreeMap<String, Vec<String>>,
}

impl Taking<'_, '_> {
    /// All options of a block; every problem is recorded before `None` is returned.
    fn block(&mut self, block: &Block, spec: &Json, path: &str) -> Option<Json> {
        let (mut config, mut is_complete) = (Map::new(), true);
        for (name, attribute) in
            block.attributes.iter().filter(|(name, attribute)| is_option(name, attribute))
        {
            match self.option(attribute, &spec[name], &join(path, name)) {
                Some(value) => drop(config.insert(name.clone(), value)),
                None => is_complete = false,
            }
        }
        for (name, nested) in &block.blocks {
            match self.blocks(nested, &spec[name], &join(path, name)) {
                Some(value) => drop(config.insert(name.clone(), value)),
                None => is_complete = false,
            }
        }
        is_complete.then_some(Json::Object(config))
    }

    fn blocks(&mut self, nested: &NestedBlock, spec: &Json, path: &str) -> Option<Json> {
        if spec.is_null() {
            return Some(Json::Null);
        }
        let is_list = matches!(nested.nesting, Nesting::List | Nesting::Set);
        if is_single(nested) {
            let one = self.block(&nested.block, spec, path)?;
            return Some(if is_list { Json::Array(vec![one]) } else { one });
        }
        match spec {
            Json::Array(all) => {
                let all = all.iter().enumerate();
                let taken: Vec<_> = all
                    .map(|(index, one)| self.block(&nested.block, one, &format!("{path}[{index}]")))
                    .collect();
                taken.into_iter().collect::<Option<Vec<_>>>().map(Json::Array)
            }
            Json::Object(all) => {
                let taken: Vec<_> = all
                    .iter()
                    .map(|(label, one)| {
                        Some((label.clone(), self.block(&nested.block, one, &join(path, label))?))
                    })
                    .collect();
                taken.into_iter().collect::<Option<Map<_, _>>>().map(Json::Object)
            }
            _ => {
                self.values.problem(path, "must be a list of blocks");
                None
            }
        }
    }

    fn option(&mut self, attribute: &Attribute, spec: &Json, path: &str) -> Option<Json> {
        if spec.is_null() {
            return Some(Json::Null);
        }
        let is_map = matches!(&attribute.form, Form::Plain(Type::Map(_)));
        match element(&attribute.form) {
            Some(Element::Bool) => return self.elements::<bool>(is_map, spec, path),
            Some(Element::Number) => return self.elements::<f64>(is_map, spec, path),
            Some(Element::String) => return self.elements::<String>(is_map, spec, path),
            None => {}
        }
        match &attribute.form {
            Form::Plain(Type::String) => self.take::<String>(spec, path),
            Form::Plain(Type::Bool) => self.take::<bool>(spec, path),
            Form::Plain(Type::Number) => self.number(spec, path),
            Form::Plain(Type::List(_) | Type::Set(_) | Type::Tuple(_)) => self.take::<Vec<Json>>(spec, path),
            Form::Plain(Type::Map(_) | Type::Object(_)) => self.take::<BTreeMap<String, Json>>(spec, path),
            Form::Plain(Type::Dynamic) | Form::Nested { .. } => self.take::<Json>(spec, path),
        }
    }

    /// A number: an integer if it is one, because a float would round large ones.
    fn number(&mut self, spec: &Json, path: &str) -> Option<Json> {
        if spec["value"].is_i64() { self.take::<i64>(spec, path) } else { self.take::<f64>(spec, path) }
    }

    /// A list, set or map: a reference for the whole, or elements that are literals or references.
    fn elements<T: OptionType>(&mut self, is_map: bool, spec: &Json, path: &str) -> Option<Json> {
        if !is_map {
            let list: ListOpt<T> = self.parsed(spec, path)?;
            let taken = self.values.take_list(path, &list)?;
            return self.noted(&taken, path);
        }
        if !spec["valueFrom"].is_null() {
            return self.take::<BTreeMap<String, Json>>(spec, path);
        }
        let map: MapOpt<T> = self.parsed(&spec["value"], path)?;
        let taken = self.values.take_map(&format!("{path}.value"), &map)?;
        let elements = taken.iter().map(|(key, value)| Some((key.clone(), self.noted(value, path)?)));
        elements.collect::<Option<Map<_, _>>>().map(Json::Object)
    }

    fn take<T: OptionType>(&mut self, spec: &Json, path: &str) -> Option<Json> {
        let option: Opt<T> = self.parsed(spec, path)?;
        let taken = self.values.take(path, &option)?;
        self.noted(&taken, path)
    }

    fn parsed<O: DeserializeOwned>(&mut self, spec: &Json, path: &str) -> Option<O> {
        serde_json::from_value(spec.clone())
            .map_err(|error| self.values.problem(path, error.to_string()))
            .ok()
    }

    /// The value as JSON. If it came from a Secret, its field is noted.
    fn noted<T: OptionType>(&mut self, taken: &Resolved<T>, path: &str) -> Option<Json> {
        if let Some(version) = taken.secret_version() {
            self.secret.entry(top(path).to_owned()).or_default().push(version.to_owned());
        }
        serde_json::to_value(taken.expose()).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures::attribute;

    #[test]
    fn fields_with_references_are_unknown_until_they_have_values() {
        let options =
            |all: [(&str, Type); 2]| all.map(|(name, form)| (name.to_owned(), attribute(form))).into();
        let nested = |max_items| NestedBlock {
            block: Block {
                attributes: options([("port", Type::Number), ("tag", Type::String)]),
                ..Block::default()
            },
            nesting: Nesting::List,
            min_items: 0,
            max_items,
        };
        let blocks = ["first", "second"].map(|name| (name.to_owned(), nested(0)));
        let block = Block {
            attributes: options([("name", Type::String), ("ports", Type::List(Box::new(Type::Number)))]),
            blocks: blocks.into_iter().chain([("only".to_owned(), nested(1))]).collect(),
            ..Block::default()
        };
        let schema = Schema::new(0, block);
        let reference = json!({"valueFrom": {"ref": "Network/a"}});
        let spec = json!({
            "name": reference, "ports": {"value": [80]}, "lifecycle": {},
            "first": [{"port": {"value": 80}}], "second": [{"port": reference}], "only": {"tag": {"value": "x"}},
        });
        let config = literals(&schema, &spec).unwrap();
        let known =
            ["name", "ports", "first", "second", "only"].map(|name| config.attribute(name).is_known());
        assert_eq!(known, [false, true, true, false, true]);
        let ports = literals(&schema, &json!({"ports": {"value": [80, reference]}})).unwrap();
        assert!(!ports.attribute("ports").is_known(), "one of its elements is a reference");
        assert_eq!(config.attribute("first").to_json().unwrap(), json!([{"port": 80, "tag": null}]));
        assert_eq!(config.attribute("only").to_json().unwrap(), json!([{"port": null, "tag": "x"}]));
        assert_eq!(literals(&schema, &json!({"ports": {"value": ["three"]}})), None);
    }
}
