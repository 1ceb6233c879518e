//! Values that a schema allows, and values that it nearly does.

use serde_json::{Map, Value, json};

use super::samples;
use crate::random::Random;

/// Deeper values are left out, unless they must be there.
const DEPTH: usize = 7;

/// Generates values from a schema.
#[derive(Debug)]
pub(super) struct Values<'a> {
    pub(super) random: &'a mut Random,
    /// The percentage of invalid values.
    pub(super) wrong: usize,
}

impl Values<'_> {
    /// A value of this schema.
    pub(super) fn of(&mut self, schema: &Value, depth: usize) -> Value {
        if self.random.chance(self.wrong) {
            return self.spoiled(schema);
        }
        if schema["nullable"] == true && self.random.chance(10) {
            return Value::Null;
        }
        if let Some(allowed) = schema["enum"].as_array() {
            return allowed[self.random.below(allowed.len())].clone();
        }
        match schema["type"].as_str() {
            Some("string") => self.string(schema).into(),
            Some("integer") => self.integer(schema).into(),
            Some("number") => json!(1.5),
            Some("boolean") => self.random.chance(50).into(),
            Some("array") => self.array(schema, depth),
            Some("object") => self.object(schema, depth),
            _ => self.anything(schema, depth),
        }
    }

    fn string(&mut self, schema: &Value) -> String {
        let pattern = schema["pattern"].as_str().unwrap_or_default();
        if !self.random.chance(5)
            && let Some(fitting) = samples::fitting(schema)
            && let Some(text) = self.random.pick(&fitting)
        {
            return (*text).to_owned();
        }
        let texts: &[&str] = if schema["format"] == "date-time" {
            &["2001-02-03T04:05:06Z", "2002-02-03T04:05:06Z"]
        } else if pattern.contains("ms|s|m|h|d") {
            &["5m", "0", "1h30m", "1.5s"]
        } else if pattern.contains("*/[a-z0-9]") {
            &["VPC/main", "Subnet/a/subnet.CidrBlock", "VPC.aws/main/vpc.Tags.0"]
        } else {
            &["a", "b", "main", "web"]
        };
        self.random.pick(texts).copied().unwrap_or_default().to_owned()
    }

    fn integer(&mut self, schema: &Value) -> i64 {
        #[allow(clippy::cast_possible_truncation)] // bounds of schemas are small
        let bound = |key: &str| schema[key].as_f64().map(|bound| bound as i64);
        let low = bound("minimum").unwrap_or(0);
        let high = bound("maximum").unwrap_or(low + 5).min(low + 5);
        let span = usize::try_from(high - low + 1).unwrap_or(1);
        low + i64::try_from(self.random.below(span)).unwrap_or_default()
    }

    fn array(&mut self, schema: &Value, depth: usize) -> Value {
        let bound = |key: &str| schema[key].as_u64().and_then(|bound| usize::try_from(bound).ok());
        let low = bound("minItems").unwrap_or(0);
        let count = low + self.random.below(3.min(bound("maxItems").unwrap_or(3).saturating_sub(low) + 1));
        let mut items: Vec<Value> = (0..count).map(|_| self.of(&schema["items"], depth + 1)).collect();
        if let Some(key) = schema["x-kubernetes-list-map-keys"][0].as_str() {
            // Twice the same key is one of the wrong values.
            if !self.random.chance(self.wrong) {
                for (index, item) in items.iter_mut().enumerate() {
                    if let Some(fields) = item.as_object_mut() {
                        let name = ["Ready", "DependenciesResolved", "Drifted"][index % 3];
                        fields.insert(key.to_owned(), name.into());
                    }
                }
            }
        }
        items.into()
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut fields = Map::new();
        if !schema["additionalProperties"].is_null() {
            let low = usize::from(schema["minProperties"].as_u64().is_some());
            for _ in 0..low + self.random.below(2) {
                let key = self.random.one(["Name", "team", "a", "b"]);
                fields.insert(key.to_owned(), self.of(&schema["additionalProperties"], depth + 1));
            }
            return fields.into();
        }
        let Some(properties) = schema["properties"].as_object() else {
            return self.anything(schema, depth);
        };
        let names = |value: &Value| -> Vec<String> {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect()
        };
        let required = names(&schema["required"]);
        let mut choices: Vec<Vec<String>> =
            schema["oneOf"].as_array().into_iter().flatten().map(|one| names(&one["required"])).collect();
        choices.extend(alternatives(schema).into_iter().map(|name| vec![name]));
        let chosen =
            if choices.is_empty() { vec![] } else { choices[self.random.below(choices.len())].clone() };
        for (name, property) in properties {
            let is_choice = choices.iter().any(|choice| choice.contains(name));
            let wanted = if is_choice {
                chosen.contains(name)
            } else {
                required.contains(name) || (depth < DEPTH && self.random.chance(22))
            };
            // One too many, or one too few.
            if wanted != self.random.chance(self.wrong) {
                fields.insert(name.clone(), self.of(property, depth + 1));
            }
        }
        if self.random.chance(self.wrong) {
            fields.insert("unknownField".to_owned(), json!({"a": [1, "b"]}));
        }
        fields.into()
    }

    /// Any JSON; an element that may be a reference often is one.
    fn anything(&mut self, schema: &Value, depth: usize) -> Value {
        let reference = &schema["properties"]["valueFrom"];
        if !reference.is_null() && self.random.chance(40) {
            return json!({"valueFrom": self.of(reference, depth + 1)});
        }
        match self.random.below(8) {
            0 => json!({"a": {"b": [1, 2.5, null, true, "x"]}}),
            1 => json!([{"InstanceId": "i-1"}, {"InstanceId": "i-2"}]),
            2 => json!({"instances": [{"Tags": {}}], "n": 1}),
            3 if schema["anyOf"].is_null() => json!(7),
            4 => json!({}),
            _ => json!(self.random.one(["text", "10.0.0.0/16", ""])),
        }
    }

    /// A value that violates the schema.
    fn spoiled(&mut self, schema: &Value) -> Value {
        if let Some(longest) = schema["maxLength"].as_u64().filter(|longest| *longest < 400)
            && self.random.chance(40)
        {
            return "x".repeat(usize::try_from(longest + 1).unwrap_or(1)).into();
        }
        if let Some(most) = schema["maximum"].as_f64()
            && self.random.chance(40)
        {
            // Not 501.0, which CEL knows as another type.
            #[allow(clippy::cast_possible_truncation)] // bounds of schemas are small
            return json!(most as i64 + 1);
        }
        match self.random.below(9) {
            0 => Value::Null,
            1 => json!("Unexpected Value!"),
            2 => json!(-3),
            3 => json!(1.25),
            4 => json!(true),
            5 => json!([]),
            6 => json!({}),
            7 => json!([{"x": 1}]),
            _ => json!(""),
        }
    }
}

/// The fields of which a rule requires exactly one.
fn alternatives(schema: &Value) -> Vec<String> {
    let option = ["value", "valueFrom"];
    if schema["oneOf"].is_null() && option.iter().all(|name| schema["properties"][name].is_object()) {
        return option.map(str::to_owned).into();
    }
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    let choice = rules.filter_map(|rule| rule["rule"].as_str()).find(|text| text.contains("exists_one("));
    let fields = choice.into_iter().flat_map(|text| text.split("has(self.").skip(1));
    fields.filter_map(|field| Some(field.split_once(')')?.0.to_owned())).collect()
}
