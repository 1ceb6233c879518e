//! Generates inputs from a schema and a valid object: each differs from it at one place.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use kube_schema::{Schema, check_rules, validate};
use serde_json::{Map, Value, json};

use super::{
    path::Path,
    values::{ODD, distinct, minimal, source},
};

/// An object that differs from a valid one at one place.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// The kind.
    pub kind: String,
    /// The place.
    pub path: Path,
    /// The difference.
    pub change: &'static str,
    /// Of an input that the schema of its place refuses: a hash of this schema, without descriptions.
    pub refused_by: Option<u64>,
    /// The object.
    pub object: Value,
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.kind, self.path, self.change)
    }
}

/// Collects the inputs of all samples of one kind.
pub(super) struct Generator {
    kind: String,
    inputs: Vec<Input>,
    known: HashSet<(Path, &'static str)>,
    /// The objects that must be valid: the samples, and each with another source.
    valid: Vec<Value>,
    visited: BTreeSet<String>,
    /// The schemas of sources for which all members were generated.
    sources: HashSet<String>,
    /// The number of options so far.
    options: usize,
    /// The schema of the current place.
    place: Arc<Place>,
    places: HashMap<u64, Arc<Place>>,
}

/// A schema, and its hash without descriptions: two places with the same hash refuse the same values.
struct Place {
    hash: u64,
    schema: Option<Schema>,
}

impl Place {
    fn refuses(&self, value: &Value) -> bool {
        let Some(schema) = &self.schema else { return false };
        let mut causes = vec![];
        validate(value, None, schema, &kube_schema::Place::Root, &mut causes);
        if causes.is_empty() {
            check_rules(value, None, schema, &kube_schema::Place::Root, &mut causes);
        }
        !causes.is_empty()
    }
}

/// How many options of a kind get each source. Each further one gets one of them, in turn: they are the same code everywhere.
const WITH_ALL_SOURCES: usize = 4;

/// What was generated for a kind.
pub(super) struct Generated {
    /// Objects that must be accepted.
    pub valid: Vec<Value>,
    /// All others.
    pub inputs: Vec<Input>,
    /// The fields of the schema that no sample contains.
    pub unvisited: Vec<String>,
}

/// Generates the inputs of a kind from the schema of its `spec`.
pub(super) fn generate(kind: &str, schema: &Value, samples: &[Value]) -> Generated {
    let mut generator = Generator {
        kind: kind.to_owned(),
        inputs: vec![],
        known: HashSet::new(),
        valid: vec![],
        visited: BTreeSet::new(),
        sources: HashSet::new(),
        options: 0,
        place: Arc::new(Place { hash: 0, schema: None }),
        places: HashMap::new(),
    };
    for sample in samples {
        generator.valid.push(sample.clone());
        generator.walk(schema, &Path::spec(), sample);
    }
    let mut fields = BTreeSet::new();
    all_fields(schema, "spec", &mut fields);
    let unvisited = fields.difference(&generator.visited).cloned().collect();
    Generated { valid: generator.valid, inputs: generator.inputs, unvisited }
}

/// The fields of a schema, without those of sources, which are the same everywhere.
fn all_fields(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    found.insert(path.to_owned());
    for (name, field) in members(schema, "properties") {
        if name != "valueFrom" {
            all_fields(field, &format!("{path}.{name}"), found);
        }
    }
    if schema["items"].is_object() {
        all_fields(&schema["items"], path, found);
    }
}

fn hash(schema: &Value) -> u64 {
    fn add(schema: &Value, hasher: &mut DefaultHasher) {
        match schema {
            Value::Object(fields) => {
                for (name, field) in fields.iter().filter(|(name, _)| *name != "description") {
                    name.hash(hasher);
                    add(field, hasher);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| add(item, hasher)),
            other => other.to_string().hash(hasher),
        }
    }
    let mut hasher = DefaultHasher::new();
    add(schema, &mut hasher);
    hasher.finish()
}

fn members<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
    schema[key].as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

impl Generator {
    fn add(&mut self, path: &Path, change: &'static str, object: Value, refused_by: Option<u64>) {
        if self.known.insert((path.clone(), change)) {
            let (kind, path) = (self.kind.clone(), path.clone());
            self.inputs.push(Input { kind, path, change, refused_by, object });
        }
    }

    fn replace(&mut self, path: &Path, change: &'static str, base: &Value, value: Value) {
        let is_refused = change == "unknown field" || self.place.refuses(&value);
        let refused_by = is_refused.then_some(self.place.hash);
        self.add(path, change, path.with(base, Some(value)), refused_by);
    }

    fn place(&mut self, schema: &Value) -> Arc<Place> {
        let hash = hash(schema);
        let place = || Arc::new(Place { hash, schema: Schema::compile(schema).ok() });
        self.places.entry(hash).or_insert_with(place).clone()
    }

    fn walk(&mut self, schema: &Value, path: &Path, base: &Value) {
        let Some(value) = path.of(base) else { return };
        let value = value.clone();
        let place = self.place(schema);
        let outer = std::mem::replace(&mut self.place, place);
        self.visited.insert(path.of_schema());
        if !schema["properties"]["valueFrom"].is_null() && schema["properties"].get("secret").is_none() {
            self.option(schema, path, base, &value);
        }
        match &value {
            Value::Object(fields) => self.object(schema, path, base, fields),
            Value::Array(items) => self.array(schema, path, base, items),
            _ => self.scalar(schema, path, base, &value),
        }
        self.place = outer;
    }

    fn object(&mut self, schema: &Value, path: &Path, base: &Value, fields: &Map<String, Value>) {
        self.wrong_types(schema, path, base, &[json!("text"), json!(["text"]), json!(7), json!(true)]);
        self.replace(path, "empty object", base, json!({}));
        if schema["x-kubernetes-preserve-unknown-fields"] != true && schema["additionalProperties"].is_null()
        {
            let mut with_unknown = fields.clone();
            with_unknown.insert("unknownField".to_owned(), json!("x"));
            self.replace(path, "unknown field", base, with_unknown.into());
        }
        for (name, field) in members(schema, "properties") {
            let inner = path.field(name);
            if !fields.contains_key(name) {
                continue;
            }
            let required = schema["required"].as_array().into_iter().flatten().any(|one| one == name);
            let change = if required { "absent, required" } else { "absent" };
            let refused_by = required.then(|| hash(&json!([self.place.hash, name])));
            self.add(&inner, change, inner.with(base, None), refused_by);
            let place = self.place(field);
            let outer = std::mem::replace(&mut self.place, place);
            self.replace(&inner, if required { "null, required" } else { "null" }, base, Value::Null);
            self.place = outer;
            self.walk(field, &inner, base);
        }
        let additional = &schema["additionalProperties"];
        if additional.is_object()
            && let Some((name, first)) = fields.iter().next()
        {
            if let Some(max) = schema["maxProperties"].as_u64() {
                let many: Map<_, _> = (0..=max).map(|n| (format!("k{n}"), first.clone())).collect();
                self.replace(path, "too many entries", base, many.into());
            }
            for (change, key) in [
                ("empty key", String::new()),
                ("odd key", ODD.to_owned()),
                ("long key", "k".repeat(64 * 1024)),
            ] {
                let entries = Map::from_iter([(key, first.clone())]);
                self.replace(path, change, base, entries.into());
            }
            self.replace(&path.field(name), "null", base, Value::Null);
            self.walk(additional, &path.field(name), base);
        }
        self.one_of(schema, path, base, fields);
    }

    /// Several of the fields of which there must be one.
    fn one_of(&mut self, schema: &Value, path: &Path, base: &Value, fields: &Map<String, Value>) {
        let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
        let choice = rules.filter_map(|rule| rule["rule"].as_str()).find(|rule| rule.contains("exists_one("));
        let named = choice.into_iter().flat_map(|rule| rule.split("has(self.").skip(1));
        let alternatives: Vec<&str> = named.filter_map(|name| Some(name.split_once(')')?.0)).collect();
        if alternatives.len() < 2 || alternatives.contains(&"valueFrom") {
            return;
        }
        let mut all = fields.clone();
        for name in alternatives {
            all.entry(name).or_insert_with(|| minimal(&schema["properties"][name]));
        }
        self.replace(path, "all of one-of", base, all.into());
    }

    /// An option, or an element of a list or a map that can be a reference.
    fn option(&mut self, schema: &Value, path: &Path, base: &Value, value: &Value) {
        let of_source = &schema["properties"]["valueFrom"];
        let is_option = schema["properties"].get("value").is_some();
        // An option that can only come from a Secret has its source in the sample.
        if !is_option && value.get("valueFrom").is_some() {
            return;
        }
        let first = self.sources.insert(of_source.to_string());
        let keep = |mut source: Map<String, Value>| {
            // Fields beside the option, such as the key of an entry.
            for (name, field) in value.as_object().into_iter().flatten() {
                if is_option && name != "value" && name != "valueFrom" {
                    source.insert(name.clone(), field.clone());
                }
            }
            Value::Object(source)
        };
        let set = |source: Value| keep(Map::from_iter([("valueFrom".to_owned(), source)]));
        if is_option {
            // The sample of a field that accepts a Secret only has no value.
            if let Some(mut both) = value.as_object().filter(|fields| fields.contains_key("value")).cloned() {
                both.insert("valueFrom".to_owned(), json!({"configMap": source("configMap")}));
                self.replace(path, "value and valueFrom", base, both.into());
            }
            self.replace(path, "neither value nor valueFrom", base, keep(Map::new()));
        }
        self.replace(path, "no source", base, set(json!({})));
        let two = json!({"configMap": source("configMap"), "ref": source("ref")});
        self.replace(path, "two sources", base, set(two));
        let option = self.options;
        self.options += 1;
        let count = members(of_source, "properties").count();
        for (index, (name, of_member)) in members(of_source, "properties").enumerate() {
            if !first && option >= WITH_ALL_SOURCES && index != option % count {
                continue;
            }
            let object = path.with(base, Some(set(json!({name: source(name)}))));
            self.valid.push(object.clone());
            let inner = path.field("valueFrom").field(name);
            if first {
                self.walk(of_member, &inner, &object);
            } else {
                self.replace(&inner, "wrong type", &object, json!(7));
                self.replace(&inner, "null, required", &object, Value::Null);
                self.replace(&inner, "empty object", &object, json!({}));
            }
        }
    }

    fn array(&mut self, schema: &Value, path: &Path, base: &Value, items: &[Value]) {
        self.wrong_types(schema, path, base, &[json!("text"), json!({"a": 1}), json!(7), json!(true)]);
        let change = if schema["minItems"].as_u64() > Some(0) { "too few items" } else { "empty list" };
        self.replace(path, change, base, json!([]));
        let Some(first) = items.first() else { return };
        if let Some(max) = schema["maxItems"].as_u64() {
            let many: Vec<_> = (0..=max).map(|n| distinct(first, n)).collect();
            self.replace(path, "too many items", base, many.into());
        } else {
            let many = vec![first.clone(); 5_000];
            self.replace(path, "5,000 items", base, many.into());
        }
        if !first.is_boolean() {
            self.replace(path, "duplicate item", base, json!([first, first]));
        }
        for index in 0..items.len() {
            self.replace(&path.index(index), "null, required", base, Value::Null);
            self.walk(&schema["items"], &path.index(index), base);
        }
    }

    fn scalar(&mut self, schema: &Value, path: &Path, base: &Value, value: &Value) {
        match value {
            Value::String(_) => self.string(schema, path, base),
            Value::Number(_) => self.number(schema, path, base),
            _ => self.wrong_types(schema, path, base, &[json!("yes"), json!(1), json!([]), json!({})]),
        }
    }

    fn string(&mut self, schema: &Value, path: &Path, base: &Value) {
        self.wrong_types(schema, path, base, &[json!(7), json!(true), json!(["text"]), json!({"a": "b"})]);
        self.replace(path, "empty text", base, json!(""));
        self.replace(path, "64 KiB", base, json!("a".repeat(64 * 1024 + 1)));
        self.replace(path, "odd text", base, json!(ODD));
        self.replace(path, "control characters", base, json!("\u{0}\u{7}\n"));
        self.replace(path, "blank", base, json!("  "));
        if let Some(max) = schema["maxLength"].as_u64() {
            let max = usize::try_from(max).unwrap_or(usize::MAX - 1);
            self.replace(path, "too long", base, json!("a".repeat(max + 1)));
        }
        if let Some(first) = schema["enum"][0].as_str() {
            self.replace(path, "unknown word", base, json!("unknown"));
            let other_case =
                if first == first.to_uppercase() { first.to_lowercase() } else { first.to_uppercase() };
            self.replace(path, "other case", base, json!(other_case));
        }
    }

    fn number(&mut self, schema: &Value, path: &Path, base: &Value) {
        self.wrong_types(
            schema,
            path,
            base,
            &[json!("seven"), json!(true), json!([]), json!({}), json!(1.5)],
        );
        #[allow(clippy::cast_possible_truncation)] // bounds of schemas are small
        let bound = |name: &str| schema[name].as_f64().map(|bound| bound as i64);
        self.replace(path, "below the minimum", base, json!(bound("minimum").unwrap_or(0) - 1));
        let above = bound("maximum").unwrap_or(i64::from(i32::MAX)) + 1;
        self.replace(path, "above the maximum", base, json!(above));
        self.replace(path, "overflow of 32 bits", base, json!(4_294_967_297_u64));
        self.replace(path, "overflow of 64 bits", base, json!(1e30));
    }

    fn wrong_types(&mut self, schema: &Value, path: &Path, base: &Value, values: &[Value]) {
        // Any JSON is of the right type.
        if *schema == json!({"x-kubernetes-preserve-unknown-fields": true}) {
            return;
        }
        let names =
            ["wrong type", "another wrong type", "a third wrong type", "a fourth wrong type", "a fraction"];
        let is_right = |value: &&Value| {
            schema["x-kubernetes-int-or-string"] != true || !(value.is_i64() || value.is_string())
        };
        for (value, name) in values.iter().filter(is_right).zip(names) {
            self.replace(path, name, base, value.clone());
        }
    }
}
