//! The configuration of a resource: the options of its spec, with the values of references. Pure.

use std::collections::BTreeMap;

use kraken_spoke::{Opt, OptionType, Resolver, options::Public};
use kraken_tfplugin::{
    Type, Value,
    schema::{Attribute, Block, Form, NestedBlock, Nesting, Schema},
};
use serde_json::{Map, Value as Json};

use crate::crd::{is_option, is_single};

/// The configuration, or `None` after recording what is wrong with it. A Secret cannot be the source of a value yet: values from Secrets
/// would be in the provider's plans and states.
pub(crate) fn config(schema: &Schema, spec: &Json, values: &mut Resolver<'_>) -> Option<Value> {
    let json = block(&schema.block, spec, "", values)?;
    match Value::from_config(&json, &schema.value_type) {
        Ok(config) => Some(config),
        Err(error) => {
            values.problem(&error.path.to_string(), error.why);
            None
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// All options of a block; every problem is recorded before `None` is returned.
fn block(block: &Block, spec: &Json, path: &str, values: &mut Resolver<'_>) -> Option<Json> {
    let (mut config, mut is_complete) = (Map::new(), true);
    for (name, attribute) in block.attributes.iter().filter(|(name, attribute)| is_option(name, attribute)) {
        match option(attribute, &spec[name], &join(path, name), values) {
            Some(value) => drop(config.insert(name.clone(), value)),
            None => is_complete = false,
        }
    }
    for (name, nested) in &block.blocks {
        match blocks(nested, &spec[name], &join(path, name), values) {
            Some(value) => drop(config.insert(name.clone(), value)),
            None => is_complete = false,
        }
    }
    is_complete.then_some(Json::Object(config))
}

fn blocks(nested: &NestedBlock, spec: &Json, path: &str, values: &mut Resolver<'_>) -> Option<Json> {
    if spec.is_null() {
        return Some(Json::Null);
    }
    let is_list = matches!(nested.nesting, Nesting::List | Nesting::Set);
    if is_single(nested) {
        let one = block(&nested.block, spec, path, values)?;
        return Some(if is_list { Json::Array(vec![one]) } else { one });
    }
    match spec {
        Json::Array(all) => {
            let all = all.iter().enumerate();
            let taken: Vec<_> = all
                .map(|(index, one)| block(&nested.block, one, &format!("{path}[{index}]"), values))
                .collect();
            taken.into_iter().collect::<Option<Vec<_>>>().map(Json::Array)
        }
        Json::Object(all) => {
            let taken: Vec<_> = all
                .iter()
                .map(|(label, one)| {
                    Some((label.clone(), block(&nested.block, one, &join(path, label), values)?))
                })
                .collect();
            taken.into_iter().collect::<Option<Map<_, _>>>().map(Json::Object)
        }
        _ => {
            values.problem(path, "must be a list of blocks");
            None
        }
    }
}

fn option(attribute: &Attribute, spec: &Json, path: &str, values: &mut Resolver<'_>) -> Option<Json> {
    if spec.is_null() {
        return Some(Json::Null);
    }
    match &attribute.form {
        Form::Plain(Type::String) => take::<String>(spec, path, values),
        Form::Plain(Type::Bool) => take::<bool>(spec, path, values),
        Form::Plain(Type::Number) => number(spec, path, values),
        Form::Plain(Type::List(_) | Type::Set(_) | Type::Tuple(_)) => take::<Vec<Json>>(spec, path, values),
        Form::Plain(Type::Map(_) | Type::Object(_)) => take::<BTreeMap<String, Json>>(spec, path, values),
        Form::Plain(Type::Dynamic) | Form::Nested { .. } => take::<Json>(spec, path, values),
    }
}

/// A number: an integer if it is one, because a float would round large ones.
fn number(spec: &Json, path: &str, values: &mut Resolver<'_>) -> Option<Json> {
    if spec["value"].is_i64() { take::<i64>(spec, path, values) } else { take::<f64>(spec, path, values) }
}

fn take<T: OptionType>(spec: &Json, path: &str, values: &mut Resolver<'_>) -> Option<Json> {
    let option: Opt<T> = match serde_json::from_value(spec.clone()) {
        Ok(option) => option,
        Err(error) => {
            values.problem(path, error.to_string());
            return None;
        }
    };
    let taken = values.take_public(path, &Public(option))?;
    serde_json::to_value(taken.expose()).ok()
}
