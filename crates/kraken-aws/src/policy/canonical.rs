//! A policy document in a form in which equivalent ones are equal: the order of statements and of lists, a text instead of a list
//! of one, the case of actions, keys and names of elements, and the two forms of an account have no meaning. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::fields::ABSENT;

/// The version of a document that does not name one.
const FIRST_VERSION: &str = "2008-10-17";
/// The elements of a statement.
const ELEMENTS: [&str; 9] = [
    "Sid",
    "Effect",
    "Principal",
    "NotPrincipal",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Condition",
];
/// The types of principals.
pub(super) const PRINCIPALS: [&str; 4] = ["AWS", "Service", "Federated", "CanonicalUser"];

/// A policy document.
#[derive(Clone, Debug)]
pub struct Document {
    /// As it is sent.
    written: Value,
    /// The version and the id.
    header: (String, String),
    statements: Vec<Statement>,
}

/// A statement as it is written, and its elements in canonical form.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) written: Value,
    pub(super) elements: BTreeMap<&'static str, Value>,
}

impl Document {
    /// From JSON.
    ///
    /// # Errors
    /// If it is no document; the text says where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let written = serde_json::from_str(text).map_err(|error| format!("is not valid JSON: {error}"))?;
        Self::new(written)
    }

    pub(super) fn new(written: Value) -> Result<Self, String> {
        let elements = object(&written, "the document", &["Version", "Id", "Statement"])?;
        let text = |name| elements.get(name).and_then(|value| value.as_str()).map(str::to_owned);
        let header =
            (text("Version").unwrap_or_else(|| FIRST_VERSION.to_owned()), text("Id").unwrap_or_default());
        let all = match elements.get("Statement").copied() {
            Some(Value::Array(all)) => all.clone(),
            Some(one) => vec![one.clone()],
            None => return Err("has no element Statement".to_owned()),
        };
        let mut statements = vec![];
        for (index, written) in all.into_iter().enumerate() {
            let elements = statement(&written).map_err(|why| format!("Statement[{index}]: {why}"))?;
            statements.push(Statement { written, elements });
        }
        Ok(Self { written, header, statements })
    }

    /// The text for a call.
    pub fn text(&self) -> String {
        self.written.to_string()
    }

    /// Whether it has no statements.
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// The version.
    pub(super) fn version(&self) -> &str {
        &self.header.0
    }

    /// The id; empty for none.
    pub(super) fn id(&self) -> &str {
        &self.header.1
    }

    pub(super) fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The parts of both documents that differ, as texts; none if they are equivalent.
    pub(super) fn differing(&self, observed: Option<&Self>) -> Option<(String, String)> {
        let Some(observed) = observed else { return Some((self.text(), "no valid document".to_owned())) };
        if self.header != observed.header {
            return Some((self.text(), observed.text()));
        }
        let (own, other) = (self.other_than(observed), observed.other_than(self));
        (!own.is_empty() || !other.is_empty()).then(|| (shown(&own), shown(&other)))
    }

    fn other_than(&self, other: &Self) -> Vec<&Value> {
        let is_other = |one: &&Statement| other.statements.iter().all(|have| have.elements != one.elements);
        self.statements.iter().filter(is_other).map(|one| &one.written).collect()
    }
}

fn shown(statements: &[&Value]) -> String {
    if statements.is_empty() { ABSENT.to_owned() } else { json!(statements).to_string() }
}

/// A statement in canonical form.
fn statement(written: &Value) -> Result<BTreeMap<&'static str, Value>, String> {
    let elements = object(written, "a statement", &ELEMENTS)?;
    let mut canonical = BTreeMap::new();
    for (name, value) in elements {
        let value = match name {
            "Sid" if value.as_str() == Some("") => continue,
            "Sid" => json!(value.as_str().ok_or("Sid is not a text")?),
            "Effect" => match value.as_str() {
                Some(effect @ ("Allow" | "Deny")) => json!(effect),
                _ => return Err("Effect must be Allow or Deny".to_owned()),
            },
            "Principal" | "NotPrincipal" => json!(principals(value)?),
            "Condition" => json!(conditions(value)?),
            "Action" | "NotAction" => json!(lowercase(texts(value, name)?)),
            _ => json!(texts(value, name)?),
        };
        canonical.insert(name, value);
    }
    if !canonical.contains_key("Effect") {
        return Err("has no element Effect".to_owned());
    }
    if !["Action", "NotAction"].iter().any(|name| canonical.contains_key(name)) {
        return Err("has no element Action".to_owned());
    }
    Ok(canonical)
}

fn lowercase(texts: BTreeSet<String>) -> BTreeSet<String> {
    texts.into_iter().map(|text| text.to_lowercase()).collect()
}

/// By type. `*` alone is everybody of the type `AWS`.
fn principals(value: &Value) -> Result<BTreeMap<&'static str, BTreeSet<String>>, String> {
    if value.as_str() == Some("*") {
        return Ok(BTreeMap::from([("AWS", BTreeSet::from(["*".to_owned()]))]));
    }
    let mut all = BTreeMap::new();
    for (kind, value) in object(value, "Principal", &PRINCIPALS)? {
        let mut names = texts(value, kind)?;
        if kind == "AWS" {
            names = names.into_iter().map(|name| account(&name).unwrap_or(&name).to_owned()).collect();
        }
        all.insert(kind, names);
    }
    Ok(all)
}

/// `123456789012` of `arn:aws:iam::123456789012:root`.
fn account(arn: &str) -> Option<&str> {
    let parts: Vec<&str> = arn.split(':').collect();
    match parts.as_slice() {
        ["arn", _, "iam", "", account, "root"] => Some(account),
        _ => None,
    }
}

/// By operator and key, both in lower case.
fn conditions(value: &Value) -> Result<BTreeMap<String, BTreeMap<String, BTreeSet<String>>>, String> {
    let Value::Object(operators) = value else { return Err("Condition is not an object".to_owned()) };
    let mut all = BTreeMap::new();
    for (operator, keys) in operators {
        let Value::Object(keys) = keys else { return Err(format!("Condition.{operator} is not an object")) };
        let mut by_key = BTreeMap::new();
        for (key, values) in keys {
            by_key.insert(key.to_lowercase(), texts(values, key)?);
        }
        all.insert(operator.to_lowercase(), by_key);
    }
    Ok(all)
}

/// A text or a list of them, as a set. Numbers and booleans are texts.
pub(super) fn texts(value: &Value, name: &str) -> Result<BTreeSet<String>, String> {
    let text = |one: &Value| match one {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(one.to_string()),
        _ => Err(format!("{name} must be a text or a list of texts")),
    };
    match value {
        Value::Array(all) => all.iter().map(text).collect(),
        one => Ok(BTreeSet::from([text(one)?])),
    }
}

/// The members of an object by their canonical names, whose case does not matter.
pub(super) fn object<'v>(
    value: &'v Value,
    what: &str,
    known: &[&'static str],
) -> Result<BTreeMap<&'static str, &'v Value>, String> {
    let Value::Object(members) = value else { return Err(format!("{what} is not an object")) };
    let mut all = BTreeMap::new();
    for (name, value) in members {
        let canonical = known.iter().find(|one| one.eq_ignore_ascii_case(name));
        let Some(canonical) = canonical else {
            return Err(format!("{what} has the unknown element {name}: expected {}", known.join(", ")));
        };
        if all.insert(*canonical, value).is_some() {
            return Err(format!("{what} has the element {canonical} twice"));
        }
    }
    Ok(all)
}
