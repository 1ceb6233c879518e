//! The objects of all files together: what refers to what, and whether it can. Pure.

use std::collections::{BTreeMap, BTreeSet};

use kraken_api::{DependsOn, state_declaration::STATIC_KIND};
use kraken_options::{
    Dependency, JsonType, KeyRef, KindRef, Path, Problem, ProblemKind, Resolved, Resolver, ResourceRef,
    ValueFrom, Values,
};
use kube_schema::{Schema, Type};
use serde_json::Value;

use super::{finding::Level, kind::is_made_at_run_time, object::data};
use crate::{
    discovery::{Kinds, Unknown},
    graph::{Node, walk},
};

/// An object of the files.
pub(super) struct Member {
    pub(super) node: Node,
    pub(super) object: Value,
    /// The fields that are set after the creation.
    pub(super) follows: Vec<String>,
}

impl Member {
    /// The ConfigMap or Secret that an export writes.
    pub(super) fn target(&self) -> Option<Node> {
        let spec = &self.object["spec"];
        let (kind, name) = (spec["configType"].as_str()?, spec["configMetadata"]["name"].as_str()?);
        (self.node.kind == "ConfigExport").then(|| Node::new(&self.node.namespace, "", kind, name))
    }
}

/// All objects of the files.
pub(super) struct Set<'a> {
    kinds: &'a Kinds,
    pub(super) members: &'a [Member],
    /// The keys of ConfigMaps and Secrets, and of those that an export of the files writes.
    keys: BTreeMap<Node, BTreeSet<String>>,
    maps: BTreeMap<Node, BTreeMap<String, String>>,
}

/// What is found at a field of the spec.
pub(super) type Found = (Level, String, String);

impl<'a> Set<'a> {
    pub(super) fn new(kinds: &'a Kinds, members: &'a [Member]) -> Self {
        let mut set = Self { kinds, members, keys: BTreeMap::new(), maps: BTreeMap::new() };
        for member in members {
            let Node { group, kind, .. } = &member.node;
            if group.is_empty() && (kind == "ConfigMap" || kind == "Secret") {
                let data = data(&member.object);
                set.keys.entry(member.node.clone()).or_default().extend(data.keys().cloned());
                if kind == "ConfigMap" {
                    set.maps.insert(member.node.clone(), data);
                }
            }
            if let Some(target) = member.target() {
                let keys = member.object["spec"]["entries"].as_array().into_iter().flatten();
                let keys = keys.filter_map(|entry| entry["key"].as_str()).map(str::to_owned);
                set.keys.entry(target).or_default().extend(keys);
            }
        }
        set
    }

    /// What is wrong with the references of an object. `schema`: that of its kind.
    pub(super) fn check(&self, member: &Member, schema: &Schema) -> Vec<Found> {
        let spec = &member.object["spec"];
        let of_spec = schema.properties.get("spec");
        let is_export = member.node.kind == "ConfigExport";
        let mut found = vec![];
        for (field, source) in walk::sources(spec) {
            // What is no source is a problem of the schema.
            let Ok(source) = serde_json::from_value::<ValueFrom>(source.clone()) else { continue };
            let json_type = match (&source, of_spec) {
                _ if is_export => JsonType::Any,
                (ValueFrom::TemplateString(_), _) | (_, None) => JsonType::Any,
                (_, Some(of_spec)) => type_at(of_spec, spec, &field),
            };
            let (problems, dependencies) = self.resolved(&member.node, &field, &source, json_type);
            found.extend(problems.into_iter().map(|problem| (Level::Error, problem.field, problem.message)));
            for dependency in dependencies {
                if let Some((level, message)) = self.dependency(&member.node, &dependency, json_type) {
                    found.push((level, field.clone(), message));
                }
            }
        }
        let listed = spec.pointer("/lifecycle/dependsOn").and_then(Value::as_array);
        for (index, on) in listed.into_iter().flatten().enumerate() {
            let Ok(on) = serde_json::from_value::<DependsOn>(on.clone()) else { continue };
            let dependency = Dependency::Resource(on.reference()).normalised();
            if let Some((level, message)) = self.dependency(&member.node, &dependency, JsonType::String) {
                found.push((level, format!("lifecycle.dependsOn[{index}]"), message));
            }
        }
        found
    }

