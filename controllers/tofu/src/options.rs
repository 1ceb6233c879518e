//! The configuration of a resource: the options of its spec, with the values of references. Pure.

use std::collections::BTreeMap;

use kraken_spoke::{Opt, OptionType, Resolver};
use kraken_tfplugin::{
    Type, Value,
    schema::{Attribute, Block, Form, NestedBlock, Nesting, Schema},
};
use serde_json::{Map, Value as Json};

use crate::crd::{is_option, is_single};

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

    fn take<T: OptionType>(&mut self, spec: &Json, path: &str) -> Option<Json> {
        let option: Opt<T> = match serde_json::from_value(spec.clone()) {
            Ok(option) => option,
            Err(error) => {
                self.values.problem(path, error.to_string());
                return None;
            }
        };
        let taken = self.values.take(path, &option)?;
        if let Some(version) = taken.secret_version() {
            self.secret.entry(top(path).to_owned()).or_default().push(version.to_owned());
        }
        serde_json::to_value(taken.expose()).ok()
    }
}