    /// The problems of one source that do not depend on a missing value, and what it refers to.
    fn resolved(
        &self,
        node: &Node,
        field: &str,
        source: &ValueFrom,
        json_type: JsonType,
    ) -> (Vec<Problem>, Vec<Dependency>) {
        let own = self.maps.iter().filter(|(map, _)| map.namespace == node.namespace);
        let config_maps = own.map(|(map, data)| (map.name.clone(), data.clone())).collect();
        let values = Values { config_maps, ..Values::default() };
        let mut resolver = Resolver::new(&values);
        // The value does not matter, but whether its text is of the type.
        match json_type {
            JsonType::Integer => drop::<Option<Resolved<i64>>>(resolver.take_from(field, source)),
            JsonType::Number => drop::<Option<Resolved<f64>>>(resolver.take_from(field, source)),
            JsonType::Boolean => drop::<Option<Resolved<bool>>>(resolver.take_from(field, source)),
            JsonType::Array => drop::<Option<Resolved<Vec<Value>>>>(resolver.take_from(field, source)),
            JsonType::Object => {
                drop::<Option<Resolved<BTreeMap<String, Value>>>>(resolver.take_from(field, source));
            }
            JsonType::String | JsonType::Any => {
                drop::<Option<Resolved<String>>>(resolver.take_from(field, source));
            }
        }
        let resolution = resolver.finish();
        let problems = resolution.problems.into_iter().filter(|problem| problem.kind != ProblemKind::Missing);
        (problems.collect(), resolution.dependencies.iter().collect())
    }

    fn dependency(&self, node: &Node, dependency: &Dependency, wanted: JsonType) -> Option<(Level, String)> {
        match dependency {
            Dependency::ConfigMap(key) => self.key(node, "ConfigMap", key),
            Dependency::Secret(key) => self.key(node, "Secret", key),
            Dependency::Resource(of) if of.kind == STATIC_KIND => self.of_static(node, of, wanted),
            Dependency::Resource(of) => self.resource(node, of, wanted),
        }
    }

    fn key(&self, node: &Node, kind: &str, key: &KeyRef) -> Option<(Level, String)> {
        let KeyRef { name, key } = key;
        match self.keys.get(&Node::new(&node.namespace, "", kind, name)) {
            Some(keys) if keys.contains(key) => None,
            Some(keys) => {
                let has: Vec<_> = keys.iter().map(String::as_str).collect();
                let has = if has.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("it has: {}", has.join(", "))
                };
                Some((Level::Warning, format!("{kind} {name} has no key {key:?} ({has})")))
            }
            None => {
                let text = format!(
                    "{kind} {name} is not in the files: the cluster must have it, with the key {key:?}"
                );
                Some((Level::Note, text))
            }
        }
    }

    fn resource(&self, node: &Node, of: &ResourceRef, wanted: JsonType) -> Option<(Level, String)> {
        let (kind, name, path) = (&of.kind, of.full_name(), &of.path);
        let text = || format!("{kind} {name} is not in the files: the cluster must have it");
        if self.is_made_at_run_time(node, kind) {
            return self.member(node, of).is_none().then(|| (Level::Note, text()));
        }
        if self.kinds.of_reference(kind).next().is_none() {
            let similar = match self.kinds.find(kind) {
                Err(Unknown::NotFound(Some(similar))) => format!("; did you mean {similar}?"),
                _ => String::new(),
            };
            return Some((Level::Error, format!("no kind is named {kind}{similar}")));
        }
        if path.is_empty() && !wanted.accepts(&Value::from("")) {
            let text = format!("{kind} {name}: its id is of type string, and {wanted} is expected");
            return Some((Level::Error, text));
        }
        self.member(node, of).is_none().then(|| (Level::Note, text()))
    }

    /// Whether a reference of an object is to a kind of an OpenTofu provider: by its group, because the files have such an object, or
    /// because the object itself is one.
    fn is_made_at_run_time(&self, node: &Node, kind: &str) -> bool {
        let wanted = KindRef::of(kind);
        let is_known = self.kinds.of_reference(kind).next().is_some();
        let mut of_files = self.members.iter().map(|member| &member.node);
        let is_wanted = |on: &Node| is_made_at_run_time(&on.group) && wanted.matches(&on.kind, &on.group);
        !is_known
            && (wanted.group.as_deref().is_some_and(|group| group == "tofu" || is_made_at_run_time(group))
                || is_made_at_run_time(&node.group)
                || of_files.any(is_wanted))
    }

    /// A state that is in the files is resolved as the hub does it.
    fn of_static(&self, node: &Node, of: &ResourceRef, wanted: JsonType) -> Option<(Level, String)> {
        let name = format!("{STATIC_KIND}-{}", of.name);
        let state = self.members.iter().find(|member| {
            member.node.kind == "StateDeclaration"
                && member.node.name == name
                && member.node.namespace == *of.namespace.as_ref().unwrap_or(&node.namespace)
        });
        let Some(state) = state else {
            let text = format!("StateDeclaration {name} is not in the files: the cluster must have it");
            return Some((Level::Note, text));
        };
        let spec = &state.object["spec"];
        let value = if of.path.is_empty() {
            match spec["id"].as_str() {
                Some(id) => Value::from(id),
                None => return Some((Level::Warning, format!("StateDeclaration {name} has no spec.id"))),
            }
        } else {
            let Ok(path) = of.path.parse::<Path>() else { return None };
            match path.find(&spec["data"]) {
                Ok(value) => value,
                Err(error) => return Some((Level::Warning, format!("StateDeclaration {name}: {error}"))),
            }
        };
        let found = JsonType::of(&value);
        (!wanted.accepts(&value)).then(|| {
            let text =
                format!("StateDeclaration {name}: {} is of type {found}, and {wanted} is expected", of.path);
            (Level::Warning, text)
        })
    }

    pub(super) fn member(&self, node: &Node, of: &ResourceRef) -> Option<&'a Member> {
        let wanted = KindRef::of(&of.kind);
        self.members.iter().find(|member| {
            let Node { namespace, group, kind, name } = &member.node;
            *namespace == *of.namespace.as_ref().unwrap_or(&node.namespace)
                && *name == of.name
                && wanted.matches(kind, group)
                && (is_made_at_run_time(group)
                    || self
                        .kinds
                        .of_reference(&of.kind)
                        .any(|known| known.resource.kind == *kind && known.resource.group == *group))
        })
    }
}

/// The type of the literal of an option, as its schema has it.
fn type_at(schema: &Schema, spec: &Value, field: &str) -> JsonType {
    let (mut schema, mut value, mut rest) = (schema, spec, field);
    while !rest.is_empty() {
        let Some((next, inner, after)) = step(schema, value, rest) else { return JsonType::Any };
        (schema, value, rest) = (next, inner, after);
    }
    let Some(literal) = schema.properties.get("value").filter(|literal| !literal.int_or_string) else {
        return JsonType::Any;
    };
    match literal.type_ {
        Some(Type::Object) => JsonType::Object,
        Some(Type::Array) => JsonType::Array,
        Some(Type::String) => JsonType::String,
        Some(Type::Integer) => JsonType::Integer,
        Some(Type::Number) => JsonType::Number,
        Some(Type::Boolean) => JsonType::Boolean,
        None => JsonType::Any,
    }
}

/// The first part of a path, and the rest.
fn step<'a, 'p>(
    schema: &'a Schema,
    value: &'a Value,
    path: &'p str,
) -> Option<(&'a Schema, &'a Value, &'p str)> {
    let path = path.strip_prefix('.').unwrap_or(path);
    match value {
        Value::Array(items) => {
            let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
            Some((schema.items.as_deref()?, items.get(index.parse::<usize>().ok()?)?, rest))
        }
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let rest = path.strip_prefix(format!("[{name:?}]").as_str()).or_else(|| {
                path.strip_prefix(name.as_str())
                    .filter(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with('['))
            })?;
            Some((schema.field(name)?, value, rest))
        }),
        _ => None,
    }
}
